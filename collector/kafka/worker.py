"""A worker: reads its partitions of the topic of sessions, and has their sessions closed, judged and told of.

Partitions come and go with every rebalance. One that comes back is gone on with; one that is new is begun from the
offset that its last owner committed, which is that of the oldest message that any open session needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from collector.errors import StoreUnavailable
from collector.kafka.beginning import Beginning
from collector.kafka.clients import KafkaClients, read_fault, stop
from collector.kafka.errors import KafkaProblem
from collector.kafka.joins import Joins
from collector.kafka.places import clear
from collector.kafka.polling import poll
from collector.kafka.share import Means, Share
from collector.kafka.topics import TopicWatch

log = structlog.get_logger(__name__)

_POLL_MS, _MOST_MESSAGES = 200, 2_000
_COMMIT_S, _AGAIN_S, _ROOM_S, _ENDS_S = 1.0, 2.0, 1.0, 2.0
_LET_GO_S = 30.0
_READ_AGAIN_S = 0.5


@dataclass(slots=True)
class _Seat:
    """A partition that is ours. `share` is None while it is being begun."""

    share: Share | None = None
    task: asyncio.Task[None] | None = None
    committed: int | None = None
    problem: str | None = None
    """Why it cannot be begun just now."""


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


@dataclass(slots=True)
class _Tasks:
    ended: Callable[[asyncio.Task[None]], None]
    open: set[asyncio.Task[None]] = field(default_factory=set)

    def run(self, name: str, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work, name=name)
        self.open.add(task)
        task.add_done_callback(self.open.discard)
        task.add_done_callback(self.ended)
        return task


class Worker:
    """`start`, then `run` in a task of its own, then `stop`. `ended` is told of every task that ends."""

    def __init__(
        self,
        clients: KafkaClients,
        watch: TopicWatch,
        means: Means,
        bounds: Bounds,
        ended: Callable[[asyncio.Task[None]], None] = lambda task: None,
    ) -> None:
        self._clients = clients
        self._topics = clients.settings.topics
        self._watch = watch
        self._means = means
        self._bounds = bounds
        self._metrics = means.metrics.kafka.worker
        self._tasks = _Tasks(ended)
        self._seats: dict[int, _Seat] = {}
        self._beginning = Beginning(clients, means, bounds.message_bytes)
        self._joins = Joins(clients.settings.instance_id)
        self._no_room: str | None = None
        self._not_read: str | None = None
        self._ends: dict[int, int] = {}
        """Of partitions that are paused, of which reading tells nothing."""
        self._stopping = False
        self._consumer: Any = None

    async def start(self) -> None:
        """Join the group. Raises `KafkaNotReached` or `StoreUnavailable`."""
        clear(self._means.directory)
        await self._clients.started(self._make)

    def _make(self) -> Any:
        """In place at once: starting it hands out partitions."""
        self._consumer = self._clients.consumer(self._clients.settings.worker_group, sticky=True)
        self._consumer.subscribe([self._topics.sessions], listener=_Listener(self))
        return self._consumer

    def problem(self) -> str | None:
        """Why nothing can be worked on just now, for the ready probe; None when all is well."""
        if self._stopping:
            return "stopping"
        seats = self._seats.values()
        lost = next((seat.share.lost for seat in seats if seat.share and seat.share.lost), None)
        not_begun = next((seat.problem for seat in seats if seat.problem is not None), None)
        joins = self._joins.problem(self._now_ms())
        return self._watch.problem or self._not_read or self._no_room or joins or lost or not_begun

    def _now_ms(self) -> int:
        return self._means.clock.steady_ns() // 1_000_000

    @property
    def shares(self) -> dict[int, Share]:
        """The partitions that are ours and have begun, by their numbers."""
        return {number: seat.share for number, seat in self._seats.items() if seat.share is not None}

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
            tasks.create_task(self._watch_room())

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
        share = self._held(at.partition)
        if share is None or share.lost is not None:
            return  # read again by whoever has it next
        with suppress(StoreUnavailable):  # the share says so in `lost`
            await share.take(messages)

    def _held(self, partition: int) -> Share | None:
        seat = self._seats.get(partition)
        return seat.share if seat is not None and seat.share is not None and seat.share.held else None

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
                newest = max(end, self._ends.get(number, 0))
                waiting += max(0, newest - position)
                behind += max(0, newest - share.low())
            share.stands(position)
            share.progress.read("sessions", position)
            paused += self._press(at, share)
            if share.lost is not None:
                self._begin_again(number)
        self._metrics.waiting(waiting, behind)
        beginning = len(self._seats) - len(self.shares)
        self._metrics.partitions(len(self.shares) - paused, beginning, paused)

    def _press(self, at: TopicPartition, share: Share) -> bool:
        """Pause where there is no room; the group sees us reading all the same."""
        share.pressed = self._no_room is not None
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

    async def _watch_room(self) -> None:
        while True:
            try:
                room = await asyncio.to_thread(self._room)
            except OSError as error:
                room = f"the journals' disk cannot be read: {error}"
            if room != self._no_room:
                log.warning("journal_room", problem=room or "none any more")
            self._no_room = room
            await asyncio.sleep(_ROOM_S)

    def _room(self) -> str | None:
        journals = [share.journal for share in self.shares.values()]
        size = sum(journal.size() for journal in journals)
        left = min((journal.room_bytes() for journal in journals), default=None)
        if left is not None:
            self._means.metrics.journal_room(min(left, self._bounds.journal_bytes - size))
        if size > self._bounds.journal_bytes:
            most = self._bounds.journal_bytes >> 20
            return f"the journals have grown to {size >> 20} MiB, {most} MiB allowed (journal.max_bytes)"
        return next((problem for journal in journals if (problem := journal.room()) is not None), None)

    # -- who has what -------------------------------------------------------------------------------------------

    async def revoked(self) -> None:
        """Stop at once; another may have our partitions in a moment. What we know of them stays: they may be ours."""
        self._metrics.rebalanced()
        for share in self.shares.values():
            share.held = False
        await self._commit(self.shares)

    def assigned(self, given: set[int]) -> None:
        self._joins.joined(self._now_ms())
        ours = self._without_added(given)
        for number in self._seats.keys() - ours:
            self._leave(number)
        for number in sorted(ours):
            at = TopicPartition(self._topics.sessions, number)
            seat = self._seats.setdefault(number, _Seat())
            if seat.share is not None and seat.share.lost is None:
                # Nobody else can have closed anything unnoticed: our next closing would be refused then.
                self._consumer.seek(at, seat.share.offsets.next_offset)
                seat.share.held = True
                self._metrics.took("resumed")
            else:
                self._consumer.pause(at)
                self._begin_again(number)
        log.info("kafka_partitions", ours=sorted(ours))

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

    def _leave(self, number: int) -> None:
        seat = self._seats.pop(number)
        if seat.share is not None:
            seat.share.held = False
            self._tasks.run(f"leaving partition {number}", self._end(seat))
        elif seat.task is not None:
            seat.task.cancel()

    async def _end(self, seat: _Seat, within_s: float = _LET_GO_S) -> None:
        assert seat.share is not None
        await seat.share.end(within_s)
        if seat.task is not None:
            seat.task.cancel()
            await asyncio.wait({seat.task})
        await seat.share.close()

    def _begin_again(self, number: int) -> None:
        """With nothing but what is in Kafka. What there was of the partition goes."""
        seat = self._seats[number]
        wait_s = 0.0
        if seat.share is not None:
            wait_s = self._clients.settings.heartbeat_seconds  # by then we know whether it is ours at all
            self._metrics.share_lost()
            with suppress(IllegalStateError):
                self._consumer.pause(TopicPartition(self._topics.sessions, number))
            self._leave(number)
            seat = self._seats[number] = _Seat()
        if seat.task is None or seat.task.done():
            seat.task = self._tasks.run(f"beginning partition {number}", self._begin(number, seat, wait_s))

    async def _begin(self, number: int, seat: _Seat, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        while self._seats.get(number) is seat:
            try:
                share = await self._beginning.open(self._consumer, number)
            except (KafkaError, KafkaProblem, StoreUnavailable) as error:
                seat.problem = f"partition {number} cannot be begun: {type(error).__name__}: {error}"
                log.warning("kafka_partition_not_begun", error=seat.problem)
                await asyncio.sleep(_AGAIN_S)
                continue
            if self._seats.get(number) is not seat:
                await share.close()
                return
            self._go(number, seat, share)
            return

    def _go(self, number: int, seat: _Seat, share: Share) -> None:
        at = TopicPartition(self._topics.sessions, number)
        try:
            self._consumer.seek(at, share.offsets.next_offset)
            self._consumer.resume(at)
        except IllegalStateError:  # a rebalance is under way: it is ours again, or not, in a moment
            share.held = False
        seat.share, seat.problem = share, None
        seat.task = self._tasks.run(f"closing sessions of partition {number}", share.run())
        self._metrics.took("rebuilt")
        log.info("kafka_partition_begun", partition=number, offset=share.offsets.next_offset)

    # -- committing -----------------------------------------------------------------------------------------------

    async def _keep_committing(self) -> None:
        while True:
            await asyncio.sleep(_COMMIT_S)
            await self._commit({number: share for number, share in self.shares.items() if share.held})

    async def _commit(self, shares: dict[int, Share]) -> None:
        """The low watermarks, where they have risen."""
        lows = {number: share.low() for number, share in shares.items() if share.lost is None}
        news = {number: low for number, low in lows.items() if self._seats[number].committed != low}
        if not news:
            return
        try:
            await self._consumer.commit(
                {TopicPartition(self._topics.sessions, number): low for number, low in news.items()}
            )
        except (KafkaError, IllegalStateError) as error:  # costs whoever comes next some reading again
            log.warning("kafka_not_committed", error=f"{type(error).__name__}: {error}")
            return
        for number, low in news.items():
            if number in self._seats:
                self._seats[number].committed = low

    async def stop(self, within_s: float) -> None:
        """Read and close nothing more, let what is being judged be kept, commit, and leave the group."""
        self._stopping = True
        seats = [seat for seat in self._seats.values() if seat.share is not None]
        shares = self.shares
        for share in shares.values():
            share.held = False
        await asyncio.gather(*(share.end(within_s) for share in shares.values()))
        if self._consumer is not None:
            await self._commit(shares)
            await stop(self._consumer)
        self._seats = {}
        await asyncio.gather(*(self._end(seat, 0) for seat in seats))
        await self._end_tasks()

    async def drop(self) -> None:
        """Let go of everything at once: nothing is finished, and nothing is committed."""
        self._stopping = True
        await self._end_tasks()
        await stop(self._consumer)
        for share in self.shares.values():
            await share.close()
        self._seats = {}

    async def _end_tasks(self) -> None:
        tasks = [*self._tasks.open]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
