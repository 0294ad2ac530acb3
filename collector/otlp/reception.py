"""How many gRPC requests are being received at once: the rest wait at their senders, held there by flow control.

The core gathers a request whole before we hear of its size, so without this the senders decide how much memory that
takes. A server's interceptor is asked before the core begins to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")
_SLOW_S = 30.0
"""A request that takes longer makes room for others: a few slow senders must not keep everybody else out."""


class Reception(grpc.aio.ServerInterceptor):
    """At most `most` calls of these `methods` are being received; `slow_s` seconds count. Belongs to the event loop."""

    def __init__(self, methods: frozenset[str], most: int, slow_s: float = _SLOW_S) -> None:
        self._methods = methods
        self._slow_s = slow_s
        self._room = asyncio.Semaphore(most)
        self._receiving: dict[asyncio.Task[Any], asyncio.TimerHandle] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[_Request, _Response] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[_Request, _Response] | None:
        if handler_call_details.method in self._methods:
            await self._room.acquire()
            self._begin()
        return await continuation(handler_call_details)

    def _begin(self) -> None:
        call = asyncio.current_task()
        assert call is not None
        slow = asyncio.get_running_loop().call_later(self._slow_s, self._end, call)
        self._receiving[call] = slow
        call.add_done_callback(self._end)  # cancelled, too large, or its sender gone: there is no handler then

    def arrived(self) -> None:
        """To be called by the handler of a call, first of all."""
        call = asyncio.current_task()
        if call is not None:
            self._end(call)

    def _end(self, call: asyncio.Task[Any]) -> None:
        slow = self._receiving.pop(call, None)
        if slow is not None:
            slow.cancel()
            self._room.release()
