"""No more calls are received at once than there is room for, and each makes room however it ends."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import grpc
import pytest

from collector.otlp.reception import Reception

EXPORT, OTHER = "/traces/Export", "/health/Check"


class _Call(NamedTuple):
    """What an interceptor is told of a call."""

    method: str
    invocation_metadata: tuple[()] = ()


HANDLER: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(lambda _request, _context: b"")


class Server:
    """Calls as grpc.aio makes them: a task each, which asks the interceptor, receives, and may reach its handler."""

    def __init__(self, most: int, slow_s: float = 60.0) -> None:
        self.reception = Reception(frozenset({EXPORT}), most, slow_s)
        self.receiving = 0

    async def _run(self, method: str, received: asyncio.Event, answered: asyncio.Event | None) -> None:
        async def found(_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
            return HANDLER

        await self.reception.intercept_service(found, _Call(method))  # type: ignore[arg-type]
        self.receiving += 1
        try:
            await received.wait()
        finally:
            self.receiving -= 1
        if answered is not None:
            self.reception.arrived()
            await answered.wait()

    def call(
        self, received: asyncio.Event, method: str = EXPORT, answered: asyncio.Event | None = None
    ) -> asyncio.Task[None]:
        return asyncio.create_task(self._run(method, received, answered))


async def _settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_calls_above_the_bound_wait_until_one_was_received() -> None:
    server, received, answered = Server(2), asyncio.Event(), asyncio.Event()
    first = server.call(received, answered=answered)
    calls = [server.call(asyncio.Event()) for _ in range(3)]
    await _settle()
    assert server.receiving == 2
    received.set()  # the handler of the first has begun, and waits for the disk
    await _settle()
    assert server.receiving == 2
    assert not first.done()
    for call in (*calls, first):
        call.cancel()


@pytest.mark.parametrize("ends", ["cancelled", "never handled"])
async def test_a_call_that_ends_without_a_handler_makes_room(ends: str) -> None:
    server, received = Server(1), asyncio.Event()
    first, second = server.call(received), server.call(asyncio.Event())
    await _settle()
    if ends == "cancelled":
        first.cancel()
    else:
        received.set()
    await _settle()
    assert first.done()
    assert server.receiving == 1
    second.cancel()
    await _settle()
    third = server.call(asyncio.Event())
    await _settle()
    assert server.receiving == 1
    third.cancel()


async def test_a_slow_sender_does_not_keep_others_out_for_ever() -> None:
    server, received, answered = Server(1, slow_s=0.0), asyncio.Event(), asyncio.Event()
    slow = server.call(received, answered=answered)
    waiting = server.call(asyncio.Event())
    async with asyncio.timeout(20):
        while server.receiving < 2:  # noqa: ASYNC110 - the timer of the loop decides
            await asyncio.sleep(0)
    received.set()
    answered.set()
    await slow  # whose place was given away already: it gives back no second one
    waiting.cancel()


async def test_other_methods_are_not_counted() -> None:
    server = Server(1)
    calls = [server.call(asyncio.Event(), OTHER) for _ in range(5)]
    await _settle()
    assert server.receiving == 5
    for call in calls:
        call.cancel()
