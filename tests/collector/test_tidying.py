"""The journal stays short though a session stays open, and closing does not follow a wall clock that is set."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from collector.journal.journal import JournalSettings
from collector.journal.segments import Extent
from collector.sessions.book import Claim, Policy
from collector.sessions.keys import Kind, Owner
from collector.sessions.moving import Straggler
from collector.tidying import Tidying, plan
from tests.collector.receiving import Receiving, receiving
from tests.collector.sessions.telemetry import span, trace_request
from tests.fakes.clock import FakeClock

MB = 1024**2
POLICY = Policy(idle_ms=60_000, late_window_ms=1_000)
SETTINGS = JournalSettings(segment_bytes=MB, min_free_bytes=0)


@dataclass
class Desk:
    half: Receiving
    clock: FakeClock
    tidying: Tidying

    async def say(self, session: str, number: int = 1, size: int = 100) -> None:
        made = span(number, number, session__id=session, text="x" * size)
        await self.half.ingest.accept("traces", trace_request([made]))

    async def fill(self, first: int, files: int) -> None:
        """Sessions that come and go, until the journal has so many files more. Each has rows of its own block."""
        enough, number = self.half.journal.segments + files, first
        while self.half.journal.segments < enough:
            await self.say(f"short-{number}", number, 100_000)
            number += 1
        self.clock.advance(5)

    async def finish(self, keep: tuple[str, ...] = ("long",)) -> None:
        """Close what is idle, judge it and let its late window pass; the sessions to keep are touched before."""
        self.clock.advance(50)
        for session in keep:
            await self.say(session, 10_000)
        self.clock.advance(20)
        for claim in await self.close():
            self.half.book.finished(claim.digest, claim.revision, self.now_ms)
        self.clock.advance(5)
        await self.close()

    @property
    def now_ms(self) -> int:
        return self.clock.steady_ns() // 1_000_000

    async def close(self) -> list[Claim]:
        book = self.half.book
        closings = [book.close(ref, reason, self.now_ms) for ref, reason in book.due(self.now_ms)]
        await self.half.journal.append(*book.take_rows())
        return [closing for closing in closings if isinstance(closing, Claim)]

    async def tidy(self) -> None:
        await self.tidying.step()
        await self.half.journal.append([], 0)  # behind which the files have been dropped
        await self.half.journal.append([], 0)

    def spans(self) -> int:
        """Of the long session."""
        index = self.half.book.index
        slot = index.find(Owner(Kind.SESSION, "long").digest)
        assert slot is not None
        return sum(key.items for key, _ in self.half.journal.chain(index.last_row[slot]))


@asynccontextmanager
async def _desk(directory: Path, policy: Policy = POLICY) -> AsyncIterator[Desk]:
    clock = FakeClock()
    async with receiving(directory, settings=SETTINGS, policy=policy, clock=clock) as half:
        yield Desk(half, clock, Tidying(half.book, half.journal, clock, half.metrics))


async def test_a_long_session_is_moved_and_the_files_behind_it_go(tmp_path: Path) -> None:
    async with _desk(tmp_path) as desk:
        await desk.say("long")
        await desk.fill(1, files=3)
        await desk.finish()
        assert desk.half.journal.segments == 4
        await desk.tidy()
        assert desk.half.journal.segments == 1
        assert desk.spans() == 2
        assert desk.half.value("journal_moved_bytes_total") > 200


async def test_how_far_back_the_journal_is_needed_is_shown(tmp_path: Path) -> None:
    async with _desk(tmp_path) as desk:
        await desk.say("long", size=500_000)
        await desk.fill(1, files=2)
        await desk.finish()
        await desk.tidy()
        assert desk.half.value("journal_oldest_needed_age_seconds") == 80.0


async def test_files_of_which_much_is_needed_stay(tmp_path: Path) -> None:
    async with _desk(tmp_path) as desk:
        await desk.say("long", size=500_000)
        await desk.fill(1, files=2)
        await desk.finish()
        before = desk.half.journal.segments
        await desk.tidy()
        assert desk.half.journal.segments == before
        assert desk.half.value("journal_moved_bytes_total") == 0


async def test_a_moved_session_is_whole_after_a_restart(tmp_path: Path) -> None:
    async with _desk(tmp_path) as desk:
        await desk.say("long")
        await desk.fill(1, files=3)
        await desk.finish()
        await desk.tidy()
    async with _desk(tmp_path) as desk:
        journal = desk.half.journal
        desk.half.book.recover(journal.entries(), journal.last_row(), desk.now_ms)
        assert (len(desk.half.book.index), desk.spans()) == (1, 2)


async def test_nothing_is_moved_while_the_journal_is_broken(tmp_path: Path) -> None:
    async with _desk(tmp_path) as desk:
        await desk.say("long")
        await desk.fill(1, files=3)
        await desk.finish()
        desk.half.journal.failure = "the disk is gone"
        await desk.tidying.step()
        assert desk.half.value("journal_moved_bytes_total") == 0


_FILES = (Extent(16, 100), Extent(160, 100), Extent(320, 100), Extent(480, 5))


def test_as_many_files_go_as_are_worth_it() -> None:
    small, larger = Straggler(1, 20, 30, 9), Straggler(2, 330, 340, 22)
    chosen = plan(_FILES, [small, larger])
    assert chosen is not None
    assert (chosen.below, chosen.stragglers) == (320, (small,))
    chosen = plan(_FILES, [small, replace(larger, size=21)])
    assert chosen is not None
    assert (chosen.below, len(chosen.stragglers)) == (480, 2)


def test_what_is_too_large_to_copy_keeps_its_files() -> None:
    files = (Extent(1, 2**40), Extent(160, 2**40), Extent(320, 1))
    assert plan(files, [Straggler(1, 20, 30, 2**27)]) is None
    chosen = plan(files, [Straggler(1, 20, 30, 9), Straggler(2, 200, 210, 2**27)])
    assert chosen is not None
    assert (chosen.below, len(chosen.stragglers)) == (160, 1)


@given(st.lists(st.tuples(st.integers(1, 600), st.integers(0, 40))))
def test_never_is_more_than_a_tenth_copied(sessions: list[tuple[int, int]]) -> None:
    stragglers = [Straggler(n, row, row, size) for n, (row, size) in enumerate(sessions)]
    chosen = plan(_FILES, stragglers)
    if chosen is not None:
        gone = sum(file.size for file in _FILES if file.first_row < chosen.below)
        assert sum(each.size for each in chosen.stragglers) <= gone / 10
        assert {each.ref for each in stragglers if each.first_row < chosen.below} <= {e.ref for e in chosen.stragglers}


# -- clocks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hours", [5, -5])
async def test_a_wall_clock_that_is_set_closes_nothing_early_and_holds_nothing_open(tmp_path: Path, hours: int) -> None:
    async with _desk(tmp_path) as desk:
        await desk.say("ann")
        desk.clock.step(hours * 3600)
        desk.clock.advance(59)
        assert await desk.close() == []
        desk.clock.advance(2)
        assert [claim.reason for claim in await desk.close()] == ["idle"]


@pytest.mark.parametrize("hours", [5, -5])
async def test_a_wall_clock_that_is_set_is_told_and_shown_once(tmp_path: Path, hours: int) -> None:
    async with _desk(tmp_path) as desk:
        desk.clock.step(hours * 3600)
        with capture_logs() as logs:
            await desk.tidying.step()
            await desk.tidying.step()
        assert [(entry["event"], entry["seconds"]) for entry in logs] == [("wall_clock_was_set", hours * 3600)]
