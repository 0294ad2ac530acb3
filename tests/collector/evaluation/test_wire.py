"""Messages arrive whole, or not at all."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

import pytest

from collector.evaluation.tally import tally
from collector.evaluation.task import Report, Task
from collector.evaluation.wire import Answer, Group, Order, Ready, Stop, Unfit, receive, send
from collector.sessions.book import Claim
from collector.sessions.keys import Kind

CLAIM = Claim(b"0123456789abcdef", Kind.SESSION, 1, "idle", 1_800_000_000_000, 0.5, 9, (3, 8), (7,))
_End: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def _connected() -> AsyncIterator[tuple[_End, _End]]:
    ends = [await asyncio.open_connection(sock=each) for each in socket.socketpair()]
    yield ends[0], ends[1]
    for _, writer in ends:
        writer.close()


@pytest.mark.parametrize(
    "message",
    [Group(3, (Task(CLAIM), Task(CLAIM, handed_before=True))), Stop(), Ready(), Unfit("no"), Report((), tally([]))],
    ids=lambda message: type(message).__name__,
)
async def test_a_message_arrives_as_it_was_sent(message: Order | Answer) -> None:
    async with _connected() as ((_, writer), (reader, _)):
        send(writer, message)
        send(writer, message)
        assert [await receive(reader), await receive(reader)] == [message, message]


@pytest.mark.parametrize("sent", [b"", b"\x00\x00", b"\x00\x00\x00\x09half"])
async def test_a_side_that_ends_in_the_middle_of_a_message_has_ended(sent: bytes) -> None:
    async with _connected() as ((_, writer), (reader, _)):
        writer.write(sent)
        writer.close()
        with pytest.raises(EOFError):
            await receive(reader)
