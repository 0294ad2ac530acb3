"""The router of traces to sessions: a member of a consumer group that has a lane for each partition it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import structlog
from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CorruptRecordException, IllegalStateError, KafkaError

from collector.clock import Clock
from collector.kafka.assignors import ranges
from collector.kafka.clients import KafkaClients, read_fault, stop
from collector.kafka.joins import Joins
from collector.kafka.lane import Lane
from collector.kafka.lane_work import LaneParts, RoutingRules
from collector.kafka.metrics import KafkaMetrics
from collector.kafka.polling import poll
from collector.kafka.reading_again import ReadingAgain
from collector.kafka.router_metrics import RouterState
from collector.kafka.router_rules import fingerprint
from collector.kafka.topics import Layout, TopicWatch

log = structlog.get_logger(__name__)

_POLL_MS = 100
_HOLD_S = 5.0  # for a turn under way when partitions change hands; the other members wait for us
_AGAIN_S = 1.0


class KafkaRouter(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    """`run` it in a task of its own, then `stop` it."""

    def __init__(
        self,
        clients: KafkaClients,
        layout: Layout,
        watch: TopicWatch,
        rules: RoutingRules,
        clock: Clock,
        metrics: KafkaMetrics,
    ) -> None:
        """`layout` is what `ensure_topics` found, `watch` looks whether it stays that way."""
        self._clients = clients
        self._topics = clients.settings.topics
        self._layout = layout
        self._watch = watch
        self._metrics = metrics
        self._again = ReadingAgain(clients)
        self._lanes: dict[int, Lane] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._consumer: Any = None
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()
        self._reading: str | None = None
        self._membership: str | None = "not yet a member of its group"
        self._unread = 0
        self._joins = Joins(clients.settings.instance_id)
        self._assignor = ranges(fingerprint(rules, clients.settings), self._hear_of_settings)
        self._parts = LaneParts(
            clients, layout, rules, clock, metrics, self._again, lambda: watch.problem, self._parked_bytes
        )

    def problem(self) -> str | None:
        """Why telemetry does not reach its sessions, for the ready probe; None when all is well. Partitions that are
        being taken over are no problem."""
        lanes = (lane.problem for lane in self._lanes.values())
        joins = self._joins.problem(self._parts.now_ms())
        problems = (self._watch.problem, self._reading, self._membership, joins, *lanes)
        return next((problem for problem in problems if problem is not None), None)

    def _parked_bytes(self) -> int:
        """Of one lane."""
        return self._clients.settings.router.parked_bytes // max(1, len(self._lanes))

    def refresh(self) -> None:
        """Bring the gauges up to date; before they are looked at."""
        works = [lane.work for lane in self._lanes.values() if lane.work is not None]
        now_ms = self._parts.now_ms()
        self._metrics.router.state(
            RouterState(
                partitions=len(self._lanes),
                traces=sum(len(work.router.traces) for work in works),
                parked_bytes=sum(work.router.parked_bytes for work in works),
                waiting=self._unread + sum(lane.waiting for lane in self._lanes.values()),
                behind_s=max((now_ms - work.progress.read_ms() for work in works), default=0) / 1000,
            )
        )

    # -- reading --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until `stop`. Raises `KafkaNotReached` when Kafka cannot be reached at the start."""
        settings = self._clients.settings
        self._consumer = await self._clients.started(
            lambda: self._clients.consumer(settings.router_group, self._assignor, isolation=settings.isolation)
        )
        self._consumer.subscribe([self._topics.spans, self._topics.logs], listener=self)
        try:
            while not self._stopping.is_set():
                await self._read()
        finally:
            self._ended.set()

    async def _read(self) -> None:
        try:
            await self._poll()
            self._reading = None
        except IllegalStateError:  # a partition was taken from us between two lines
            log.debug("partition_gone")
        except CorruptRecordException as error:
            self._reading = f"a message arrives damaged: {error}"
            log.warning("kafka_message_damaged", error=str(error))
            await self._read_anew()
        except KafkaError as error:
            self._reading = f"the topics of telemetry cannot be read: {read_fault(error)}"
            log.warning("kafka_not_read", error=self._reading)
            await asyncio.sleep(_AGAIN_S)

    async def _poll(self) -> None:
        lanes = [lane for lane in self._lanes.values() if lane.wants]
        wanted = [partition for lane in lanes for partition in lane.partitions]
        # Without partitions it would read all; and who does not ask at all is taken for dead.
        nothing = TopicPartition(self._topics.spans, -1)
        found = await poll(self._consumer, *(wanted or (nothing,)), timeout_ms=_POLL_MS)
        for at, records in found.items():
            if (lane := self._lanes.get(at.partition)) is not None:
                lane.offer(records)
        self._unread = sum(
            [await self._tell_where(lane, at) for lane in list(self._lanes.values()) for at in lane.partitions]
        )

    async def _tell_where(self, lane: Lane, at: TopicPartition) -> int:
        """How many messages of the partition stand unread."""
        if lane.work is None or at not in self._consumer.assignment():
            return 0
        end, heard = self._consumer.highwater(at), self._consumer.last_poll_timestamp(at)
        if end is None:
            return 0
        position = await self._consumer.position(at)
        lane.stands(at.topic, position, end, heard)
        unread: int = end - position
        return max(0, unread)

    async def _read_anew(self) -> None:
        """It may have been damaged on its way; what is damaged on the broker's disk stays a problem until it is mended
        there."""
        await asyncio.sleep(_AGAIN_S)
        for at in self._consumer.assignment():
            self._consumer.seek(at, await self._consumer.position(at))

    def _seek(self, at: TopicPartition, offset: int) -> None:
        self._consumer.seek(at, offset)

    # -- changing hands -------------------------------------------------------------------------------------------

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """All of them, at each rebalance; most come back."""
        lanes = list(self._lanes.values())
        ended = await asyncio.gather(*(lane.hold(_HOLD_S) for lane in lanes))
        for lane, in_time in zip(lanes, ended, strict=True):
            if not in_time:
                self._leave(lane)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._joins.joined(self._parts.now_ms())
        ours = self._numbers(frozenset(assigned))
        for lane in list(self._lanes.values()):
            if lane.number in ours:
                lane.go_on()
            else:
                self._leave(lane)
        for number in sorted(ours - self._lanes.keys()):
            lane = self._lanes[number] = Lane(number, self._parts, self._seek)
            lane.start()
        log.info("partitions_assigned", partitions=sorted(ours))

    def _hear_of_settings(self, differ: bool) -> None:
        self._metrics.router.settings_differ(differ)
        if differ:
            log.warning(
                "kafka_routers_differ", problem="routers of the group go by different settings: restart them all"
            )

    def _numbers(self, assigned: frozenset[TopicPartition]) -> set[int]:
        """Partitions that we have of both topics, and that were there at our start."""
        known = self._layout.partitions["spans"]
        numbers = {at.partition for at in assigned}
        ours = {
            number
            for number in numbers
            if number < known and {(topic, number) for topic in (self._topics.spans, self._topics.logs)} <= assigned
        }
        strange = sorted(numbers - ours)
        self._membership = f"partitions {strange} are new, or were given to us of one topic only" if strange else None
        return ours

    def _leave(self, lane: Lane) -> None:
        """Its producer may take a while to stop, which nobody should wait for."""
        del self._lanes[lane.number]
        task = asyncio.create_task(lane.close(), name=f"leaving partition {lane.number}")
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def stop(self, within_s: float) -> None:
        """End what is under way within this time, and leave the group."""
        self._stopping.set()
        lanes = list(self._lanes.values())
        await asyncio.gather(*(lane.hold(within_s / 2) for lane in lanes))
        for lane in lanes:
            self._leave(lane)
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=within_s / 2)
        await self._again.stop()
        if self._consumer is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN_S):
                    await self._ended.wait()
            await stop(self._consumer)
