"""A worker: reads its partitions of the topic of sessions, as fast as there is room, and tells what waits in them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import structlog
from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from collector.errors import StoreUnavailable
from collector.journal.journal import Journal
from collector.kafka.assignors import sticky
from collector.kafka.beginning import Beginning
from collector.kafka.clients import KafkaClients, read_fault, stop
from collector.kafka.joins import Joins
from collector.kafka.journals_room import JournalsRoom
from collector.kafka.places import clear
from collector.kafka.polling import poll
from collector.kafka.seats import Ended, Seats
from collector.kafka.share import Means, Share
from collector.kafka.topics import TopicWatch

log = structlog.get_logger(__name__)

_POLL_MS, _MOST_MESSAGES = 200, 2_000
_COMMIT_S, _ENDS_S, _READ_AGAIN_S = 1.0, 2.0, 0.5


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        await self._worker.revoked()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._worker.assigned({at.partition for at in assigned})


@dataclass(frozen=True, slots=True)
class Bounds:
    """`journal_bytes` of all journals together, above which nothing is read; `message_bytes` of the value of a message
    at most (`Layout.most_bytes`)."""

    journal_bytes: int
    message_bytes: int


class Worker:
    """`start`, then `run` in a task of its own, then `stop`. `ended` is told of every task that ends."""

    def __init__(
        self,
        clients: KafkaClients,
        watch: TopicWatch,
        means: Means,
        bounds: Bounds,
        ended: Ended = lambda task: None,
    ) -> None:
        self._clients = clients
        self._topics = clients.settings.topics
        self._watch = watch
        self._means = means
        self._metrics = means.metrics.kafka.worker
        self._seats = Seats(clients.settings, Beginning(clients, means, bounds.message_bytes), self._metrics, ended)
        self._room = JournalsRoom(self._journals, bounds.journal_bytes, means.metrics)
        self._joins = Joins(clients.settings.instance_id)
        self._not_read: str | None = None
        self._ends: dict[int, int] = {}
        """Of partitions that are paused, of which reading tells nothing, or nothing new."""
        self._stopping = False
        self._consumer: Any = None

    async def start(self) -> None:
        """Join the group. Raises `KafkaNotReached` or `StoreUnavailable`."""
        clear(self._means.directory)
        await self._clients.started(self._make)

    def _make(self) -> Any:
        """In place at once: starting it hands out partitions."""
        self._consumer = self._clients.consumer(self._clients.settings.worker_group, sticky())
        self._seats.consumer = self._consumer
        self._consumer.subscribe([self._topics.sessions], listener=_Listener(self))
        return self._consumer

    def problem(self) -> str | None:
        """Why nothing can be worked on just now, for the ready probe; None when all is well."""
        if self._stopping:
            return "stopping"
        joins = self._joins.problem(self._now_ms())
        return self._watch.problem or self._not_read or self._room.problem or joins or self._seats.problem()

    def _now_ms(self) -> int:
        return self._means.clock.steady_ns() // 1_000_000

    @property
    def shares(self) -> dict[int, Share]:
        """The partitions that are ours and have begun, by their numbers."""
        return self._seats.shares

    def _journals(self) -> list[Journal]:
        return [share.journal for share in self.shares.values()]

    def sample(self, rate: float) -> None:
        """From now on keep this share of all sessions."""
        for share in self.shares.values():
            share.sample(rate)

    # -- reading ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._read())
            tasks.create_task(self._keep_committing())
            tasks.create_task(self._watch_ends())
            tasks.create_task(self._room.watch())

    async def _read(self) -> None:
        while not self._stopping:
            try:
                found = await poll(self._consumer, timeout_ms=_POLL_MS, max_records=_MOST_MESSAGES)
            except KafkaError as error:
                self._metrics.read_failed()
                self._watch.poke()
                self._not_read = f"{self._topics.sessions} cannot be read: {read_fault(error)}"
                log.warning("kafka_read_failed", error=self._not_read)
                await asyncio.sleep(_READ_AGAIN_S)
                continue
            self._not_read = None
            for at, messages in found.items():
                await self._take(at, messages)
            await self._look()

    async def _take(self, at: TopicPartition, messages: list[Any]) -> None:
        share = self._seats.held(at.partition)
        if share is None or share.lost is not None:
            return  # read again by whoever has it next
        with suppress(StoreUnavailable):  # the share says so in `lost`
            await share.take(messages)

    async def _look(self) -> None:
        """After a read: how far are we, and may we go on?"""
        now_ms = self._now_ms()
        waiting = behind = paused = 0
        for number, share in self.shares.items():
            waiting += share.judging.waiting
            if not share.held:
                continue
            at = TopicPartition(self._topics.sessions, number)
            try:
                end = self._consumer.last_stable_offset(at)
                heard = self._consumer.last_poll_timestamp(at)
                position = await self._consumer.position(at)
            except (AssertionError, IllegalStateError, KafkaError):  # it was taken from us meanwhile
                continue
            if end is not None and heard is not None:
                share.progress.seen("sessions", end, heard, now_ms)
            newest = max(end or 0, self._ends.get(number, position))
            waiting += max(0, newest - position)
            behind += max(0, newest - share.low())
            share.stands(position)
            share.progress.read("sessions", position)
            paused += self._press(at, share)
            if share.lost is not None:
                self._seats.begin_again(number)
        self._metrics.waiting(waiting, behind)
        beginning = len(self._seats) - len(self.shares)
        self._metrics.partitions(len(self.shares) - paused, beginning, paused)

    def _press(self, at: TopicPartition, share: Share) -> bool:
        """Pause where there is no room; the group sees us reading all the same."""
        share.pressed = self._room.problem is not None
        pause = share.pressed or share.judging.room == 0
        (self._consumer.pause if pause else self._consumer.resume)(at)
        return pause

    async def _watch_ends(self) -> None:
        """What waits in partitions that are paused is work that waits, too."""
        while True:
            paused = [at for at in self._consumer.paused() if at.partition in self._seats]
            ends: dict[TopicPartition, int] = {}
            if paused:
                with suppress(KafkaError):  # told by whoever reads; until then the last ends count
                    ends = await self._consumer.end_offsets(paused)
                self._ends |= {at.partition: end for at, end in ends.items()}
            self._ends = {at.partition: self._ends[at.partition] for at in paused if at.partition in self._ends}
            await asyncio.sleep(_ENDS_S)

    # -- who has what -------------------------------------------------------------------------------------------

    async def revoked(self) -> None:
        self._metrics.rebalanced()
        await self._seats.revoked()

    def assigned(self, given: set[int]) -> None:
        self._joins.joined(self._now_ms())
        self._seats.assigned(self._without_added(given))

    def _without_added(self, given: set[int]) -> set[int]:
        """Partitions that were added while we run are left alone: sessions may have moved to them that are open here,
        and their verdicts may have no place yet. Nothing of them is committed, so a worker that starts when the topics
        are equal again reads all of it."""
        count = self._watch.expected["sessions"]
        if added := sorted(number for number in given if number >= count):
            self._watch.poke()
            self._consumer.pause(*(TopicPartition(self._topics.sessions, number) for number in added))
            log.warning("kafka_partitions_added", left_alone=added, at_our_start=count)
        return given.difference(added)

    # -- committing, and the end ----------------------------------------------------------------------------------

    async def _keep_committing(self) -> None:
        while True:
            await asyncio.sleep(_COMMIT_S)
            await self._seats.commit()

    async def stop(self, within_s: float) -> None:
        """Read and close nothing more, let what is being judged be kept, commit, and leave the group."""
        self._stopping = True
        await self._seats.finish(within_s)
        if self._consumer is not None:
            await stop(self._consumer)
        await self._seats.close()

    async def drop(self) -> None:
        """Let go of everything at once: nothing is finished, and nothing is committed."""
        self._stopping = True
        await self._seats.drop()
        await stop(self._consumer)
