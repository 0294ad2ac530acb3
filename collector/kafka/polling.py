"""Reading from a consumer, also past messages that the client library cannot read.

Brokers take headers whose names are no UTF-8. The library raises at such a message, again and again, without saying
where it stands, and what it read before that in the same call is given to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError

log = structlog.get_logger(__name__)

_AGAIN_MS = 500  # to be fetched once more
_MOST_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for a message that cannot be read, or that stands behind one in what a producer sent at once."""

    topic: str
    partition: int
    offset: int
    why: str
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


async def poll(
    consumer: Any, *partitions: TopicPartition, timeout_ms: int, max_records: int | None = None
) -> dict[TopicPartition, list[Any]]:
    """As the consumer's `getmany`, with `Unreadable` where a message cannot be read. Raises KafkaError."""
    try:
        found: dict[TopicPartition, list[Any]] = await consumer.getmany(
            *partitions, timeout_ms=timeout_ms, max_records=max_records
        )
    except UnicodeDecodeError:
        asked = partitions or consumer.assignment() - consumer.paused()
        return await _one_by_one(consumer, asked)
    return found


async def _one_by_one(consumer: Any, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, list[Any]]:
    """Up to the first message of each partition that cannot be read, and past it."""
    found: dict[TopicPartition, list[Any]] = {}
    for at in partitions:
        with suppress(IllegalStateError):  # it was taken from us meanwhile
            if records := await _records(consumer, at):
                found[at] = records
    return found


async def _records(consumer: Any, at: TopicPartition) -> list[Any]:
    records: list[Any] = []
    try:
        while len(records) < _MOST_AT_ONCE:
            one = (await consumer.getmany(at, timeout_ms=_AGAIN_MS, max_records=1)).get(at)
            if not one:
                break
            records += one
    except UnicodeDecodeError as error:
        offset = await consumer.position(at)
        log.warning("kafka_message_not_readable", topic=at.topic, partition=at.partition, offset=offset)
        records.append(Unreadable(at.topic, at.partition, offset, f"the name of a header is no text: {error.reason}"))
        consumer.seek(at, offset + 1)
    return records
