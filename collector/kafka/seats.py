"""The partitions that a worker has: each is begun, has its sessions closed, is committed, and is given up.

One that comes back after a rebalance is gone on with; one that is new is begun from the offset that its last owner
committed, which is that of the oldest message that any open session needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from collector.errors import StoreUnavailable
from collector.kafka.beginning import Beginning
from collector.kafka.errors import KafkaProblem
from collector.kafka.settings import KafkaSettings
from collector.kafka.share import Share
from collector.kafka.worker_metrics import WorkerMetrics

log = structlog.get_logger(__name__)

_AGAIN_S = 2.0
_LET_GO_S = 30.0

Ended = Callable[[asyncio.Task[None]], None]


@dataclass(slots=True)
class _Seat:
    """A partition that is ours. `share` is None while it is being begun."""

    share: Share | None = None
    task: asyncio.Task[None] | None = None
    committed: int | None = None
    problem: str | None = None
    """Why it cannot be begun just now."""


@dataclass(slots=True)
class _Tasks:
    ended: Ended
    open: set[asyncio.Task[None]] = field(default_factory=set)

    def run(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self.open.add(task)
        task.add_done_callback(self.open.discard)
        task.add_done_callback(self.ended)
        return task

    async def end(self) -> None:
        tasks = [*self.open]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


class Seats:
    """`assigned` and `revoked` as the group says, `commit` now and then; at the end `finish`, then `close` when the
    group is left. `ended` is told of every task that ends."""

    def __init__(self, settings: KafkaSettings, beginning: Beginning, metrics: WorkerMetrics, ended: Ended) -> None:
        self.consumer: Any = None
        """The member of the group; in place before it is started."""
        self._topic = settings.topics.sessions
        self._heartbeat_s = settings.heartbeat_seconds
        self._beginning = beginning
        self._metrics = metrics
        self._tasks = _Tasks(ended)
        self._seats: dict[int, _Seat] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._seats

    def __len__(self) -> int:
        return len(self._seats)

    @property
    def shares(self) -> dict[int, Share]:
        """The partitions that have begun, by their numbers."""
        return {number: seat.share for number, seat in self._seats.items() if seat.share is not None}

    def held(self, number: int) -> Share | None:
        """The partition, if it has begun and its messages may be taken."""
        seat = self._seats.get(number)
        return seat.share if seat is not None and seat.share is not None and seat.share.held else None

    def problem(self) -> str | None:
        seats = self._seats.values()
        lost = next((seat.share.lost for seat in seats if seat.share and seat.share.lost), None)
        return lost or next((seat.problem for seat in seats if seat.problem is not None), None)

    def _at(self, number: int) -> TopicPartition:
        return TopicPartition(self._topic, number)

    # -- coming and going -----------------------------------------------------------------------------------------

    async def revoked(self) -> None:
        """Stop at once; another may have our partitions in a moment. What we know of them stays: they may be ours."""
        for share in self.shares.values():
            share.held = False
        await self._commit(self.shares)

    def assigned(self, ours: set[int]) -> None:
        for number in self._seats.keys() - ours:
            self._leave(number)
        for number in sorted(ours):
            seat = self._seats.setdefault(number, _Seat())
            # Read only when somebody has looked whether there is room: a rebalance forgets what was paused.
            self.consumer.pause(self._at(number))
            if seat.share is not None and seat.share.lost is None:
                # Nobody else can have closed anything unnoticed: our next closing would be refused then.
                self.consumer.seek(self._at(number), seat.share.offsets.next_offset)
                seat.share.held = True
                self._metrics.took("resumed")
            else:
                self.begin_again(number)
        log.info("kafka_partitions", ours=sorted(ours))

    def begin_again(self, number: int) -> None:
        """With nothing but what is in Kafka. What there was of the partition goes."""
        seat = self._seats[number]
        wait_s = 0.0
        if seat.share is not None:
            wait_s = self._heartbeat_s  # by then we know whether it is ours at all
            self._metrics.share_lost()
            with suppress(IllegalStateError):
                self.consumer.pause(self._at(number))
            self._leave(number)
            seat = self._seats[number] = _Seat()
        if seat.task is None or seat.task.done():
            seat.task = self._tasks.run(f"beginning partition {number}", self._begin(number, seat, wait_s))

    async def _begin(self, number: int, seat: _Seat, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        while self._seats.get(number) is seat:
            try:
                share = await self._beginning.open(self.consumer, number)
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
        try:
            self.consumer.seek(self._at(number), share.offsets.next_offset)
            self.consumer.resume(self._at(number))
        except IllegalStateError:  # a rebalance is under way: it is ours again, or not, in a moment
            share.held = False
        seat.share, seat.problem = share, None
        seat.task = self._tasks.run(f"closing sessions of partition {number}", share.run())
        self._metrics.took("rebuilt")
        log.info("kafka_partition_begun", partition=number, offset=share.offsets.next_offset)

    def _leave(self, number: int) -> None:
        seat = self._seats.pop(number)
        if seat.share is not None:
            seat.share.held = False
            self._tasks.run(f"leaving partition {number}", self._end(seat, _LET_GO_S))
        elif seat.task is not None:
            seat.task.cancel()

    async def _end(self, seat: _Seat, within_s: float) -> None:
        assert seat.share is not None
        await seat.share.end(within_s)
        if seat.task is not None:
            seat.task.cancel()
            await asyncio.wait({seat.task})
        await seat.share.close()

    # -- committing, and the end ----------------------------------------------------------------------------------

    async def commit(self) -> None:
        await self._commit({number: share for number, share in self.shares.items() if share.held})

    async def _commit(self, shares: dict[int, Share]) -> None:
        """The low watermarks, where they have risen."""
        lows = {number: share.low() for number, share in shares.items() if share.lost is None}
        news = {number: low for number, low in lows.items() if self._seats[number].committed != low}
        if not news:
            return
        try:
            await self.consumer.commit({self._at(number): low for number, low in news.items()})
        except (KafkaError, IllegalStateError) as error:  # costs whoever comes next some reading again
            log.warning("kafka_not_committed", error=f"{type(error).__name__}: {error}")
            return
        for number, low in news.items():
            if number in self._seats:
                self._seats[number].committed = low

    async def finish(self, within_s: float) -> None:
        """Take and close nothing more, let what is being judged be kept, and commit."""
        shares = self.shares
        for share in shares.values():
            share.held = False
        await asyncio.gather(*(share.end(within_s) for share in shares.values()))
        if self.consumer is not None:
            await self._commit(shares)

    async def close(self) -> None:
        seats = [seat for seat in self._seats.values() if seat.share is not None]
        self._seats = {}
        await asyncio.gather(*(self._end(seat, 0) for seat in seats))
        await self._tasks.end()

    async def drop(self) -> None:
        """Let go of everything at once: nothing is finished, and nothing is committed."""
        await self._tasks.end()
        await asyncio.gather(*(share.close() for share in self.shares.values()))
        self._seats = {}
