"""Every closing is kept once: judged, told to be unreadable, or waiting for a store that is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from collector.closing import Closing
from collector.errors import StoreUnavailable
from collector.judging import Judging
from collector.reading import Rules
from collector.sampling import Keep, SamplingRule, SamplingRules
from collector.sessions.book import Claim, Policy
from collector.sessions.keys import Kind, Owner
from collector.store.sqlite import SqliteStore
from collector.store.store import ClosedSession, PendingQuestion, SessionFilter, VerdictFilter
from judge.catalog import build
from judge.suites import Match
from judge.verdict import Judged, NotJudged
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

    async def finish(
        self,
        session: ClosedSession,
        verdicts: Sequence[Judged],
        questions: Sequence[PendingQuestion],
        exporters: Sequence[str],
    ) -> bool:
        if self.away:
            self.away -= 1
            raise StoreUnavailable("the database is away")
        if session.ref.session_id == "odd" and session.trajectory is not None:
            raise KeyError("odd")
        return await super().finish(session, verdicts, questions, exporters)


@dataclass
class Desk:
    half: Receiving
    clock: FakeClock
    store: PickyStore
    judging: Judging
    closing: Closing

    async def send(self, session: str, number: int = 1) -> None:
        await self.half.ingest.accept("traces", trace_request([span(number, number, session__id=session)]))

    async def close_all(self) -> None:
        """Let every session become idle, and wait until all of them are kept."""
        self.clock.advance(11)
        await self.closing.tick()
        await self.finish()

    async def claim(self, session: str) -> Claim:
        """The closing of a session that has telemetry, not handed on."""
        slot = self.half.book.index.find(Owner(Kind.SESSION, session).digest)
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
async def desk(directory: Path, policy: Policy = POLICY) -> AsyncIterator[Desk]:
    clock = FakeClock()
    store = PickyStore.open(directory / "verdicts.sqlite3")
    assert isinstance(store, PickyStore)
    async with receiving(directory, policy=policy, clock=clock) as half:
        judging = Judging(
            half.book,
            half.journal,
            store,
            RULES,
            clock,
            half.metrics,
            exporters=(),
            judge_problem=NO_JUDGE,
            on_finished=lambda: None,
            retry_s=0.01,
        )
        worker = asyncio.create_task(judging.run())
        try:
            closing = Closing(half.book, half.journal, judging, clock, half.metrics)
            yield Desk(half, clock, store, judging, closing)
            assert not worker.done()
        finally:
            worker.cancel()
            await store.close()


async def test_a_closed_session_is_kept_and_its_closing_done(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.send("ann")
        await at.close_all()
        assert await at.notes() == {"ann": ""}
        assert at.judging.waiting == 0
        assert at.half.book.recover(at.half.journal.entries(), at.half.journal.last_row(), 0) == []


async def test_of_what_is_sampled_out_at_closing_nothing_is_kept_and_its_closing_is_done(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        only_errors = SamplingRules(0.0, keep=Keep(("errors",)))
        at.judging.rules = Rules(build(), (), NAMES, only_errors)
        await at.send("ann")
        await at.close_all()
        assert await at.notes() == {}
        assert at.half.value("sessions_discarded_total", reason="sampled_out") == 1
        assert at.half.book.recover(at.half.journal.entries(), at.half.journal.last_row(), 0) == []


async def test_a_session_says_which_rule_kept_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        named = (SamplingRule("bank", Match(service=("bank",)), 0.0), SamplingRule("rest", Match(), 1.0))
        at.judging.rules = Rules(build(), (), NAMES, SamplingRules(0.0, named))
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
        assert await at.notes() == {"ann": ""}


async def test_the_same_closing_handed_on_twice_is_kept_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.send("ann")
        claim = await at.claim("ann")
        at.judging.add([claim, claim])
        await at.finish()
        assert len(await at.store.session("ann")) == 1
        assert at.half.value("sessions_closed_total", reason="idle") == 1


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
