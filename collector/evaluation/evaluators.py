"""Where evaluation is done: here, or in processes of its own; to everybody else the two are the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from collector.clock import Clock
from collector.concluding import conclude
from collector.evaluation.child_process import NotStarted
from collector.evaluation.evaluation import Evaluation, Follows
from collector.evaluation.processes import GROUPS_IN_HAND, Processes
from collector.evaluation.task import Report, Task
from collector.evaluation.wire import Setup
from collector.in_force import InForce
from collector.metrics import Metrics
from collector.reading import Reader
from collector.sessions.gathering import Chains
from collector.store.store import Store
from judge.verdict import NotJudged

_WORKERS_HERE = 2  # they take turns at the interpreter lock, but wait for the store together


class CannotChange(Exception):
    """The rules could not be taken up; those before are still in force."""


class Evaluators(Protocol):
    @property
    def workers(self) -> int:
        """Groups that may be out at once."""

    async def evaluate(self, tasks: Sequence[Task]) -> Report:
        """Raises `EvaluationLost`."""

    async def run(self) -> None:
        """For as long as there is something to evaluate."""

    def problem(self) -> str | None:
        """Why nothing is evaluated just now."""

    async def judge_by(self, wanted: InForce) -> None:
        """From the next group on. Raises `CannotChange`."""

    async def stop(self, within_s: float) -> bool:
        """Whether everything handed out was finished in time."""


class Here:
    """In threads of this process."""

    workers = _WORKERS_HERE

    def __init__(
        self,
        now: InForce,
        store: Store,
        journal: Chains,
        clock: Clock,
        *,
        exporters: Sequence[str],
        judge_problem: NotJudged | None,
    ) -> None:
        reader = Reader(journal, clock, judge_problem, now.config.sessions.max_bytes)
        self._evaluation = Evaluation(reader, store, now.rules, following(now), exporters=exporters)

    async def evaluate(self, tasks: Sequence[Task]) -> Report:
        return await self._evaluation.evaluate(tasks)

    async def run(self) -> None:
        await asyncio.Event().wait()

    def problem(self) -> str | None:
        return None

    async def judge_by(self, wanted: InForce) -> None:
        self._evaluation.judge_by(wanted.rules, following(wanted))

    async def stop(self, within_s: float) -> bool:
        return True  # who waits for them cancels them


class Apart:
    """In processes of their own. `inherited` are descriptors that each of them holds; `on_death` is told when one of
    them ended by itself."""

    def __init__(
        self,
        now: InForce,
        metrics: Metrics,
        *,
        exporters: Sequence[str],
        judge_problem: NotJudged | None,
        inherited: Sequence[int],
        on_death: Callable[[], None],
    ) -> None:
        settings = now.config.evaluation
        self._exporters = tuple(exporters)
        self._judge_problem = judge_problem
        self.workers = settings.processes * GROUPS_IN_HAND
        self._processes = Processes(
            self._setup(now),
            metrics,
            processes=settings.processes,
            timeout_s=settings.timeout_seconds,
            inherited=inherited,
            on_death=on_death,
        )

    def _setup(self, now: InForce) -> Setup:
        return Setup("", now.config, now.source, now.files, self._exporters, self._judge_problem)

    async def evaluate(self, tasks: Sequence[Task]) -> Report:
        return await self._processes.evaluate(tasks)

    async def run(self) -> None:
        await self._processes.run()

    def problem(self) -> str | None:
        return self._processes.problem()

    async def judge_by(self, wanted: InForce) -> None:
        try:
            await self._processes.replace(self._setup(wanted))
        except NotStarted as error:
            raise CannotChange(f"an evaluation process with the new rules did not start: {error}") from error

    async def stop(self, within_s: float) -> bool:
        return await self._processes.stop(within_s)


def following(now: InForce) -> Follows:
    """What follows from all verdicts of a closing."""
    return partial(conclude, rules=now.config.composite.rules())
