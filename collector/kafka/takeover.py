"""Take a partition of telemetry over: what did the router before us know, and where did it stop?

To be done when nobody else can write for the partition any more, that is with a producer of its transactional id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import structlog
from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord, OffsetAndMetadata

from collector.kafka.clients import KafkaClients, stop
from collector.kafka.errors import KafkaUnusable
from collector.kafka.link_log import Chunk, LinkLog
from collector.kafka.polling import poll
from collector.kafka.trace_facts import FactsOfAnotherVersion, FactsUnreadable, TraceFact, decode_facts
from collector.kafka.traces import Patience, Traces

log = structlog.get_logger(__name__)

_POLL_MS = 500


@dataclass(frozen=True, slots=True)
class Estate:
    """What a partition's former router left: what it knew, and by topic the offset that comes next. `skipped` messages
    were deleted by Kafka before anybody read them; `unreadable` of the topic of links told nothing."""

    traces: Traces
    links: LinkLog
    links_end: int
    next: Mapping[str, int]
    skipped: int
    unreadable: int


def places_of(clients: KafkaClients, number: int) -> tuple[TopicPartition, TopicPartition, TopicPartition]:
    """The partition with this number of the topics of spans, logs and links."""
    topics = clients.settings.topics
    names = topics.spans, topics.logs, topics.links
    return TopicPartition(names[0], number), TopicPartition(names[1], number), TopicPartition(names[2], number)


async def take_over(
    clients: KafkaClients, number: int, patience: Patience, renew_ms: int, now_ms: Callable[[], int]
) -> Estate:
    """Raises KafkaError, `KafkaNotReached`, or `KafkaUnusable` where a later version has been at work."""
    spans, logs, links = places_of(clients, number)
    async with clients.administering() as admin:
        committed = await admin.list_consumer_group_offsets(clients.settings.router_group, partitions=[spans, logs])
    consumer = await clients.started(clients.consumer)
    try:
        first = await consumer.beginning_offsets([spans, logs, links])
        ends = await consumer.end_offsets([spans, logs, links])
        chunks = await _chunks(consumer, links, max(first[links], _read_from(committed)), ends[links])
    finally:
        await stop(consumer)
    usual = first if clients.settings.start_from == "earliest" else ends
    known = {at: told.offset for at, told in committed.items() if told.offset >= 0}
    skipped = sum(max(0, first[at] - offset) for at, offset in known.items())
    starts = {at.topic: max(first[at], known.get(at, usual[at])) for at in (spans, logs)}
    told = [(record, facts) for record in chunks if (facts := _facts(record)) is not None]
    traces = Traces(patience)
    traces.learn((fact for _, facts in told for fact in facts), now_ms())
    known_chunks = [_chunk(record, facts, now_ms()) for record, facts in told]
    link_log = LinkLog(ends[links], known_chunks, renew_ms)
    return Estate(traces, link_log, ends[links], starts, skipped, len(chunks) - len(told))


def _read_from(committed: Mapping[TopicPartition, OffsetAndMetadata]) -> int:
    """Where the live part of the links begins, as every commit of offsets says. Without that, at the beginning."""
    begins = [0]
    for told in committed.values():
        with suppress(ValueError):  # somebody else has set the offsets
            begins.append(int(told.metadata))
    return max(begins)


async def _chunks(consumer: Any, links: TopicPartition, start: int, end: int) -> list[ConsumerRecord[bytes, bytes]]:
    """The messages with facts that nobody has taken away, oldest first."""
    found: dict[bytes | None, ConsumerRecord[bytes, bytes]] = {}
    consumer.assign([links])
    consumer.seek(links, start)
    while await consumer.position(links) < end:
        for record in (await poll(consumer, links, timeout_ms=_POLL_MS)).get(links, ()):
            if record.value is None:
                found.pop(record.key, None)
            else:
                found[record.key] = record
    return sorted(found.values(), key=lambda record: record.offset)


def _facts(record: ConsumerRecord[bytes, bytes]) -> list[TraceFact] | None:
    """None when it tells nothing. Raises `KafkaUnusable`."""
    try:
        return decode_facts(record.value or b"")
    except FactsUnreadable as error:
        log.warning("links_unreadable", partition=record.partition, offset=record.offset, error=str(error))
        return None
    except FactsOfAnotherVersion as error:
        where = f"{record.topic}, partition {record.partition}, offset {record.offset}"
        raise KafkaUnusable(f"{where}: {error}; run the version of SpanJudge that wrote it") from error


def _chunk(record: ConsumerRecord[bytes, bytes], facts: Sequence[TraceFact], now_ms: int) -> Chunk:
    return Chunk(record.key or b"", [fact.key for fact in facts], now_ms, record.offset)
