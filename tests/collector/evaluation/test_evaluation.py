"""A group of closings is kept at once, and what is wrong with one of them is its own affair."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from collector.concluding import conclude
from collector.errors import StoreUnavailable
from collector.evaluation.evaluation import Evaluation
from collector.evaluation.task import Task
from collector.reading import Reader, Rules
from collector.sessions.book import Claim
from collector.sessions.keys import Kind, Owner
from collector.store.finishing import Fate, Finishing
from collector.store.rows import UNREADABLE
from collector.store.sqlite import SqliteStore
from judge.catalog import build
from judge.verdict import NotJudged
from tests.collector.receiving import Receiving, receiving
from tests.collector.sessions.desk import NAMES
from tests.collector.sessions.telemetry import span_id, trace_request
from tests.end_to_end.agents import tool_span
from tests.fakes.clock import FakeClock

RULES = Rules(build(), (), NAMES)
NO_JUDGE = NotJudged("no_judge_configured", "")


class Watched(SqliteStore):
    """Remembers its groups. Cannot keep the session `odd`; is away for the sessions named `away`."""

    groups: list[list[str]]
    away: frozenset[str] = frozenset()

    async def finish_all(self, closings: Sequence[Finishing], exporters: Sequence[str]) -> list[Fate]:
        names = [one.session["session_id"] for one in closings]
        self.groups.append(names)
        if self.away.intersection(names):
            raise StoreUnavailable("the database is away")
        if any(one.session["session_id"] == "odd" and one.session["harness"] != UNREADABLE for one in closings):
            raise KeyError("odd")
        return await super().finish_all(closings, exporters)


@dataclass
class Desk:
    half: Receiving
    store: Watched
    evaluation: Evaluation
    progress: list[tuple[int | None, bool]] = field(default_factory=list)

    async def tasks(self, *names: str) -> list[Task]:
        """Sessions that have closed."""
        tasks = []
        for number, name in enumerate(names, start=1):
            await self.half.ingest.accept("traces", trace_request([tool_span(name, number, number)]))
            book = self.half.book
            slot = book.index.find(Owner(Kind.SESSION, name).digest)
            assert slot is not None
            claim = book.close(book.index.ref(slot), "idle", 1_800_000_000_000 + number)
            assert isinstance(claim, Claim)
            tasks.append(Task(claim))
        await self.half.journal.append(*self.half.book.take_rows())
        return tasks


@asynccontextmanager
async def _desk(directory: Path, most_bytes: int = 16 * 1024 * 1024) -> AsyncIterator[Desk]:
    store = Watched.open(directory / "verdicts.sqlite3")
    assert isinstance(store, Watched)
    store.groups = []
    async with receiving(directory) as half:
        progress: list[tuple[int | None, bool]] = []
        evaluation = Evaluation(
            Reader(half.journal, FakeClock(), NO_JUDGE),
            store,
            RULES,
            conclude,
            exporters=(),
            progress=lambda at, keeping: progress.append((at, keeping)),
            most_bytes=most_bytes,
        )
        yield Desk(half, store, evaluation, progress)
        await store.close()


async def test_a_group_is_one_transaction(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        report = await at.evaluation.evaluate(await at.tasks("ann", "bob", "eve"))
        assert at.store.groups == [["ann", "bob", "eve"]]
        assert report.statuses == ("kept",) * 3
        assert dict(report.tally.closed) == {"idle": 3}
        assert at.progress == [(0, False), (1, False), (2, False), (None, True), (None, False)]


async def test_what_is_kept_says_where_in_a_trace_it_is_shown(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        await at.evaluation.evaluate(await at.tasks("ann"))
        (session,) = await at.store.session("ann")
        verdicts = await at.store.verdicts(session.ref)
        ((parent, at_ns),) = {(one.place.parent, one.place.at_ns) for one in verdicts if one.place}
        assert parent == span_id(1).hex()
        assert at_ns == tool_span("ann", 1, 1).end_time_unix_nano
        assert all(one.place for one in verdicts)


async def test_large_sessions_are_written_before_more_are_read(tmp_path: Path) -> None:
    async with _desk(tmp_path, most_bytes=1) as at:
        report = await at.evaluation.evaluate(await at.tasks("ann", "bob"))
        assert at.store.groups == [["ann"], ["bob"]]
        assert report.statuses == ("kept",) * 2


async def test_one_that_cannot_be_kept_costs_the_others_a_transaction_and_nothing_else(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        report = await at.evaluation.evaluate(await at.tasks("ann", "odd", "bob"))
        assert at.store.groups == [["ann", "odd", "bob"], ["ann"], ["odd"], ["odd"], ["bob"]]
        assert report.statuses == ("kept", "settled", "kept")
        assert dict(report.tally.closed) == {"idle": 2, "unreadable": 1}
        (letter,) = await at.store.session("odd")
        assert "KeyError" in letter.note
        assert not letter.judged


async def test_one_that_cannot_be_read_is_listed_in_the_same_transaction(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        ann, bob = await at.tasks("ann", "bob")
        gone = Task(replace(bob.claim, heads=(10**6,)))
        report = await at.evaluation.evaluate([ann, gone])
        assert at.store.groups == [["ann", f"unreadable:{bob.claim.digest.hex()}"]]
        assert report.statuses == ("kept", "settled")


async def test_while_the_store_is_away_nothing_is_finished_and_the_reason_told(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        at.store.away = frozenset({"ann"})
        report = await at.evaluation.evaluate(await at.tasks("ann", "bob"))
        assert report.statuses == ("unfinished",) * 2
        assert report.problem == "the database is away"
        assert report.tally.closed == {}


async def test_what_was_kept_before_counts_only_for_who_could_not_be_told(tmp_path: Path) -> None:
    async with _desk(tmp_path) as at:
        tasks = await at.tasks("ann")
        first = await at.evaluation.evaluate(tasks)
        again = await at.evaluation.evaluate(tasks)
        after_a_loss = await at.evaluation.evaluate([replace(task, handed_before=True) for task in tasks])
        assert [report.statuses for report in (first, again, after_a_loss)] == [("kept",), ("settled",), ("kept",)]
        assert again.tally.closed == {}
        assert after_a_loss.tally == first.tally
