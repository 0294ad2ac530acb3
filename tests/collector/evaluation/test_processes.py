"""Real evaluation processes: handed groups, ended, and replaced."""

from __future__ import annotations

import asyncio
import os
import queue
import resource
import signal
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from collector.config import Config
from collector.data_directory import STORE_FILE
from collector.evaluation.child_process import ChildProcess, NotStarted
from collector.evaluation.processes import Processes, _Seat
from collector.evaluation.tally import tally
from collector.evaluation.task import EvaluationLost, Report, Task
from collector.evaluation.wire import Setup
from collector.exporting import Backoff
from collector.rules import RuleFiles
from collector.sessions.book import Claim
from collector.sessions.keys import Kind, Owner
from collector.store.sqlite import SqliteStore
from judge.verdict import NotJudged
from tests.collector.receiving import Receiving, receiving
from tests.collector.sessions.telemetry import span, trace_request

NO_JUDGE = NotJudged("no_judge_configured", "")
BROKEN = RuleFiles({"suite.yaml": "name: shop\ncasez: []\n"}, {})
_WITHIN_S = 60


@dataclass
class Desk:
    half: Receiving
    store: SqliteStore
    setup: Setup

    async def task(self, session: str, number: int) -> Task:
        """A session that has closed."""
        await self.half.ingest.accept("traces", trace_request([span(number, number, session__id=session)]))
        book = self.half.book
        slot = book.index.find(Owner(Kind.SESSION, session).digest)
        assert slot is not None
        claim = book.close(book.index.ref(slot), "idle", 1_800_000_000_000)
        assert isinstance(claim, Claim)
        await self.half.journal.append(*book.take_rows())
        return Task(claim)

    def restarts(self, reason: str) -> float:
        return self.half.value("evaluation_restarts_total", reason=reason)


@asynccontextmanager
async def _desk(directory: Path) -> AsyncIterator[Desk]:
    store = SqliteStore.open(directory / STORE_FILE)
    async with receiving(directory) as half, asyncio.timeout(_WITHIN_S):
        try:
            yield Desk(
                half, store, Setup("evaluation", Config(data_dir=directory), "-", RuleFiles({}, {}), (), NO_JUDGE)
            )
        finally:
            await store.close()


@asynccontextmanager
async def _running(at: Desk, on_death: Callable[[], None] = lambda: None) -> AsyncIterator[Processes]:
    processes = Processes(
        at.setup, at.half.metrics, processes=1, timeout_s=2, on_death=on_death, backoff=Backoff(0.01, 0.1)
    )
    task = asyncio.create_task(processes.run())
    try:
        yield processes
    finally:
        await processes.stop(_WITHIN_S)
        task.cancel()


