"""Take up a partition of the topic of sessions: what is known of it, and from where it is to be read."""

from __future__ import annotations

from itertools import count
from typing import Any

import structlog
from aiokafka import TopicPartition

from collector.kafka.clients import KafkaClients
from collector.kafka.share import Means, Share
from collector.kafka.verdict_topic import VerdictWriter, read_records

log = structlog.get_logger(__name__)


class Beginning:
    """Of one worker. `most_bytes` is the size of the largest value that a message may have."""

    def __init__(self, clients: KafkaClients, means: Means, most_bytes: int) -> None:
        self._clients = clients
        self._topics = clients.settings.topics
        self._means = means
        self._most_bytes = most_bytes
        self._places = count(1)

    async def open(self, consumer: Any, number: int) -> Share:
        """The partition with this number, of which nobody else can close anything from now on.

        Raises KafkaError, `KafkaProblem` or `StoreUnavailable`; nothing is left open then.
        """
        writer = VerdictWriter(self._clients, self._topics.verdicts, number, self._most_bytes)
        try:
            return await self._opened(consumer, number, writer)
        except BaseException:
            await writer.stop()
            raise

    async def _opened(self, consumer: Any, number: int, writer: VerdictWriter) -> Share:
        at = TopicPartition(self._topics.sessions, number)
        committed = await consumer.committed(at)
        await writer.start()
        known = await read_records(self._clients, self._topics.verdicts, number)
        first = (await consumer.beginning_offsets([at]))[at]
        end = (await consumer.end_offsets([at]))[at]
        start = first if committed is None else self._start(number, committed, first, end)
        return Share(number, next(self._places), start, known, writer, self._means)

    def _start(self, number: int, committed: int, first: int, end: int) -> int:
        """What was committed, or where the partition begins when Kafka has not, or not any more, what stood there."""
        if committed < first:
            self._means.metrics.kafka.worker.skipped(first - committed)
            log.warning("kafka_messages_deleted_unread", partition=number, needed_from=committed, there_from=first)
            return first
        if committed > end:
            log.warning("kafka_partition_shorter_than_committed", partition=number, committed=committed, end=end)
            return first
        return committed
