"""The brokers that tests start are real: they keep what they acknowledged, and come back where they were."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaProducer

from tests.kafka.broker import Broker, answers
from tests.kafka.cluster import Cluster
from tests.kafka.desk import Desk

pytestmark = pytest.mark.integration("kafka")


async def test_what_is_written_to_the_shared_broker_can_be_read(kafka: Desk) -> None:
    topic = await kafka.create(kafka.name("words"), 3)
    for number in range(5):
        await kafka.send(topic, f"key-{number}".encode(), b"value", [("number", str(number).encode())])
    found = await kafka.read(topic)
    assert {message.key: message.headers["number"] for message in found} == {
        f"key-{number}".encode(): str(number).encode() for number in range(5)
    }


async def test_a_transaction_that_was_aborted_is_not_read(kafka: Desk) -> None:
    topic = await kafka.create(kafka.name("deals"))
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id=kafka.name("dealer")) as producer:
        async with producer.transaction():
            await producer.send_and_wait(topic, b"kept")
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"dropped")
        await producer.abort_transaction()
    assert [message.value for message in await kafka.read(topic)] == [b"kept"]


async def test_a_killed_broker_comes_back_with_what_it_had(own_kafka: Broker) -> None:
    desk = Desk(own_kafka.bootstrap)
    topic = await desk.create("kept", 2)
    await desk.send(topic, b"a", b"before")
    await asyncio.to_thread(own_kafka.kill)
    assert not answers(own_kafka.bootstrap)
    await asyncio.to_thread(own_kafka.start)
    await desk.send(topic, b"a", b"after")
    assert [message.value for message in await desk.read(topic)] == [b"before", b"after"]
    await asyncio.to_thread(own_kafka.stop)
    await asyncio.to_thread(own_kafka.start)
    assert len(await desk.read(topic)) == 2


async def test_another_broker_leads_when_a_leader_is_killed(kafka_cluster: Cluster) -> None:
    desk = Desk(kafka_cluster.bootstrap)
    topic = await desk.create("led", replicas=3)
    await desk.send(topic, None, b"before")
    await kafka_cluster.lose_leader(desk, topic)
    await desk.send(topic, None, b"after")
    assert [message.value for message in await desk.read(topic)] == [b"before", b"after"]
