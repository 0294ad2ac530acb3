"""Whoever takes a partition over begins where the last one stopped, and knows what that one knew."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import GroupCoordinatorNotAvailableError

from collector.kafka.clients import KafkaClients
from collector.kafka.errors import KafkaUnusable
from collector.kafka.takeover import Estate, take_over
from collector.kafka.topics import ROUTER, ensure_topics
from collector.kafka.trace_facts import TraceFact, encode_facts
from collector.kafka.traces import Patience
from tests.collector.kafka.routers import Bench
from tests.collector.sessions.telemetry import trace_id
from tests.eventually import eventually
from tests.kafka.desk import Desk

pytestmark = pytest.mark.integration("kafka")


async def _bench(desk: Desk, **settings: Any) -> Bench:
    bench = Bench(desk, create={"replicas": 1, "partitions": 1, "session_partitions": 1}, **settings)
    await ensure_topics(KafkaClients(bench.kafka), ROUTER)
    return bench


async def _estate(bench: Bench) -> Estate:
    async def taken() -> Estate | None:
        try:
            return await take_over(KafkaClients(bench.kafka), 0, Patience(), renew_ms=1000, now_ms=lambda: 5)
        except GroupCoordinatorNotAvailableError:  # nobody has asked this broker for a group before
            return None

    estate = await eventually(taken, "the coordinator of groups")
    assert estate is not None
    return estate


async def _write(bench: Bench, key: str, value: bytes | None) -> int:
    async with AIOKafkaProducer(bootstrap_servers=bench.desk.bootstrap) as producer:
        offset: int = (await producer.send_and_wait(bench.topics.links, value, key=key.encode())).offset
    return offset


def _facts(trace: int, *names: str) -> bytes:
    ((_, value),) = encode_facts([TraceFact(("", trace_id(trace)), names)], 10_000)
    return value


async def _commit(bench: Bench, **offsets: tuple[int, str]) -> None:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bench.desk.bootstrap, group_id=bench.kafka.router_group, enable_auto_commit=False
    )
    await consumer.start()
    at = {TopicPartition(getattr(bench.topics, topic), 0): told for topic, told in offsets.items()}
    consumer.assign(list(at))
    await consumer.commit(at)
    await consumer.stop()


async def test_a_partition_nobody_had_begins_as_configured(kafka: Desk) -> None:
    for start_from, offset in (("earliest", 0), ("latest", 2)):
        bench = await _bench(kafka, start_from=start_from)
        await bench.spans(1, b"one", b"two")
        estate = await _estate(bench)
        assert estate.next == {bench.topics.spans: offset, bench.topics.logs: 0}
        assert (len(estate.traces), estate.links.oldest(), estate.skipped) == (0, None, 0)


async def test_it_goes_on_where_the_last_one_stopped(kafka: Desk) -> None:
    bench = await _bench(kafka)
    await bench.spans(1, b"one", b"two")
    await _commit(bench, spans=(1, ""), logs=(0, ""))
    assert (await _estate(bench)).next == {bench.topics.spans: 1, bench.topics.logs: 0}


async def test_facts_add_up_but_for_those_taken_away(kafka: Desk) -> None:
    bench = await _bench(kafka)
    first = await _write(bench, "a", _facts(1, "ann"))
    await _write(bench, "b", _facts(2, "gone"))
    await _write(bench, "c", _facts(1, "bob"))
    await _write(bench, "b", None)
    estate = await _estate(bench)
    trace = estate.traces.get(("", trace_id(1)))
    assert trace is not None
    assert (trace.names, trace.last_ms, len(estate.traces)) == (("ann", "bob"), 5, 1)
    assert (estate.links.oldest(), estate.links_end, len(estate.links)) == (first, 4, 2)


async def test_reading_begins_where_the_last_commit_says(kafka: Desk) -> None:
    bench = await _bench(kafka)
    await _write(bench, "a", _facts(1, "ann"))
    begin = await _write(bench, "b", _facts(2, "bob"))
    await _commit(bench, spans=(0, str(begin)), logs=(0, "0"))
    estate = await _estate(bench)
    assert estate.traces.get(("", trace_id(1))) is None
    assert estate.traces.get(("", trace_id(2))) is not None


async def test_offsets_that_somebody_else_has_set_tell_nothing_of_links(kafka: Desk) -> None:
    bench = await _bench(kafka)
    await _write(bench, "a", _facts(1, "ann"))
    await _commit(bench, spans=(0, "set by hand"))
    assert len((await _estate(bench)).traces) == 1


async def test_a_message_that_tells_nothing_is_counted(kafka: Desk) -> None:
    bench = await _bench(kafka)
    await _write(bench, "a", b"no facts")
    await _write(bench, "b", _facts(1, "ann"))
    estate = await _estate(bench)
    assert (estate.unreadable, len(estate.traces)) == (1, 1)


async def test_what_a_later_version_wrote_stops_the_takeover(kafka: Desk) -> None:
    bench = await _bench(kafka)
    await _write(bench, "a", b'{"version": 2}')
    with pytest.raises(KafkaUnusable, match="facts of version 2, 1 expected; run the version of SpanJudge"):
        await _estate(bench)
