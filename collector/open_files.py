"""Each connection is an open file, of which a process may have only so many: more of them, and few words when there are
none left."""

from __future__ import annotations

import asyncio
import resource
from typing import Any

import structlog

log = structlog.get_logger(__name__)

_MOST = 65_536
_NONE_LEFT = "socket.accept() out of system resource"
"""asyncio's words, many thousand times a second while somebody holds more connections than there may be."""
_TOLD_EVERY_S = 10.0


def allow_many() -> None:
    """As many as the system lets us have without asking. What is usual, 1024, is for programs that count files in a
    fixed table."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(_MOST, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def tell_seldom(loop: asyncio.AbstractEventLoop) -> None:
    """Have the loop say once in ten seconds that it takes no connections, and how often it said so before."""
    told_s, held = float("-inf"), 0

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal told_s, held
        if context.get("message") != _NONE_LEFT:
            loop.default_exception_handler(context)
            return
        if loop.time() - told_s < _TOLD_EVERY_S:
            held += 1
            return
        told_s = loop.time()
        log.error(
            "connections_not_taken",
            problem=f"{context.get('exception')}; raise the limit (LimitNOFILE, ulimit -n)",
            **({"as_many_before": held} if held else {}),
        )
        held = 0

    loop.set_exception_handler(handle)
