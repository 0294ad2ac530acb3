"""Read what is known of the sessions of a partition, and write what becomes of them, alone.

Whoever begins to write a partition ends whoever wrote it before: a worker that was cut off and does not know that it
has lost its share finds out at its next closing, before that is evaluated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from collector.kafka.clients import KafkaClients, stop
from collector.kafka.polling import poll
from collector.kafka.session_topic import session_key
from collector.kafka.verdict_records import SessionRecord, UnreadableRecord, decode
from collector.sessions.keys import Digest

log = structlog.get_logger(__name__)

_POLL_MS = 500


class NotOurs(Exception):
    """Nothing can be written to the partition any more by who tries: somebody else has it, or it broke off. What was
    written is read again by whoever begins anew."""


class VerdictWriter:
    """All records of one call are there or none are. `start` before the records of the partition are read: nobody else
    writes from then on."""

    def __init__(self, clients: KafkaClients, topic: str, partition: int, most_bytes: int) -> None:
        """`most_bytes` is the size of the largest value that a message may have."""
        self.most_bytes = most_bytes
        self._clients = clients
        self._topic = topic
        self._partition = partition
        self._producer: Any = None
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        """Raises `KafkaNotReached`."""
        name = f"{self._clients.settings.worker_group}-{self._partition}"
        most = self.most_bytes
        self._producer = await self._clients.started(lambda: self._clients.producer(name, most_bytes=most))

    async def write(self, entries: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Keys and values; on all replicas in sync on return. Raises `NotOurs`."""
        async with self._turn:
            try:
                async with self._producer.transaction():
                    sent = [
                        await self._producer.send(self._topic, value, key=key, partition=self._partition)
                        for key, value in entries
                    ]
                    for future in sent:
                        await future
            except KafkaError as error:
                raise NotOurs(f"{type(error).__name__}: {error}") from error

    async def stop(self) -> None:
        if self._producer is not None:
            await stop(self._producer)


async def read_records(clients: KafkaClients, topic: str, partition: int) -> dict[Digest, SessionRecord]:
    """The newest record of each session in the partition, without verdicts. Raises `KafkaNotReached` or KafkaError.

    A record that cannot be read counts as none: its session is judged again then, with the same ids.
    """
    at = TopicPartition(topic, partition)
    consumer = await clients.started(clients.consumer)
    try:
        consumer.assign([at])
        end = (await consumer.end_offsets([at]))[at]
        await consumer.seek_to_beginning(at)
        found: dict[Digest, SessionRecord] = {}
        while await consumer.position(at) < end:
            for messages in (await poll(consumer, at, timeout_ms=_POLL_MS)).values():
                for message in messages:
                    _take(found, message)
        return found
    finally:
        await stop(consumer)


def _take(found: dict[Digest, SessionRecord], message: Any) -> None:
    if message.value is None:  # of a session that nobody needs to know any more
        return
    try:
        record = decode(message.value)
    except UnreadableRecord as error:
        log.warning("verdict_record_unreadable", partition=message.partition, offset=message.offset, error=str(error))
        return
    if session_key(record.owner) == message.key:
        found[record.owner.digest] = record.without_verdicts()
