"""The evaluation processes: as many as are wanted, started again when they end, replaced when rules change."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from collector.evaluation.child_process import ChildProcess, NotStarted
from collector.evaluation.task import EvaluationLost, Report, Task
from collector.evaluation.wire import Setup
from collector.exporting import Backoff
from collector.metrics import Metrics

log = structlog.get_logger(__name__)

GROUPS_IN_HAND = 2
"""A process has its next group at hand when it has finished one."""
_ENDS_TO_TELL = 3
"""Of processes with work in hand, one after the other: until then it may have been one session, see `Judging`."""
_STEADY_S = 60.0
"""A process that lived this long ended for a reason of its own: the next one is not made to wait longer."""


_BACKOFF = Backoff(first_s=0.2, max_s=30.0)


@dataclass(slots=True)
class _Seat:
    """A place for one process at a time. `problem` is why there is none."""

    name: str
    taken: asyncio.Event
    """another process has taken the seat from the one before"""
    child: ChildProcess | None = None
    problem: str | None = "starting"


class Processes:
    """`run` it in a task of its own. `on_death` is called, in a thread, when a process ended that was not told to;
    `inherited` are descriptors that every process holds."""

    def __init__(
        self,
        setup: Setup,
        metrics: Metrics,
        *,
        processes: int,
        timeout_s: float,
        inherited: Sequence[int] = (),
        on_death: Callable[[], None] = lambda: None,
        backoff: Backoff = _BACKOFF,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._setup = setup
        self._metrics = metrics
        self._timeout_s = timeout_s
        self._inherited = inherited
        self._on_death = on_death
        self._deaths = asyncio.Event()
        self._backoff = backoff
        self._chance = chance
        self._seats = [_Seat(f"evaluation-{number}", asyncio.Event()) for number in range(1, processes + 1)]
        self._children: set[ChildProcess] = set()
        """those that have not ended, in a seat or finishing what they had in hand"""
        self._changed = asyncio.Condition()
        self._stopping = False
        self._ends_in_a_row = 0
        self._ended_last: ChildProcess | None = None

    def problem(self) -> str | None:
        """Why nothing is evaluated just now; None when something can be."""
        if self._ends_in_a_row >= _ENDS_TO_TELL:
            return (
                f"{self._ends_in_a_row} evaluation processes ended one after the other with work in hand and none of "
                "it done; what they had waits, and is tried again"
            )
        problems = [seat.problem for seat in self._seats]
        return None if None in problems else f"no evaluation process runs: {problems[0]}"

    async def evaluate(self, tasks: Sequence[Task]) -> Report:
        """By the process with the least in hand; waits for one. Raises `EvaluationLost`."""
        async with self._changed:
            await self._changed.wait_for(self._running)
            child = min(self._running(), key=lambda child: child.in_hand)
        try:
            report = await child.evaluate(tasks)
        except EvaluationLost as lost:
            self._count_end(child, lost)
            raise
        self._ends_in_a_row = 0
        self._metrics.evaluation_ends_in_a_row(0)
        return report

    def _count_end(self, child: ChildProcess, lost: EvaluationLost) -> None:
        """Once for each process, however many groups it had."""
        if lost.cause == "stopped" or child is self._ended_last:
            return
        self._ended_last = child
        self._ends_in_a_row += 1
        self._metrics.evaluation_ends_in_a_row(self._ends_in_a_row)

    def _running(self) -> list[ChildProcess]:
        return [seat.child for seat in self._seats if seat.child is not None and not seat.child.ended.done()]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as beside:
            clearing = beside.create_task(self._clear_up())
            async with asyncio.TaskGroup() as tasks:
                for seat in self._seats:
                    tasks.create_task(self._fill(seat))
            clearing.cancel()

    async def _clear_up(self) -> None:
        """After deaths, and not in the event loop's turn: it may have to wait for the journal's files."""
        while True:
            await self._deaths.wait()
            self._deaths.clear()
            await asyncio.to_thread(self._on_death)

    async def _fill(self, seat: _Seat) -> None:
        """Until all is stopped, have a process in the seat."""
        loop = asyncio.get_running_loop()
        failures = 0
        while not self._stopping:
            began = loop.time()
            if seat.child is None:
                await self._start_anew(seat)
            if seat.child is not None:
                seat.taken.clear()
                await self._ended_or_taken(seat, seat.child)
            if seat.child is None:
                failures = 1 if loop.time() - began > _STEADY_S else failures + 1
                await asyncio.sleep(self._backoff.wait_s(failures, self._chance()))

    async def _start_anew(self, seat: _Seat) -> None:
        setup = self._setup
        try:
            child = await self._start(seat, setup)
        except NotStarted as error:
            seat.problem = str(error)
            self._not_started(seat, error)
            return
        if setup is self._setup:
            await self._take(seat, child)
        else:  # replaced while it started: it would judge by rules that are over
            child.retire()

    def _not_started(self, seat: _Seat, error: NotStarted) -> None:
        self._metrics.evaluation_restarted("not_started")
        log.error("evaluation_not_started", process=seat.name, error=str(error))

    async def _start(self, seat: _Seat, setup: Setup) -> ChildProcess:
        setup = replace(setup, name=seat.name)
        child = await ChildProcess.start(setup, timeout_s=self._timeout_s, inherited=self._inherited)
        self._children.add(child)
        child.ended.add_done_callback(lambda _ended: self._ended(seat, child))
        log.info("evaluation_started", process=seat.name, pid=child.pid)
        if self._stopping:
            child.retire()
        return child

    async def _take(self, seat: _Seat, child: ChildProcess) -> None:
        """Give the process the seat; one that has it finishes what it has in hand."""
        if seat.child is not None:
            seat.child.retire()
        async with self._changed:
            seat.child, seat.problem = child, None
            self._changed.notify_all()
        seat.taken.set()

    async def _ended_or_taken(self, seat: _Seat, child: ChildProcess) -> None:
        taken = asyncio.create_task(seat.taken.wait())
        either: set[asyncio.Future[Any]] = {child.ended, taken}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            taken.cancel()

    def _ended(self, seat: _Seat, child: ChildProcess) -> None:
        self._children.discard(child)
        ending = child.ended.result()
        if seat.child is child:
            seat.child, seat.problem = None, f"{seat.name}: {ending}"
        if ending != "stopped" and not self._stopping:
            self._metrics.evaluation_restarted(ending)
            log.error("evaluation_lost", process=seat.name, pid=child.pid, reason=ending, code=child.exit_code)
            self._deaths.set()

    async def replace(self, setup: Setup) -> None:
        """Judge by another setup: new processes take the seats, and the old ones end when they have finished what
        they have in hand. Raises `NotStarted`, and all stays as it was, when the first of them cannot work by it."""
        first, *others = self._seats
        child = await self._start(first, setup)
        self._setup = setup
        await self._take(first, child)
        for seat in others:
            try:
                await self._take(seat, await self._start(seat, setup))
            except NotStarted as error:  # the setup is good, as the first shows: the usual way will fill the seat
                self._not_started(seat, error)
                if seat.child is not None:
                    seat.child.retire()

    async def stop(self, within_s: float) -> bool:
        """Let every process finish what it has in hand, and end those that have not by then; whether none was."""
        self._stopping = True
        for child in self._children:
            child.retire()
        if not self._children:
            return True
        endings = [child.ended for child in self._children]
        _, late = await asyncio.wait(endings, timeout=within_s)
        for child in self._children:
            child.kill()
        await asyncio.wait(endings)
        return not late
