"""Messages are found again by where they stand, near each other or far apart."""

from __future__ import annotations

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition

from collector.kafka.clients import KafkaClients
from collector.kafka.reading_again import ReadingAgain
from tests.collector.kafka.routers import Bench
from tests.kafka.desk import Desk

pytestmark = pytest.mark.integration("kafka")


async def _filled(bench: Bench, count: int) -> TopicPartition:
    at = TopicPartition(await bench.desk.create(bench.topics.spans), 0)
    async with AIOKafkaProducer(bootstrap_servers=bench.desk.bootstrap, linger_ms=5) as producer:
        for number in range(count):
            await producer.send(at.topic, str(number).encode(), partition=0)
    return at


async def test_the_messages_asked_for_are_found_in_order(kafka: Desk) -> None:
    bench = Bench(kafka)
    at = await _filled(bench, 2000)
    again = ReadingAgain(KafkaClients(bench.kafka))
    try:
        found = await again.read(at, {1999, 3, 1, 1200, 1201})
        assert [record.value for record in found] == [b"1", b"3", b"1200", b"1201", b"1999"]
        assert [record.offset for record in await again.read(at, [0])] == [0]
        assert await again.read(at, []) == []
    finally:
        await again.stop()


async def test_what_kafka_has_deleted_is_not_among_them(kafka: Desk) -> None:
    bench = Bench(kafka)
    at = await _filled(bench, 10)
    await kafka.delete_before(at.topic, 5, at.partition)
    again = ReadingAgain(KafkaClients(bench.kafka))
    try:
        assert [record.offset for record in await again.read(at, [1, 4, 5, 9])] == [5, 9]
        assert await again.read(at, [1]) == []
        assert [record.offset for record in await again.read(at, [9, 10, 4000])] == [9]  # of a topic made anew
    finally:
        await again.stop()
