"""Every closing is kept once: judged, told to be unreadable, or waiting for a store that is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from collector.closing import Closing
from collector.concluding import conclude
from collector.errors import StoreUnavailable
from collector.evaluation.evaluation import Evaluation
from collector.evaluation.task import Evaluating, EvaluationLost, Report, Task
from collector.judging import Judging
from collector.reading import Reader, Rules
from collector.sampling import Keep, SamplingRule, SamplingRules
from collector.sessions.book import Claim, Policy
from collector.sessions.keys import Kind, Owner
from collector.store.finishing import Fate, Finishing
from collector.store.rows import UNREADABLE
from collector.store.sqlite import SqliteStore
from collector.store.store import SessionFilter, VerdictFilter
from judge.catalog import build
from judge.suites import Match
from judge.verdict import NotJudged
from tests.collector.receiving import Receiving, receiving
from tests.collector.sessions.desk import NAMES
from tests.collector.sessions.telemetry import span, trace_request
from tests.fakes.clock import FakeClock

POLICY = Policy(idle_ms=10_000, settle_ms=0, late_window_ms=0)
RULES = Rules(build(), (), NAMES)
NO_JUDGE = NotJudged("no_judge_configured", "")


class PickyStore(SqliteStore):
    """Cannot keep the session `odd`, as a bug might have it; and nothing at all for the first `away` times."""

    away = 0

    async def finish_all(self, closings: Sequence[Finishing], exporters: Sequence[str]) -> list[Fate]:
        if self.away:
            self.away -= 1
            raise StoreUnavailable("the database is away")
        if any(one.session["session_id"] == "odd" and one.session["harness"] != UNREADABLE for one in closings):
            raise KeyError("odd")
        return await super().finish_all(closings, exporters)


class Mortal:
    """Evaluates as the product does in one process, and ends the group's process first whenever `ends` says so."""

    def __init__(self, evaluating: Evaluating) -> None:
        self._evaluating = evaluating
        self.ends: Callable[[Sequence[Task]], EvaluationLost | None] = lambda _tasks: None
        self.groups: list[list[Task]] = []
        self.begun, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.may_go_on.set()

    async def evaluate(self, tasks: Sequence[Task]) -> Report:
        self.groups.append(list(tasks))
        self.begun.set()
        await self.may_go_on.wait()
        if (lost := self.ends(tasks)) is not None:
            raise lost
        return await self._evaluating.evaluate(tasks)


