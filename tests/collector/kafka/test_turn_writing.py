"""All of a turn is in Kafka, or nothing is, and of two writers for one partition only the later one can write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import MessageSizeTooLargeError, ProducerFenced

from collector.kafka.bundles import Bundle
from collector.kafka.clients import KafkaClients
from collector.kafka.dead_letters import dead_letter
from collector.kafka.link_log import Chunk, LinkLog
from collector.kafka.session_topic import MOVED_TO, SessionMessage, read_message, session_key, session_partition
from collector.kafka.topics import ROUTER, Layout, ensure_topics
from collector.kafka.trace_facts import TraceFact, decode_facts
from collector.kafka.trace_router import Moved, Turn
from collector.kafka.turn_writing import TurnWriting
from collector.sessions.keys import Kind, Owner
from tests.collector.kafka.routers import Bench
from tests.collector.sessions.telemetry import span, trace_id, trace_request
from tests.eventually import eventually
from tests.kafka.desk import Desk, Message

pytestmark = pytest.mark.integration("kafka")

_EVE = Owner(Kind.SESSION, "eve", "acme")


def _turn(
    *bundles: Bundle,
    facts: tuple[TraceFact, ...] = (),
    moved: tuple[Moved, ...] = (),
    followed: tuple[Owner, ...] = (),
) -> Turn:
    return Turn(bundles, moved, followed, facts, (), {}, {}, 0)


def _bundle(number: int, size: int = 0) -> Bundle:
    return Bundle(b"acme\0ann", "traces", trace_request([span(1, number, note="x" * size)]), 1)


@asynccontextmanager
async def _writing(bench: Bench) -> AsyncIterator[tuple[TurnWriting, Layout]]:
    clients = KafkaClients(bench.kafka)
    layout = await ensure_topics(clients, ROUTER)
    writing = TurnWriting(clients, layout, 1)
    await writing.start()
    try:
        yield writing, layout
    finally:
        await writing.stop()


async def test_everything_of_a_turn_is_written_where_it_belongs(kafka: Desk) -> None:
    bench = Bench(kafka)
    at = TopicPartition(bench.topics.spans, 1)
    fact = TraceFact(("acme", trace_id(1)), names=("ann",))
    letter = dead_letter(at.topic, (1, 4), b"k", b"bad", "undecodable", "no OTLP", 1_000_000)
    turn = _turn(_bundle(1), facts=(fact,), moved=(Moved(b"acme\0trace:01", "acme", "ann"),), followed=(_EVE,))
    async with _writing(bench) as (writing, layout):
        links, old = LinkLog(0, (), 1), Chunk(b"old", (), 0, 0)
        (chunk,) = await writing.write(turn, [letter], links, [old], {at: (5, "7")}, now_ms=3)

    async def visible() -> list[Message]:  # brokers end a transaction a moment after they have said so
        return await kafka.read(bench.topics.links)

    told = await eventually(visible, "the end of the transaction")
    assert [(message.partition, message.key) for message in told] == [(1, chunk.key), (1, b"old")]
    assert (told[0].offset, told[1].value) == (chunk.offset, None)
    assert decode_facts(told[0].value or b"") == [fact]
    sessions = {message.key: message for message in await bench.sessions()}
    assert sessions[b"acme\0ann"].value == _bundle(1).value
    assert sessions[b"acme\0trace:01"].headers[MOVED_TO] == b"ann"
    eve = sessions[session_key(_EVE)]
    assert read_message(eve.key, eve.headers.items()) == SessionMessage(_EVE, "logs", followed=True)
    for key, message in sessions.items():
        assert key is not None
        assert message.partition == session_partition(key, layout.partitions["sessions"])
    assert [message.value for message in await kafka.read(bench.topics.dead_letters)] == [b"bad"]
    assert await kafka.committed(bench.kafka.router_group) == {(at.topic, 1): 5}


async def test_one_message_that_fails_takes_the_whole_turn_along(kafka: Desk) -> None:
    bench = Bench(kafka, compression="none")
    at = TopicPartition(bench.topics.spans, 1)
    small = await kafka.create(at.topic + "-small", max_message_bytes="10000")
    topics = bench.topics.model_copy(update={"dead_letters": small})
    clients = KafkaClients(bench.kafka.model_copy(update={"topics": topics}))
    async with _writing(bench) as (after, layout):
        writing = TurnWriting(clients, layout, 1)  # which takes that topic for larger than it is
        await writing.start()
        letter = dead_letter(at.topic, (1, 4), None, b"x" * 50_000, "oversized", "", layout.most_bytes)
        with pytest.raises(MessageSizeTooLargeError):
            await writing.write(_turn(_bundle(1)), [letter], LinkLog(0, (), 1), [], {at: (5, "0")}, now_ms=0)
        await writing.stop()
        await after.stop()
        await after.start()
        await after.write(_turn(_bundle(2)), [], LinkLog(0, (), 1), [], {at: (1, "0")}, now_ms=0)
    await bench.until(**{"acme/ann": {2}})
    assert [message.value for message in await bench.sessions()] == [_bundle(2).value]
    assert await kafka.committed(bench.kafka.router_group) == {(at.topic, 1): 1}


async def test_the_later_of_two_writers_ends_the_earlier_one(kafka: Desk) -> None:
    bench = Bench(kafka)
    at = TopicPartition(bench.topics.spans, 1)
    async with _writing(bench) as (earlier, _), _writing(bench) as (later, _):
        with pytest.raises(ProducerFenced):
            await earlier.write(_turn(_bundle(1)), [], LinkLog(0, (), 1), [], {at: (9, "0")}, now_ms=0)
        await later.write(_turn(_bundle(2)), [], LinkLog(0, (), 1), [], {at: (5, "0")}, now_ms=0)
    await bench.until(**{"acme/ann": {2}})
    assert [message.value for message in await bench.sessions()] == [_bundle(2).value]
    assert await kafka.committed(bench.kafka.router_group) == {(at.topic, 1): 5}
