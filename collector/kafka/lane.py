"""One partition of telemetry in the hands of a router: taken over, worked on turn by turn, handed on.

Whatever goes wrong, the lane starts over from what Kafka holds: a new producer with the same transactional id ends what
the former had begun, and makes it harmless.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, ProducerFenced

from collector.kafka.errors import KafkaProblem
from collector.kafka.inbox import Inbox, Record
from collector.kafka.lane_work import LaneParts, LaneWork
from collector.kafka.takeover import places_of, take_over
from collector.kafka.turn_writing import TurnWriting

log = structlog.get_logger(__name__)

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 15.0
_TICK_S = 0.5  # until another look at what has waited long enough, where nothing comes


class Lane:
    """`start` it, and give it messages while it `wants` them; `hold` it while partitions change hands."""

    def __init__(self, number: int, parts: LaneParts, seek: Callable[[TopicPartition, int], None]) -> None:
        """`seek` makes the consumer go on at an offset of a partition."""
        self.number = number
        self.partitions = places_of(parts.clients, number)[:2]
        self.problem: str | None = None
        self._parts = parts
        self._settings = parts.clients.settings.router
        self._seek = seek
        self._inbox = Inbox()
        self._came = asyncio.Event()
        self._held = False
        self._go = asyncio.Event()
        self._go.set()
        self._idle = asyncio.Event()  # between two turns
        self._idle.set()
        self._wait_s = _FIRST_WAIT_S
        self._writing: TurnWriting | None = None
        self._task: asyncio.Task[None] | None = None
        self.work: LaneWork | None = None

    # -- what comes in --------------------------------------------------------------------------------------------

    @property
    def wants(self) -> bool:
        return self.work is not None and not self._held and self._inbox.size < 2 * self._settings.transaction_bytes

    def offer(self, records: Iterable[Record]) -> None:
        """Messages just read. What comes before the lane is ready, or while it is held, is read again later: it then
        tells the consumer where to go on."""
        if self.work is not None and not self._held:
            self._inbox.put(records)
            self._came.set()

    def stands(self, topic: str, position: int, end: int, heard: int) -> None:
        """How far the consumer has read a topic of this partition, and where that ends; see `Progress.seen`."""
        if self.work is not None and not self._held:
            self._inbox.reached(topic, position)
            self.work.progress.seen(topic, end, heard, self._parts.now_ms())

    @property
    def waiting(self) -> int:
        """Messages that were read and are not worked on."""
        return len(self._inbox)

    # -- changing hands -------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"partition {self.number}")

    async def hold(self, within_s: float) -> bool:
        """Begin nothing new, and wait until the turn under way has ended. False when it did not in time."""
        self._held = True
        self._go.clear()
        self._inbox.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._idle.wait()
                return True
        return False

    def go_on(self) -> None:
        """The partition is still ours: nobody else had it meanwhile, or the next turn fails."""
        if self.work is not None:
            self._seek_to(self.work)
        self._held = False
        self._go.set()

    async def close(self) -> None:
        """Whatever it is at is given up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._give_up()

    async def _give_up(self) -> None:
        self.work = None
        self._inbox.clear()
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing.stop()

    # -- turns ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            try:
                await self._take_over()
                while True:
                    await self._until_there_is_work()
                    await self._turn()
            except (KafkaError, KafkaProblem, TimeoutError) as error:
                self._tell(error)
            except Exception as error:  # a fault, ours or the client library's: other partitions go on
                log.exception("partition_failed", partition=self.number)
                self.problem = f"partition {self.number}: {type(error).__name__}: {error}"
            self._parts.metrics.router.started_over()
            await self._give_up()
            await asyncio.sleep(self._wait_s)
            self._wait_s = min(_LONGEST_WAIT_S, self._wait_s * 2)

    def _tell(self, error: Exception) -> None:
        if isinstance(error, ProducerFenced):
            self.problem = f"partition {self.number}: another router has it too"
            log.info("partition_taken_by_another", partition=self.number)
            return
        self.problem = f"partition {self.number}: {type(error).__name__}: {error}"
        log.warning("partition_starts_over", partition=self.number, error=self.problem)

    async def _take_over(self) -> None:
        parts = self._parts
        self._writing = TurnWriting(parts.clients, parts.layout, self.number)
        await self._writing.start()
        renew_ms = round(self._settings.renew_seconds * 1000)
        estate = await take_over(parts.clients, self.number, parts.rules.patience, renew_ms, parts.now_ms)
        parts.metrics.router.taken_over(estate.skipped, estate.unreadable)
        work = LaneWork(self.number, parts, estate, self._writing)
        while self._held:
            await self._go.wait()
        self._seek_to(work)
        self.work = work
        self.problem = None
        log.info("partition_taken_over", partition=self.number, traces=len(estate.traces), skipped=estate.skipped)

    def _seek_to(self, work: LaneWork) -> None:
        for partition in self.partitions:
            self._seek(partition, work.next[partition.topic])

    async def _until_there_is_work(self) -> None:
        """As much as one turn takes, or something and time to do it, or time to look at what waits."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_TICK_S):
                while not self._inbox:
                    self._came.clear()
                    await self._came.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.transaction_seconds):
                while self._inbox.size < self._settings.transaction_bytes:
                    self._came.clear()
                    await self._came.wait()
        while self._held:
            await self._go.wait()

    async def _turn(self) -> None:
        work = self.work
        assert work is not None, "a lane is taken over before its first turn"
        if self._parts.held_up() is not None:
            return
        self._idle.clear()
        try:
            await work.turn(self._inbox)
        finally:
            self._idle.set()
        self._wait_s = _FIRST_WAIT_S