@dataclass
class Desk:
    half: Receiving
    clock: FakeClock
    store: PickyStore
    judging: Judging
    closing: Closing
    evaluation: Evaluation
    evaluating: Mortal

    async def send(self, session: str, number: int = 1) -> None:
        await self.half.ingest.accept("traces", trace_request([span(number, number, session__id=session)]))

    async def close_all(self) -> None:
        """Let every session become idle, and wait until all of them are kept."""
        self.clock.advance(11)
        await self.closing.tick()
        await self.finish()

    async def claim(self, session: str, kind: Kind = Kind.SESSION) -> Claim:
        """The closing of a session that has telemetry, not handed on."""
        slot = self.half.book.index.find(Owner(kind, session).digest)
        assert slot is not None
        claim = self.half.book.close(self.half.book.index.ref(slot), "idle", self.clock.now_ns() // 1_000_000)
        assert isinstance(claim, Claim)
        await self.half.journal.append(*self.half.book.take_rows())
        return claim

    async def finish(self) -> None:
        async with asyncio.timeout(20):
            await self.judging.drained()

    async def notes(self) -> dict[str, str]:
        return {one.ref.session_id: one.note for one in await self.store.sessions(SessionFilter())}


@asynccontextmanager
async def desk(
    directory: Path, policy: Policy = POLICY, max_waiting: int = 100, workers: int = 1
) -> AsyncIterator[Desk]:
    clock = FakeClock()
    store = PickyStore.open(directory / "verdicts.sqlite3")
    assert isinstance(store, PickyStore)
    async with receiving(directory, policy=policy, clock=clock) as half:
        reader = Reader(half.journal, clock, NO_JUDGE)
        evaluation = Evaluation(reader, store, RULES, conclude, exporters=())
        evaluating = Mortal(evaluation)
        judging = Judging(
            half.book,
            half.journal,
            store,
            evaluating,
            clock,
            half.metrics,
            workers=1,
            max_waiting=max_waiting,
            on_finished=lambda: None,
            retry_s=0.01,
        )
        running = [asyncio.create_task(judging.run()) for _ in range(workers)]
        try:
            closing = Closing(half.book, half.journal, judging, clock, half.metrics)
            yield Desk(half, clock, store, judging, closing, evaluation, evaluating)
            assert not any(worker.done() for worker in running)
        finally:
            for worker in running:
                worker.cancel()
            await store.close()


async def test_a_closed_session_is_kept_and_its_closing_done(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.send("ann")
        await at.close_all()
        assert await at.notes() == {"ann": ""}
        assert at.judging.waiting == 0
        assert at.half.book.recover(at.half.journal.entries(), at.half.journal.last_row(), 0) == []


async def test_nothing_that_waits_is_handed_out_once_it_was_let_go(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        first, second = asyncio.Event(), asyncio.Event()
        at.evaluating.begun, at.evaluating.may_go_on = first, second
        await at.send("out")
        at.judging.add([await at.claim("out")])
        await first.wait()
        await at.send("waiting", 2)
        at.judging.add([await at.claim("waiting")])
        at.judging.let_go()
        assert at.judging.waiting == 1  # what is out is finished
        second.set()
        await at.finish()
        assert await at.notes() == {"out": ""}


async def test_what_was_let_go_can_be_added_again(tmp_path: Path) -> None:
    async with desk(tmp_path, replace(POLICY, late_window_ms=60_000), workers=0) as at:
        await at.half.ingest.accept("traces", _answer(1, 1))
        at.clock.advance(11)
        await at.closing.tick()
        await at.half.ingest.accept("traces", _answer(1, 2, "ann"))
        ann = await at.claim("ann")
        at.judging.add([ann])
        at.judging.let_go()
        assert at.judging.waiting == 0
        at.judging.add([ann])
        worker = asyncio.create_task(at.judging.run())
        await at.finish()
        worker.cancel()
        assert "ann" in await at.notes()


async def test_of_what_is_sampled_out_at_closing_nothing_is_kept_and_its_closing_is_done(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        only_errors = SamplingRules(0.0, keep=Keep(("errors",)))
        at.evaluation.judge_by(Rules(build(), (), NAMES, only_errors), conclude)
        await at.send("ann")
        await at.close_all()
        assert await at.notes() == {}
        assert at.half.value("sessions_discarded_total", reason="sampled_out") == 1
        assert at.half.book.recover(at.half.journal.entries(), at.half.journal.last_row(), 0) == []


async def test_a_session_says_which_rule_kept_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        named = (SamplingRule("bank", Match(service=("bank",)), 0.0), SamplingRule("rest", Match(), 1.0))
        at.evaluation.judge_by(Rules(build(), (), NAMES, SamplingRules(0.0, named)), conclude)
        await at.send("ann")
        await at.close_all()
        assert await at.notes() == {"ann": "sampled by sampling.rules.rest"}


async def test_a_session_that_cannot_be_kept_is_told_and_the_next_ones_are_judged(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.send("odd", 1)
        await at.send("ann", 2)
        await at.close_all()
        notes = await at.notes()
        assert "KeyError: 'odd'" in notes["odd"]
        assert notes["ann"] == ""
        assert at.half.value("sessions_closed_total", reason="unreadable") == 1


@pytest.mark.parametrize("heads", [(), (10**6,)], ids=["of nothing", "of rows that are gone"])
async def test_a_session_that_cannot_be_read_is_told_and_the_next_ones_are_judged(
    tmp_path: Path, heads: tuple[int, ...]
) -> None:
    async with desk(tmp_path) as at:
        await at.send("bob", 1)
        await at.send("ann", 2)
        claim = await at.claim("bob")
        at.judging.add([replace(claim, heads=heads)])
        await at.close_all()
        notes = await at.notes()
        assert "could not be read" in notes.pop(f"unreadable:{claim.digest.hex()}")
        assert notes == {"ann": ""}


async def test_a_journal_that_is_away_costs_no_session_its_verdicts(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.send("ann")
        claim = await at.claim("ann")
        (tmp_path / "journal").rename(tmp_path / "elsewhere")
        with pytest.raises(OSError, match="journal"):
            at.half.journal.reopen()
        with capture_logs() as told:
            at.judging.add([claim])
            async with asyncio.timeout(20):
                while not told:  # noqa: ASYNC110 - it tries on by itself, and tells only the log
                    await asyncio.sleep(0.01)
        assert told[0]["event"] == "store_unavailable"
        (tmp_path / "elsewhere").rename(tmp_path / "journal")
        at.half.journal.reopen()
        await at.finish()
        assert await at.notes() == {"ann": ""}


async def test_a_store_that_is_away_is_waited_for(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.store.away = 3
        await at.send("ann")
        await at.close_all()
        assert (await at.notes(), at.store.away) == ({"ann": ""}, 0)


async def test_a_session_is_judged_though_its_neighbours_are_gone(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.send("ann")
        at.judging.add([replace(await at.claim("ann"), neighbours=(10**6,))])
        await at.finish()
        note = (await at.notes())["ann"]
        assert "forgotten: sessions that shared its traces (1)" in note
        assert at.half.value("sessions_closed_total", reason="idle") == 1


async def test_the_same_closing_handed_on_twice_is_kept_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.send("ann")
        claim = await at.claim("ann")
        at.judging.add([claim, claim])
        await at.finish()
        assert len(await at.store.session("ann")) == 1
        assert at.half.value("sessions_closed_total", reason="idle") == 1


async def test_sessions_beyond_the_most_that_may_wait_stay_open_until_there_is_room(tmp_path: Path) -> None:
    async with desk(tmp_path, max_waiting=2, workers=0) as at:
        for number in range(1, 6):
            await at.send(f"chat-{number}", number)
        at.clock.advance(11)
        await at.closing.tick()
        assert (at.judging.waiting, at.half.book.open_sessions()) == (2, 3)
        at.clock.advance(30)
        await at.closing.tick()
        assert (at.judging.waiting, at.judging.oldest_s()) == (2, 30)
        worker = asyncio.create_task(at.judging.run())
        while at.half.book.open_sessions() or at.judging.waiting:
            await at.finish()
            at.clock.advance(2)
            await at.closing.tick()
        worker.cancel()
        assert set(await at.notes()) == {f"chat-{number}" for number in range(1, 6)}
        assert at.judging.oldest_s() == 0


async def test_closing_has_caught_up_only_when_all_that_is_due_is_closed(tmp_path: Path) -> None:
    async with desk(tmp_path, max_waiting=3, workers=0) as at:
        await at.closing.tick()
        began = at.half.value("closing_caught_up_timestamp_seconds")
        assert began == at.clock.now_ns() / 1e9
        for number in range(1, 5):
            await at.send(f"chat-{number}", number)
        at.clock.advance(11)
        await at.closing.tick()
        assert at.half.book.open_sessions() == 1
        assert at.half.value("closing_caught_up_timestamp_seconds") == began
        worker = asyncio.create_task(at.judging.run())
        await at.finish()
        await at.closing.tick()
        await at.finish()
        worker.cancel()
        assert at.half.value("closing_caught_up_timestamp_seconds") == began + 11


async def test_however_many_sessions_are_looked_at_too_early_one_that_is_due_is_closed(tmp_path: Path) -> None:
    async with desk(tmp_path, workers=0) as at:
        busy = trace_request([span(number, number, session__id=f"busy {number}") for number in range(1, 6_001)])
        await at.half.ingest.accept("traces", busy)
        await at.send("idle", 6_001)
        at.clock.advance(8)
        await at.half.ingest.accept("traces", busy)
        at.clock.advance(3)
        await at.closing.tick()
        assert at.judging.waiting == 1
        assert at.half.value("closing_caught_up_timestamp_seconds") == at.clock.now_ns() / 1e9


async def test_once_closing_is_stopped_what_is_due_stays_open(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.send("ann")
        at.clock.advance(11)
        at.closing.stop()
        await at.closing.tick()
        assert (at.judging.waiting, at.half.book.open_sessions()) == (0, 1)


async def test_sessions_whose_process_ended_are_tried_alone_and_all_judged(tmp_path: Path) -> None:
    async with desk(tmp_path, workers=0) as at:
        for number in range(1, 4):
            await at.send(f"chat-{number}", number)
        at.clock.advance(11)
        await at.closing.tick()
        at.evaluating.ends = lambda tasks: EvaluationLost("died", None) if len(tasks) > 1 else None
        worker = asyncio.create_task(at.judging.run())
        await at.finish()
        worker.cancel()
        assert [len(group) for group in at.evaluating.groups] == [3, 1, 1, 1]
        assert await at.notes() == {f"chat-{number}": "" for number in range(1, 4)}
        assert at.half.value("evaluation_retries_total") == 3
        assert at.half.value("sessions_closed_total", reason="idle") == 3


async def test_a_session_at_which_processes_end_again_and_again_becomes_a_dead_letter(tmp_path: Path) -> None:
    async with desk(tmp_path, workers=0) as at:
        claims = []
        for number, name in enumerate(("ann", "deadly", "bob"), start=1):
            await at.send(name, number)
            claims.append(await at.claim(name))
        deadly = claims[1]

        def ends(tasks: Sequence[Task]) -> EvaluationLost | None:
            culprit = [at for at, task in enumerate(tasks) if task.claim == deadly]
            return EvaluationLost("timeout", culprit[0]) if culprit else None

        at.evaluating.ends = ends
        at.judging.add(claims)
        worker = asyncio.create_task(at.judging.run())
        await at.finish()
        worker.cancel()
        notes = await at.notes()
        told = notes.pop(f"unreadable:{deadly.digest.hex()}")
        assert "2 evaluation processes ended at it" in told
        assert "evaluation.timeout_seconds" in told
        assert notes == {"ann": "", "bob": ""}
        assert at.half.value("sessions_closed_total", reason="unreadable") == 1
        assert at.half.book.recover(at.half.journal.entries(), at.half.journal.last_row(), 0) == []


async def test_what_a_process_kept_before_it_ended_is_counted_once(tmp_path: Path) -> None:
    async with desk(tmp_path, workers=0) as at:
        await at.send("ann")
        claim = await at.claim("ann")
        # The verdicts are in the store, and nobody was told.
        await at.evaluation.evaluate([Task(claim)])
        ends = [EvaluationLost("died", 0)]
        at.evaluating.ends = lambda _tasks: ends.pop() if ends else None
        at.judging.add([claim])
        worker = asyncio.create_task(at.judging.run())
        await at.finish()
        worker.cancel()
        assert len(await at.store.session("ann")) == 1
        assert at.half.value("sessions_closed_total", reason="idle") == 1


async def test_claims_that_the_journal_gives_again_while_they_wait_are_added_once(tmp_path: Path) -> None:
    async with desk(tmp_path, workers=0) as at:
        await at.send("ann")
        claim = await at.claim("ann")
        at.judging.add([claim])
        at.judging.add([claim, replace(claim, revision=2)])
        assert at.judging.waiting == 2


AN_ANSWER = {"gen_ai__operation__name": "chat", "gen_ai__output__messages": '[{"role":"assistant","content":"done"}]'}


def _answer(trace: int, number: int, session: str = "") -> bytes:
    attributes = {**AN_ANSWER, **({"session__id": session} if session else {})}
    made = span(trace, number)
    for key, value in attributes.items():
        made.attributes.add(key=key.replace("__", ".")).value.string_value = value
    return trace_request([made])


async def test_a_trace_that_was_judged_before_it_was_named_is_superseded_and_not_judged_again(tmp_path: Path) -> None:
    async with desk(tmp_path, replace(POLICY, late_window_ms=60_000)) as at:
        await at.half.ingest.accept("traces", _answer(1, 1))
        await at.close_all()
        alone = span(1, 1).trace_id.hex()
        before = await at.store.find_verdicts(VerdictFilter(session_id=alone, newest_closing=True))
        assert before != []
        await at.half.ingest.accept("traces", _answer(1, 2, "ann"))
        await at.close_all()
        assert await at.store.find_verdicts(VerdictFilter(session_id=alone, newest_closing=True)) == []
        closings = await at.store.session(alone)
        assert [closed.ref.revision for closed in closings] == [2, 1]
        assert await at.store.verdicts(closings[0].ref) == []
        assert "part of session ann" in closings[0].note
        (ann,) = await at.store.session("ann")
        assert (ann.spans, ann.judged) == (2, True)
        await at.half.ingest.accept("traces", _answer(1, 3))
        await at.close_all()
        assert [closed.ref.revision for closed in await at.store.session("ann")] == [2, 1]
        assert len(await at.store.session(alone)) == 2


async def test_a_closing_of_a_trace_that_is_judged_with_its_session_already_is_not_late(tmp_path: Path) -> None:
    async with desk(tmp_path, replace(POLICY, late_window_ms=60_000)) as at:
        await at.half.ingest.accept("traces", _answer(1, 1))
        await at.close_all()
        alone = span(1, 1).trace_id.hex()
        await at.half.ingest.accept("traces", _answer(1, 2))
        at.clock.advance(1)
        slow = await at.claim(alone, Kind.TRACE)  # by a process that is busy with something else
        await at.half.ingest.accept("traces", _answer(1, 3, "ann"))
        await at.close_all()
        at.judging.add([slow])
        await at.finish()
        assert [closed.ref.revision for closed in await at.store.session(alone)] == [3, 1]
        assert at.half.value("sessions_closed_total", reason="late") == 0
        assert at.half.value("sessions_discarded_total", reason="moved") == 1


async def _finish_with_three_workers_and_one_loss(at: Desk) -> None:
    lost = [EvaluationLost("died", None)]
    at.evaluating.ends = lambda _tasks: lost.pop() if lost else None
    workers = [asyncio.create_task(at.judging.run()) for _ in range(3)]
    await at.finish()
    for worker in workers:
        worker.cancel()


async def test_a_session_waits_for_the_trace_it_has_taken_to_be_superseded_there(tmp_path: Path) -> None:
    async with desk(tmp_path, replace(POLICY, late_window_ms=60_000), workers=0) as at:
        await at.half.ingest.accept("traces", _answer(1, 1))
        at.clock.advance(11)
        await at.closing.tick()
        await at.half.ingest.accept("traces", _answer(1, 2, "ann"))
        at.clock.advance(11)
        await at.closing.tick()
        await at.half.ingest.accept("traces", _answer(1, 3))
        at.clock.advance(11)
        await at.closing.tick()
        assert at.judging.waiting == 3
        await _finish_with_three_workers_and_one_loss(at)
        trace, ann = Kind.TRACE, Kind.SESSION
        out = [[(task.claim.kind, task.claim.revision) for task in group] for group in at.evaluating.groups]
        assert out == [[(trace, 1)], [(trace, 1)], [(ann, 1)], [(ann, 2)]]
        alone = await at.store.session(span(1, 1).trace_id.hex())
        assert [(closed.ref.revision, closed.spans) for closed in alone] == [(2, 0), (1, 1)]
        assert [(one.ref.revision, one.spans) for one in await at.store.session("ann")] == [(2, 3), (1, 2)]


async def test_what_comes_of_a_trace_long_after_its_session_took_it_is_late(tmp_path: Path) -> None:
    async with desk(tmp_path, replace(POLICY, late_window_ms=20_000)) as at:
        await at.half.ingest.accept("traces", _answer(1, 1))
        await at.close_all()
        await at.half.ingest.accept("traces", _answer(1, 2, "ann"))
        await at.close_all()
        at.clock.advance(60)
        await at.closing.tick()
        assert len(at.half.book.index) == 0
        await at.half.ingest.accept("traces", _answer(1, 3))
        await at.close_all()
        alone = await at.store.session(span(1, 1).trace_id.hex())
        assert [(closed.ref.revision, closed.judged) for closed in alone] == [(3, False), (2, True), (1, True)]
        assert at.half.value("sessions_closed_total", reason="late") == 1


async def test_what_comes_after_the_late_window_is_kept_and_counted_and_not_judged(tmp_path: Path) -> None:
    """Whatever was done to the wall clock in between: revisions tell, not times."""
    async with desk(tmp_path) as at:
        for number, hours in enumerate((0, -5, 9), start=1):
            at.clock.step(hours * 3600)
            await at.send("ann", number)
            await at.close_all()
            at.clock.advance(5)
            await at.closing.tick()
        assert [(one.ref.revision, one.judged) for one in await at.store.session("ann")] == [
            (3, False),
            (2, False),
            (1, True),
        ]
        assert at.half.value("late_total", signal="traces") == 2
        assert at.half.value("sessions_closed_total", reason="late") == 2
        assert at.half.value("sessions_closed_total", reason="idle") == 1


async def test_a_later_revision_waits_for_the_one_before_it(tmp_path: Path) -> None:
    async with desk(tmp_path, replace(POLICY, late_window_ms=60_000), workers=0) as at:
        for number in (1, 2):
            await at.send("ann", number)
            at.clock.advance(11)
            await at.closing.tick()
        assert at.judging.waiting == 2
        await _finish_with_three_workers_and_one_loss(at)
        assert [[task.claim.revision for task in group] for group in at.evaluating.groups] == [[1], [1], [2]]
        assert [(one.ref.revision, one.judged) for one in await at.store.session("ann")] == [(2, True), (1, True)]
