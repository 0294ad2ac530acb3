"""Pages and answers are made a few at a time: each takes threads and a processor that telemetry needs, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from collector.access.own_origin import SAFE_METHODS
from collector.access.rejected import Rejected

AT_A_TIME = 2
"""A page reads in two threads at once at most: together they leave some of the event loop's, which has five or more."""
MOST_WAITING = 32
AGAIN_SECONDS = 5


Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class Turns:
    """Who comes while all are taken waits, in order; who comes while many wait is sent away."""

    def __init__(self, at_a_time: int = AT_A_TIME, most_waiting: int = MOST_WAITING) -> None:
        self._taken = asyncio.Semaphore(at_a_time)
        self._waiting = 0
        self._most_waiting = most_waiting

    async def answer(self, request: Request, handler: Handler) -> Response:
        """What `handler` makes of it, in its turn where it only reads: else its body has to come first. Raises
        `Rejected`, and what `handler` raises."""
        if request.method not in SAFE_METHODS:
            return await handler(request)
        async with self.mine():
            return await handler(request)

    @asynccontextmanager
    async def mine(self) -> AsyncIterator[None]:
        """For making an answer, not for reading a body or sending: a slow peer would hold its turn. Raises
        `Rejected`."""
        if self._taken.locked() and self._waiting >= self._most_waiting:
            again = {"Retry-After": str(AGAIN_SECONDS)}
            raise Rejected(503, "busy", ("", "too many ask at once: try again in a moment"), headers=again)
        self._waiting += 1
        try:
            await self._taken.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._taken.release()
