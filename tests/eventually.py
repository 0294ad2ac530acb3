"""Wait, in a coroutine, for what another process or task will bring about."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

_Found = TypeVar("_Found")


async def eventually(look: Callable[[], Awaitable[_Found]], what: str, within_s: float = 60) -> _Found:
    """The first true answer of `look`. Fails, naming `what` and the last answer, when there is none in time."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + within_s
    while True:
        found = await look()
        if found:
            return found
        if loop.time() > ends:
            raise AssertionError(f"{what}: not within {within_s:g} s; last seen: {found!r}")
        await asyncio.sleep(0.05)
