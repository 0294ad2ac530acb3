"""Read messages of the telemetry topics a second time, by where they stand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from collector.kafka.clients import KafkaClients, stop
from collector.kafka.polling import poll

_GAP = 500  # messages that are read and thrown away rather than sought past
_POLL_MS = 500
_WITHIN_S = 60


class ReadingAgain:
    """One consumer, outside of any group, for all partitions of a router."""

    def __init__(self, clients: KafkaClients) -> None:
        self._clients = clients
        self._one_at_a_time = asyncio.Lock()
        self._consumer: Any = None

    async def read(self, at: TopicPartition, offsets: Iterable[int]) -> list[ConsumerRecord[bytes, bytes]]:
        """The messages at these offsets, in their order; without those that Kafka has not any more.

        Raises KafkaError, `KafkaNotReached`, or TimeoutError when a broker does not answer.
        """
        wanted = sorted(offsets)
        if not wanted:
            return []
        found: list[ConsumerRecord[bytes, bytes]] = []
        async with self._one_at_a_time, asyncio.timeout(_WITHIN_S):
            if self._consumer is None:
                isolation = self._clients.settings.isolation
                self._consumer = await self._clients.started(lambda: self._clients.consumer(isolation=isolation))
            self._consumer.assign([at])
            first = (await self._consumer.beginning_offsets([at]))[at]
            end = (await self._consumer.end_offsets([at]))[at]
            for near in _runs([offset for offset in wanted if first <= offset < end]):
                self._consumer.seek(at, near[0])
                found += await self._run(at, near)
        return found

    async def _run(self, at: TopicPartition, wanted: Sequence[int]) -> list[ConsumerRecord[bytes, bytes]]:
        """All of `wanted` stands below the end of the partition: what does not would be waited for in vain."""
        members, found = set(wanted), []
        while await self._consumer.position(at) <= wanted[-1]:
            records = (await poll(self._consumer, at, timeout_ms=_POLL_MS)).get(at, ())
            found += [record for record in records if record.offset in members]
        return found

    async def stop(self) -> None:
        if self._consumer is not None:
            await stop(self._consumer)


def _runs(offsets: Sequence[int]) -> Iterator[list[int]]:
    """Offsets with small gaps between them, together."""
    number = 0
    numbers = []
    for before, offset in zip((offsets[0], *offsets), offsets, strict=False) if offsets else ():
        number += offset - before > _GAP
        numbers.append((number, offset))
    for _, run in groupby(numbers, key=lambda pair: pair[0]):
        yield [offset for _, offset in run]
