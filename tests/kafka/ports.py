"""Ports that nobody listens on."""

from __future__ import annotations

import random
import socket

_FIRST, _LAST = 15_000, 32_000
"""Below those that systems give to connections that go out, which could take one before it is listened on."""
_given: set[int] = set()


def free_ports(count: int) -> tuple[int, ...]:
    """So many ports of 127.0.0.1, free a moment ago, and given to nobody in this process before."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(_FIRST, _LAST)
        if port not in _given and _is_free(port):
            _given.add(port)
            found.append(port)
    return tuple(found)


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
