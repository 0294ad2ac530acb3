"""Topics of a test on a real broker: make them, write into them, and read all that they hold."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError
from aiokafka.record.util import calc_crc32c

from collector.kafka.polling import poll
from tests.eventually import eventually

_WITHIN_S = 60
_CHECKED_FROM = 21


@dataclass(frozen=True, slots=True)
class Message:
    """One record of a topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, bytes]


class Desk:
    """By the addresses of the brokers. Every call makes its own connection."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    @staticmethod
    def name(purpose: str) -> str:
        """A name for a topic or group that no other test has."""
        return f"{purpose}-{uuid4().hex[:12]}"

    async def create(self, topic: str, partitions: int = 1, *, replicas: int = 1, **config: str) -> str:
        """A topic; `config` by its keys with `_` for the dots. Returns its name, when it can be written to."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        new = NewTopic(topic, partitions, replicas, topic_configs=settings)
        admin = await self._admin()
        try:
            answer = await admin.create_topics([new])
            assert all(code == 0 for _, code, *_ in answer.topic_errors), answer

            async def led() -> bool:
                return len(await self.leaders(topic)) == partitions

            await eventually(led, f"leaders of {topic}")
        finally:
            await admin.close()
        return topic

    async def delete(self, topic: str) -> None:
        admin = await self._admin()
        try:
            await admin.delete_topics([topic])
        finally:
            await admin.close()

    async def delete_before(self, topic: str, offset: int, partition: int = 0) -> None:
        """As Kafka does when the time of messages is over."""
        admin = await self._admin()
        try:
            await admin.delete_records({TopicPartition(topic, partition): RecordsToDelete(before_offset=offset)})
        finally:
            await admin.close()

    async def grow(self, topic: str, partitions: int) -> None:
        """To so many, which new clients see on return."""
        admin = await self._admin()
        try:
            await admin.create_partitions({topic: NewPartitions(partitions)})
        finally:
            await admin.close()

        async def led() -> bool:
            return len(await self.leaders(topic)) == partitions

        await eventually(led, f"leaders of {topic}")

    async def leaders(self, topic: str) -> dict[int, int]:
        """Node id of the leader by partition, as far as there are leaders; empty when there is no such topic."""
        async with asyncio.timeout(_WITHIN_S):
            while True:
                admin = await self._admin()
                try:
                    (described,) = await admin.describe_topics([topic])
                except KafkaError:  # it asked a broker that is away; the next connection may be to another
                    await asyncio.sleep(0.1)
                else:
                    return {
                        each["partition"]: each["leader"] for each in described["partitions"] if each["leader"] >= 0
                    }
                finally:
                    await admin.close()

    async def in_sync_again(self, replicas: int, *topics: str) -> None:
        """Once every partition has so many replicas in sync: a broker that came back may lead again."""

        async def in_sync() -> bool:
            admin = await self._admin()
            try:
                described = await admin.describe_topics(list(topics))
            except KafkaError:  # as in `leaders`
                return False
            finally:
                await admin.close()
            return all(len(each["isr"]) == replicas for topic in described for each in topic["partitions"])

        await eventually(in_sync, f"{replicas} replicas in sync of {topics}")

    async def config(self, topic: str) -> dict[str, str]:
        """The settings of a topic."""
        admin = await self._admin()
        try:
            (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        finally:
            await admin.close()
        (resource,) = answer.to_object()["resources"]
        return {entry["config_names"]: entry["config_value"] for entry in resource["config_entries"]}

    async def set_config(self, topic: str, **config: str) -> None:
        """Change settings of a topic; keys with `_` for the dots."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        admin = await self._admin()
        try:
            await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, settings)])
        finally:
            await admin.close()

    async def send(
        self, topic: str, key: bytes | None, value: bytes, headers: Sequence[tuple[str, bytes | None]] = ()
    ) -> int:
        """Write one record, acknowledged by all replicas; its offset."""
        async with AIOKafkaProducer(bootstrap_servers=self.bootstrap, acks="all") as producer:
            sent = await producer.send_and_wait(topic, value, key=key, headers=list(headers))
        offset: int = sent.offset
        return offset

    async def send_unreadable(self, topic: str, key: bytes, value: bytes, partition: int = 0) -> None:
        """Three records at once, of which the second has a header whose name is no UTF-8."""
        async with AIOKafkaProducer(bootstrap_servers=self.bootstrap, acks="all") as producer:
            batch = producer.create_batch()
            for headers in ([], [("NAME", b"")], []):
                batch.append(timestamp=None, key=key, value=value, headers=headers)
            made = bytes(batch._build()).replace(b"NAME", b"\xff\xfe\xfd\xfc")
            # https://kafka.apache.org/documentation/#recordbatch: what the checksum is of begins behind it.
            checksum = calc_crc32c(made[_CHECKED_FROM:]).to_bytes(4, "big")
            batch._buffer = made[: _CHECKED_FROM - 4] + checksum + made[_CHECKED_FROM:]
            await (await producer.send_batch(batch, topic, partition=partition))

    async def read(self, *topics: str, committed: bool = True) -> list[Message]:
        """All that the topics hold now, each partition in its order. `committed`: without aborted transactions."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed" if committed else "read_uncommitted",
            max_partition_fetch_bytes=64 * 1024**2,
        )
        await consumer.start()
        try:
            partitions = [
                TopicPartition(topic, number)
                for topic in topics
                for number in sorted(await consumer._client._wait_on_metadata(topic))
            ]
            return await self._read(consumer, partitions)
        finally:
            await consumer.stop()

    async def _read(self, consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]) -> list[Message]:
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        await consumer.seek_to_beginning(*partitions)
        found: list[Message] = []
        async with asyncio.timeout(_WITHIN_S):
            while any([await consumer.position(each) < ends[each] for each in partitions]):
                for records in (await poll(consumer, timeout_ms=200)).values():
                    found += (
                        Message(each.partition, each.offset, each.key, each.value, dict(each.headers))
                        for each in records
                    )
        return sorted(found, key=lambda message: (message.partition, message.offset))

    async def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The offsets that a consumer group has committed."""
        admin = await self._admin()
        try:
            offsets = await admin.list_consumer_group_offsets(group)
        finally:
            await admin.close()
        return {(at.topic, at.partition): told.offset for at, told in offsets.items() if told.offset >= 0}

    async def members(self, group: str) -> int:
        """How many processes the group has."""
        admin = await self._admin()
        try:
            (answer,) = await admin.describe_consumer_groups([group])
        finally:
            await admin.close()
        (described,) = answer.to_object()["groups"]
        return len(described["members"])

    async def _admin(self) -> AIOKafkaAdminClient:
        """Connected; a broker that was just started may need a moment more."""
        async with asyncio.timeout(_WITHIN_S):
            while True:
                admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
                try:
                    await admin.start()
                except KafkaError:
                    await admin.close()
                    await asyncio.sleep(0.1)
                else:
                    return admin
