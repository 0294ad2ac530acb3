"""The work on one partition of telemetry, from its takeover until something goes wrong or it is handed on."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from aiokafka import TopicPartition

from collector.clock import Clock
from collector.errors import Malformed, TooLarge
from collector.journal.rows import Signal
from collector.kafka.clients import KafkaClients
from collector.kafka.dead_letters import Cause, DeadLetter, dead_letter
from collector.kafka.giving import Giving
from collector.kafka.inbox import Inbox, Record
from collector.kafka.message_items import Message
from collector.kafka.metrics import KafkaMetrics
from collector.kafka.polling import Unreadable
from collector.kafka.progress import Progress
from collector.kafka.reading_again import ReadingAgain
from collector.kafka.takeover import Estate
from collector.kafka.telemetry_messages import received
from collector.kafka.topics import Layout
from collector.kafka.trace_facts import stands_at
from collector.kafka.trace_router import TraceRouter, Turn
from collector.kafka.traces import Patience
from collector.kafka.turn_writing import TurnWriting
from collector.sessions.surroundings import Marks

log = structlog.get_logger(__name__)

_AT_ONCE = 64  # messages, before other lanes and heartbeats have their turn


@dataclass(frozen=True, slots=True)
class RoutingRules:
    """What a router goes by. `rate`: see `Giving`."""

    marks: Marks
    patience: Patience
    rate: float
    trace_is_session: bool


@dataclass(frozen=True, slots=True)
class LaneParts:
    """What all lanes of a router share. `held_up` says why nothing may be written just now, `parked_bytes` how much one
    lane may keep in memory."""

    clients: KafkaClients
    layout: Layout
    rules: RoutingRules
    clock: Clock
    metrics: KafkaMetrics
    again: ReadingAgain
    held_up: Callable[[], str | None]
    parked_bytes: Callable[[], int]

    def now_ms(self) -> int:
        return self.clock.steady_ns() // 1_000_000


class LaneWork:
    """`turn` after turn. When one fails, this is to be thrown away."""

    def __init__(self, number: int, parts: LaneParts, estate: Estate, writing: TurnWriting) -> None:
        rules, topics = parts.rules, parts.clients.settings.topics
        self._number = number
        self._parts = parts
        self._writing = writing
        self._signals: dict[str, Signal] = {topics.spans: "traces", topics.logs: "logs"}
        self._topics: dict[Signal, str] = {signal: topic for topic, signal in self._signals.items()}
        giving = Giving(rules.rate, parts.layout.most_bytes, trace_is_session=rules.trace_is_session)
        self.router = TraceRouter(estate.traces, rules.marks, giving)
        self.next = dict(estate.next)
        """By topic, the offset of the first message that is not yet committed."""
        self.progress = Progress(self._signals, parts.now_ms())
        self._links = estate.links
        self._links_end = estate.links_end
        self._letters: list[DeadLetter] = []
        self._causes: list[Cause] = []

    async def turn(self, inbox: Inbox) -> None:
        """Work on what came, and on what has waited long enough. Does nothing where there is nothing of either.

        Raises KafkaError, `KafkaNotReached` or TimeoutError.
        """
        parts, now_ms = self._parts, self._parts.now_ms()
        taken = inbox.take(parts.clients.settings.router.transaction_bytes)
        for number, record in enumerate(taken.records, 1):
            self._take(record, now_ms)
            self.next[record.topic] = record.offset + 1
            if not number % _AT_ONCE:
                await asyncio.sleep(0)
        for topic, position in taken.positions.items():
            self.progress.read(topic, position)
        self.router.pass_time(self.progress.read_ms())
        await self._read_again()
        old = self._links.old(now_ms)
        renew = [key for chunk in old for key in chunk.traces if self._is_newest(key, chunk.written_ms)]
        turn = self.router.finish(renew, now_ms)
        self._bury(turn)
        if taken.records or old or turn.bundles or turn.facts or turn.moved or self._letters:
            chunks = await self._writing.write(turn, self._letters, self._links, old, self._offsets(), now_ms)
            for chunk in chunks:
                self._links.written(chunk)
                self._links_end = chunk.offset + 1
            parts.metrics.router.committed(len(taken.records), taken.size)
        self._count(turn)
        self.router.unpark(parts.parked_bytes())

    def _take(self, record: Record, now_ms: int) -> None:
        settings, signal = self._parts.clients.settings, self._signals[record.topic]
        if isinstance(record, Unreadable):
            self._dead(record, "undecodable", record.why)
            return
        try:
            told = received(signal, record.offset, record.value, record.headers, settings.encoding)
            contents = self.router.take(told.message, now_ms)
        except (Malformed, TooLarge) as error:
            self._dead(record, "undecodable", str(error))
            return
        self.router.rejected(signal, told.rejected)
        if rejected := told.rejected + contents.rejected:
            cause = told.cause or contents.cause
            self._dead(record, "malformed", f"{rejected} items rejected, the first because {cause}")

    def _dead(self, record: Record, cause: Cause, detail: str) -> None:
        at = (self._number, record.offset)
        most = self._parts.layout.most_bytes
        self._letters.append(
            dead_letter(record.topic, at, record.key, record.value, cause, detail, most, record.headers)
        )
        self._causes.append(cause)
        log.warning("dead_letter", topic=record.topic, partition=at[0], offset=at[1], cause=cause, detail=detail)

    def _bury(self, turn: Turn) -> None:
        """Items that no message has room for."""
        most, topic = self._parts.layout.most_bytes, self._parts.clients.settings.topics.sessions
        for bundle in turn.oversized:
            detail = f"an item of {len(bundle.value)} bytes, {most} fit into a message"
            self._letters.append(dead_letter(topic, None, bundle.key, bundle.value, "oversized", detail, most))
            self._causes.append("oversized")

    async def _read_again(self) -> None:
        """Messages that hold telemetry whose name has come only now."""
        offsets: dict[Signal, list[int]] = defaultdict(list)
        for place in self.router.wanted():
            signal, offset = stands_at(place)
            offsets[signal].append(offset)
        for signal, wanted in offsets.items():
            records = await self._parts.again.read(TopicPartition(self._topics[signal], self._number), wanted)
            for record in records:
                self.router.supply(self._message(signal, record))
            self._parts.metrics.router.read_again(len(records))

    def _message(self, signal: Signal, record: Record) -> Message:
        """It was read before, and was good."""
        encoding = self._parts.clients.settings.encoding
        return received(signal, record.offset, record.value, record.headers, encoding).message

    def _is_newest(self, key: tuple[str, bytes], written_ms: int) -> bool:
        """Is what was written then not yet written anew?"""
        trace = self.router.traces.get(key)
        return trace is not None and trace.renewed_ms <= written_ms

    def _offsets(self) -> dict[TopicPartition, tuple[int, str]]:
        """With where to begin reading the links, for whoever takes over."""
        oldest = self._links.oldest()
        begin = str(self._links_end if oldest is None else oldest)
        return {TopicPartition(topic, self._number): (offset, begin) for topic, offset in self.next.items()}

    def _count(self, turn: Turn) -> None:
        metrics = self._parts.metrics
        metrics.router.read(turn.read)
        metrics.router.unparked(turn.unparked, turn.repeated)
        for cause in self._causes:
            metrics.dead_letter(cause)
        self._letters, self._causes = [], []