async def test_a_group_is_kept_and_counted(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at, _running(at) as processes:
        assert processes.problem() is not None
        report = await processes.evaluate([await at.task("ann", 1), await at.task("bob", 2)])
        assert processes.problem() is None
        assert (report.statuses, dict(report.tally.closed)) == (("kept", "kept"), {"idle": 2})
        assert [len(await at.store.session(name)) for name in ("ann", "bob")] == [1, 1]


async def test_a_process_that_is_killed_is_replaced_and_its_end_is_told(tmp_path: Path) -> None:
    deaths: queue.Queue[str] = queue.Queue()
    async with _desk(tmp_path) as at, _running(at, lambda: deaths.put("death")) as processes:
        await processes.evaluate([await at.task("ann", 1)])
        (child,) = processes._children
        os.kill(child.pid, signal.SIGSTOP)
        lost = asyncio.create_task(processes.evaluate([await at.task("bob", 2)]))
        while child.in_hand == 0:  # noqa: ASYNC110 - it is handed out in another task
            await asyncio.sleep(0.01)
        child.kill()
        with pytest.raises(EvaluationLost) as told:
            await lost
        assert (told.value.cause, told.value.culprit) == ("died", None)
        assert (await processes.evaluate([await at.task("eve", 3)])).statuses == ("kept",)
        assert (at.restarts("died"), deaths.get(timeout=_WITHIN_S), deaths.empty()) == (1, "death", True)


async def test_nobody_waits_for_what_is_cleared_up_after_a_death(tmp_path: Path) -> None:
    go = threading.Event()
    async with _desk(tmp_path) as at, _running(at, lambda: _wait_for(go)) as processes:
        await processes.evaluate([await at.task("ann", 1)])
        (child,) = processes._children
        child.kill()
        assert await child.ended == "died"
        assert (await processes.evaluate([await at.task("bob", 2)])).statuses == ("kept",)
        go.set()


def _wait_for(event: threading.Event) -> None:
    assert event.wait(_WITHIN_S)


class _Child(ChildProcess):
    """Ends at whatever it is given, or has it done."""

    in_hand = 0

    def __init__(self, lost: EvaluationLost | None) -> None:
        self._lost = lost

    async def evaluate(self, tasks: Sequence[Task]) -> Report:
        if self._lost is not None:
            raise self._lost
        return Report((), tally(()))


class _Handing(Processes):
    """With one child, that is put there."""

    child: ChildProcess = _Child(None)

    def _running(self) -> list[ChildProcess]:
        return [self.child]

    async def lose(self, times: int, lost: EvaluationLost) -> None:
        """As many processes, each with two groups."""
        for _ in range(times):
            self.child = _Child(lost)
            for _ in range(2):
                with pytest.raises(EvaluationLost):
                    await self.evaluate([])


async def test_processes_that_end_again_and_again_are_told_until_one_gets_something_done(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        processes = _Handing(at.setup, at.half.metrics, processes=1, timeout_s=60)
        usual = processes.problem()
        await processes.lose(2, EvaluationLost("died", 0))
        assert (processes.problem(), at.half.value("evaluation_ends_in_a_row")) == (usual, 2)
        await processes.lose(2, EvaluationLost("timeout", None))
        assert "4 evaluation processes ended one after the other" in (processes.problem() or "")
        assert at.half.value("evaluation_ends_in_a_row") == 4
        processes.child = _Child(None)
        await processes.evaluate([])
        assert (processes.problem(), at.half.value("evaluation_ends_in_a_row")) == (usual, 0)


async def test_a_process_that_was_told_to_end_is_no_trouble(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        processes = _Handing(at.setup, at.half.metrics, processes=1, timeout_s=60)
        await processes.lose(5, EvaluationLost("stopped", None))
        assert at.half.value("evaluation_ends_in_a_row") == 0


async def test_a_process_that_does_not_get_on_is_ended(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at, _running(at) as processes:
        await processes.evaluate([await at.task("ann", 1)])
        (child,) = processes._children
        os.kill(child.pid, signal.SIGSTOP)
        with pytest.raises(EvaluationLost, match="timeout"):
            await processes.evaluate([await at.task("bob", 2)])
        assert at.restarts("timeout") == 1


async def test_other_rules_take_over_and_faulty_ones_do_not(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at, _running(at) as processes:
        await processes.evaluate([await at.task("ann", 1)])
        (before,) = processes._children
        with pytest.raises(NotStarted, match="casez"):
            await processes.replace(replace(at.setup, files=BROKEN))
        assert processes._children == {before}
        await processes.replace(at.setup)
        assert (await before.ended, before.exit_code) == ("stopped", 0)
        assert (await processes.evaluate([await at.task("bob", 2)])).statuses == ("kept",)
        assert [at.restarts(reason) for reason in ("died", "timeout", "not_started")] == [0, 0, 0]


class _SlowToStart(Processes):
    """What is started by the first setup is held up until `go`."""

    def hold_up(self, setup: Setup) -> asyncio.Event:
        self.held, self.go = setup, asyncio.Event()
        return self.go

    async def _start(self, seat: _Seat, setup: Setup) -> ChildProcess:
        child = await super()._start(seat, setup)
        if setup is self.held:
            await self.go.wait()
        return child


async def test_a_process_that_was_starting_when_rules_changed_does_not_bring_the_old_ones_back(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        processes = _SlowToStart(at.setup, at.half.metrics, processes=1, timeout_s=60)
        go = processes.hold_up(at.setup)
        task = asyncio.create_task(processes.run())
        try:
            while not processes._children:  # noqa: ASYNC110 - it is started in another task
                await asyncio.sleep(0.01)
            (old,) = processes._children
            await processes.replace(replace(at.setup))
            (new,) = processes._children - {old}
            go.set()
            assert await old.ended == "stopped"
            assert processes._children == {new}
            assert (await processes.evaluate([await at.task("ann", 1)])).statuses == ("kept",)
        finally:
            await processes.stop(_WITHIN_S)
            task.cancel()


async def test_without_descriptors_a_process_does_not_start_and_says_why(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
        try:
            with pytest.raises(NotStarted, match="cannot be started"):
                await ChildProcess.start(at.setup, timeout_s=60)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)


async def test_a_retired_process_finishes_what_it_has_in_hand(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        child = await ChildProcess.start(at.setup, timeout_s=60)
        group = [await at.task(f"chat-{number}", number) for number in range(1, 20)]
        reports = [asyncio.create_task(child.evaluate([task])) for task in group]
        await asyncio.sleep(0)
        child.retire()
        assert [(await report).statuses for report in reports] == [("kept",)] * len(group)
        assert await child.ended == "stopped"
        with pytest.raises(EvaluationLost):
            await child.evaluate(group[:1])


async def test_what_cannot_start_says_why(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        elsewhere = replace(at.setup, config=Config(data_dir=tmp_path / "missing"))
        with pytest.raises(NotStarted, match="does not exist") as told:
            await ChildProcess.start(elsewhere, timeout_s=60)
        assert told.value.unfit
