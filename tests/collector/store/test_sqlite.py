"""The SQLite store: the contract, and what is special about a file."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy import event

from collector.concluding import composites_for
from collector.errors import StoreOutdated, StoreUnavailable
from collector.store.baselines import Baseline, KeptSession
from collector.store.listing import Stretch, Wanted
from collector.store.schema import SCHEMA_VERSION
from collector.store.sqlite import SqliteStore
from collector.store.store import Held, OfModel, SessionFilter, Store, UnreadableQuestion, VerdictFilter
from judge.composite import USUAL
from judge.verdict import Judged, NotJudged, Outcome, Score, Subject, Verdict
from tests.contracts.labels import LabelContract
from tests.contracts.listing import ListingContract, with_skills
from tests.contracts.retention import RetentionContract
from tests.contracts.store import Opener, StoreContract
from tests.fakes.old_stores import HOLDING, make_of_the_first_version, make_of_version_8
from tests.fakes.verdicts import NOW_NS, TRACE_ID, answered, closed, judged, pending

NEW_IN_3 = {
    "passed": 1,
    "evaluator_version": "v1",
    "judge_model": None,
    "prompt_version": None,
    "agent_version": "7",
    "inclusion_probability": 0.5,
}
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts #1?.db"


@pytest_asyncio.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(path, busy_timeout_s=0.05)
    yield store
    await store.close()


class TestSqliteLabels(LabelContract):
    @pytest.fixture
    def opener(self, path: Path) -> Opener:
        async def open_again() -> Store:
            return SqliteStore.open(path)

        return open_again


class TestSqliteListing(ListingContract):
    @pytest.fixture
    def opener(self, path: Path) -> Opener:
        async def open_() -> Store:
            return SqliteStore.open(path)

        return open_


class TestSqliteRetention(RetentionContract):
    @pytest.fixture
    def opener(self, path: Path) -> Opener:
        async def open_again() -> Store:
            return SqliteStore.open(path)

        return open_again


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def opener(self, path: Path) -> Opener:
        async def open_again() -> Store:
            return SqliteStore.open(path)

        return open_again


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"the directory .*/absent does not exist"):
        SqliteStore.open(tmp_path / "absent" / "verdicts.db")


def test_a_file_of_another_kind_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"a letter, not a database " * 100)
    with pytest.raises(StoreUnavailable, match="file is not a database"):
        SqliteStore.open(path)
    assert path.read_bytes().startswith(b"a letter")


async def test_a_file_of_a_newer_version_is_refused(path: Path, store: SqliteStore) -> None:
    await store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE schema_version SET version = 99")
    connection.close()
    for read_only in (False, True):
        with pytest.raises(
            StoreUnavailable, match=rf"a newer SpanJudge \(schema 99; this one reads {SCHEMA_VERSION}\)"
        ):
            SqliteStore.open(path, read_only=read_only)


async def test_a_file_of_the_first_version_is_brought_up_to_date_with_all_it_holds(path: Path) -> None:
    store = SqliteStore.open(path)
    await store.finish(closed(), [judged()], [pending()], ["otlp"])
    await store.close()
    make_of_the_first_version(path)
    with pytest.raises(StoreUnavailable, match=rf"an older SpanJudge \(schema 1; this one reads {SCHEMA_VERSION}\)"):
        SqliteStore.open(path, read_only=True)
    again = SqliteStore.open(path)
    assert await again.verdicts(closed().ref) == [judged(), pending().draft]
    assert await again.due_questions(NOW_NS, 10, held=[Held("skill_selection", high_risk=True)]) == []
    assert await again.due_questions(NOW_NS, 10) == [pending()]
    assert await again.ledger.spent(NOW_NS) == []
    assert await again.baselines.all() == []
    with sqlite3.connect(path) as connection:
        row = connection.execute(f"SELECT {', '.join(sorted(NEW_IN_3))} FROM verdicts").fetchone()
    connection.close()
    assert dict(zip(sorted(NEW_IN_3), row, strict=True)) == NEW_IN_3
    await again.close()


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("SELECT version FROM schema_version").fetchone()
        return int(version)


async def test_versions_and_counts_of_baselines_are_filled_in_for_an_older_file(path: Path, store: SqliteStore) -> None:
    session = closed()
    assert session.trajectory is not None
    versions = replace(session.trajectory.versions, agent_version="", service_version="1.2")
    session = replace(session, trajectory=replace(session.trajectory, versions=versions))
    await store.finish(session, [judged()], [], [])
    by_judge = replace(judged("b"), verdict=replace(judged("b").verdict, judge_model="model-a", prompt_version="v1"))
    kept = [KeptSession(closed("a"), (judged("a"),)), KeptSession(closed("b"), (by_judge,))]
    for name in ("v1", "damaged"):
        await store.baselines.save(Baseline(name, name, None, NOW_NS, 2), kept)
        await store.baselines.promote(name, NOW_NS)
    before = await store.baselines.counts()
    assert len(before["v1"]) == 2
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE questions DROP COLUMN trouble")
        for table, column in product(("questions", "outbox", "batches"), HOLDING):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        make_of_version_8(connection)
        connection.execute("ALTER TABLE sessions DROP COLUMN version")
        connection.execute("DROP TABLE obstacles")
        connection.execute("DROP TABLE baseline_counts")
        connection.execute("CREATE TABLE baseline_counts (number INTEGER, baseline INTEGER, evaluator TEXT)")
        connection.execute("UPDATE baseline_sessions SET verdicts = '[{' WHERE baseline = 2")
        connection.execute("UPDATE schema_version SET version = 5")
        connection.commit()
    again = SqliteStore.open(path)
    assert await again.baselines.counts() == {"v1": before["v1"], "damaged": {}}
    assert len(await again.sessions(SessionFilter(version="1.2"))) == 1
    await again.close()


async def test_what_sessions_are_found_by_is_filled_in_for_a_file_of_version_8(path: Path, store: SqliteStore) -> None:
    for name in ("a", "b"):
        await store.finish(with_skills(closed(name)), [judged(name)], [], [])
    before = await store.listing.counts(Stretch(0, 10**18))
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        make_of_version_8(connection)
        connection.execute("UPDATE sessions SET record = 'x' WHERE session_id = 'b'")
        connection.commit()
    again = SqliteStore.open(path)
    counts = await again.listing.counts(Stretch(0, 10**18))
    assert [one.loaded for one in counts.loads] == [one.loaded // 2 for one in before.loads]
    assert counts.verdicts == before.verdicts
    assert [ref.session_id for ref in await again.listing.of_trace(TRACE_ID)] == ["a"]
    assert len((await again.listing.page(Wanted(skill="refunds"))).lines) == 2
    await again.close()


@pytest.mark.parametrize(
    "where",
    [
        Wanted(),
        Wanted(service="shop", harness="strands"),
        Wanted(evaluator="budgets", label="no"),
        Wanted(skill="refunds"),
        Wanted(outcome="failed"),
        Wanted(outcome="passed"),
        Wanted(outcome="not_judged", service="shop"),
    ],
    ids=str,
)
async def test_sessions_are_found_without_reading_rows(store: SqliteStore, where: Wanted) -> None:
    """Their records stand in them, and would be read too."""
    statements: list[str] = []
    event.listen(
        store._database.reading,
        "before_cursor_execute",
        lambda *told: statements.append(_with_values(told[2], told[3])),
    )
    await store.listing.page(where)
    finding = next(one for one in statements if one.lstrip().startswith("SELECT sessions.number"))
    plan = await store._read(lambda to: to.exec_driver_sql(f"EXPLAIN QUERY PLAN {finding}").all())
    looked_at = [row[3] for row in plan if row[3].startswith(("SCAN", "SEARCH"))]
    assert looked_at
    assert all("COVERING INDEX" in one for one in looked_at), looked_at


def _with_values(statement: str, values: object) -> str:
    for value in values if isinstance(values, tuple) else ():
        statement = statement.replace("?", str(value) if isinstance(value, int) else f"'{value}'", 1)
    return statement


async def test_without_leave_to_migrate_an_older_file_stays_as_it_is(path: Path, store: SqliteStore) -> None:
    await store.close()
    make_of_the_first_version(path)
    with pytest.raises(StoreOutdated, match="an older SpanJudge"):
        SqliteStore.open(path, migrate=False)
    assert version_of(path) == 1


async def test_a_step_that_fails_leaves_the_file_at_the_version_it_had(path: Path, store: SqliteStore) -> None:
    await store.close()
    make_of_the_first_version(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE verdicts ADD COLUMN judge_model")  # the second step adds it
        connection.commit()
        before = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    with pytest.raises(StoreUnavailable, match="duplicate column"):
        SqliteStore.open(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall() == before
    assert version_of(path) == 1


async def test_a_file_that_went_further_meanwhile_is_told_and_never_set_back(path: Path, store: SqliteStore) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE schema_version SET version = 99")
        connection.commit()
    assert "a newer SpanJudge (schema 99" in (await store.problem() or "")
    assert version_of(path) == 99


def test_reading_what_is_not_there_does_not_make_it(path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="unable to open"):
        SqliteStore.open(path, read_only=True)
    assert not path.exists()


async def test_a_reader_sees_what_the_server_writes_meanwhile_and_cannot_write(path: Path, store: SqliteStore) -> None:
    await store.finish(closed("s-1"), [judged("s-1")], [], [])
    reader = SqliteStore.open(path, read_only=True)
    await store.finish(closed("s-2"), [], [], [])
    assert {summary.ref.session_id for summary in await reader.sessions(SessionFilter())} == {"s-1", "s-2"}
    with pytest.raises(StoreUnavailable, match="opened for reading only"):
        await reader.finish(closed("s-3"), [], [], [])
    await reader.close()


async def test_a_stopped_server_s_file_can_be_read(path: Path, store: SqliteStore) -> None:
    await store.finish(closed(), [judged()], [], [])
    await store.close()
    reader = SqliteStore.open(path, read_only=True)
    assert await reader.verdicts(closed().ref) == [judged()]
    await reader.close()


async def test_commits_reach_the_disk_and_not_only_the_kernel(store: SqliteStore) -> None:
    pragmas = await store._write(
        lambda to: [to.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
    )
    assert pragmas == ["wal", 2]


async def test_waiting_changes_share_one_commit(path: Path) -> None:
    store = SqliteStore.open(path)
    assert store._database.writing
    commits: list[object] = []
    event.listen(store._database.writing, "commit", commits.append)
    with _locked(path):
        finishing = [asyncio.create_task(store.finish(closed(f"s-{n}"), [], [], [])) for n in range(50)]
        await asyncio.sleep(0)
    assert await asyncio.gather(*finishing) == [True] * 50
    assert len(commits) <= 2, "the first may have begun alone"
    await store.close()


async def test_a_locked_file_is_reported_and_nothing_is_written(path: Path, store: SqliteStore) -> None:
    with _locked(path):
        with pytest.raises(StoreUnavailable, match=r"verdicts #1.*: database is locked"):
            await store.finish(closed(), [judged()], [], ["otlp"])
        assert await store.problem() is not None
    assert await store.session("s-1") == []
    assert await store.problem() is None
    assert await store.finish(closed(), [judged()], [], ["otlp"])


async def test_a_full_disk_is_reported_and_work_goes_on_when_there_is_room_again(store: SqliteStore) -> None:
    await store.finish(closed("before"), [], [], [])
    with _no_file_may_grow():
        with pytest.raises(StoreUnavailable, match="disk"):
            await store.finish(closed("full", task="long " * 100_000), [judged("full")], [], [])
        assert await store.session("full") == []
        assert len(await store.session("before")) == 1, "reading goes on"
    assert await store.finish(closed("full"), [judged("full")], [], [])
    assert len(await store.session("before")) == 1


async def test_a_closed_store_refuses_and_closing_twice_is_fine(store: SqliteStore) -> None:
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.finish(closed(), [], [], [])


async def test_closing_finishes_what_was_handed_in(path: Path, store: SqliteStore) -> None:
    finishing = [asyncio.create_task(store.finish(closed(f"s-{n}"), [], [], [])) for n in range(20)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*finishing) == [True] * 20


async def test_a_caller_that_gave_up_leaves_nothing_half_done(path: Path, store: SqliteStore) -> None:
    with _locked(path):
        kept_waiting = asyncio.create_task(store.finish(closed("a"), [], [], []))
        given_up = asyncio.create_task(store.finish(closed("b"), [judged("b")], [], []))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(kept_waiting, given_up, return_exceptions=True)
    assert await store.finish(closed("c"), [], [], [])
    present = await store.session("b")
    assert len(await store.verdicts(closed("b").ref)) == len(present), "all of it or nothing"


async def test_purging_gives_space_back(path: Path, store: SqliteStore) -> None:
    for number in range(20):
        await store.finish(closed(f"s-{number}", task="word " * 50_000), [], [], [])
    await store.close()
    before = _size(path)
    again = SqliteStore.open(path)
    assert await again.retention.purge(NOW_NS + 1, limit=100) == 20
    await again.close()
    assert _size(path) < before / 2


async def test_what_a_deletion_left_is_given_back_a_part_at_a_time_until_there_is_none(store: SqliteStore) -> None:
    for number in range(40):
        await store.finish(closed(f"s-{number}", task="word " * 100_000), [], [], [])
    assert await store.retention.purge(NOW_NS + 1, limit=100) == 40
    empty = await _empty_bytes(store)
    assert empty > 0
    while await store.retention.give_back():
        assert await _empty_bytes(store) < empty
        empty = await _empty_bytes(store)
    assert await _empty_bytes(store) == 0


async def _empty_bytes(store: SqliteStore) -> int:
    """Of the file, without its log."""
    engine = store._database.reading
    with engine.begin() as connection:
        return int(connection.exec_driver_sql("PRAGMA freelist_count").scalar_one())


async def test_on_a_full_disk_nothing_is_deleted_by_halves_and_deleting_goes_on_when_there_is_room(
    store: SqliteStore,
) -> None:
    for number in range(9):
        await store.finish(closed(f"s-{number}", task="word " * 50_000), [judged(f"s-{number}")], [], [])
    with _no_file_may_grow():
        with pytest.raises(StoreUnavailable, match="disk"):
            await store.retention.purge(NOW_NS + 1, limit=9)
        assert len(await store.sessions(SessionFilter())) == 9
    assert await store.retention.purge(NOW_NS + 1, limit=9) == 9


def test_kill_9_loses_nothing_that_was_reported_done(path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.collector.store.finish_forever", str(path)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    reported = [process.stdout.readline().strip() for _ in range(60)]
    os.kill(process.pid, signal.SIGKILL)
    reported += process.stdout.read().split("\n")[:-1]  # what follows the last line break was cut by the kill
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()

    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()

    async def check() -> None:
        store = SqliteStore.open(path)
        for session_id in reported:
            assert await store.verdicts(closed(session_id).ref) == [judged(session_id), pending(session_id).draft]
        sessions = len(await store.sessions(SessionFilter(limit=100_000)))
        assert sessions == await store.outbox_size("otlp") == await store.pending_questions()
        assert sessions >= len(reported)
        await store.close()

    asyncio.run(check())


def _size(path: Path) -> int:
    return path.stat().st_size


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Another process holds the write lock."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.rollback()
        other.close()


@contextmanager
def _no_file_may_grow() -> Iterator[None]:
    """As on a full disk: writing past 100 kB fails. (Python ignores the signal that would come with it.)"""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_damaged_record_is_passed_over_and_leaves_the_outbox(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "verdicts.sqlite3")
    await store.finish(closed(), [judged(), judged(evaluator="budgets")], [], ["otlp"])
    with sqlite3.connect(tmp_path / "verdicts.sqlite3") as connection:
        connection.execute("UPDATE verdicts SET record = '{' WHERE evaluator = 'budgets'")
    assert [item.judged for item in await store.due_exports("otlp", NOW_NS, 10)] == [judged()]
    assert await store.outbox_size("otlp") == 1
    await store.close()


LEFT = Judged(
    pending().id,
    closed().ref,
    Verdict("skill_selection", "unknown", Subject("session", "session"), NotJudged("pending", "waiting for a judge")),
    "strands",
    "idle",
    0.5,
    NOW_NS,
    service="shop",
    agent="clerk",
)
"""What the row of a question says of it and its session."""


@pytest.mark.parametrize(
    ("damage", "draft"),
    [
        ("'{'", None),
        ("'[]'", None),
        ("'null'", None),
        ("replace(hex(zeroblob(200000)), '00', '[')", None),
        ("json_remove(record, '$.draft')", None),
        ("json_set(record, '$.draft.id', 'another')", None),
        ("json_remove(record, '$.question.prompt')", pending().draft),
    ],
)
async def test_a_damaged_question_is_told_with_what_is_left_of_it(
    path: Path, store: SqliteStore, damage: str, draft: Judged | None
) -> None:
    question = pending()
    await store.finish(closed(), [judged()], [question], [])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE questions SET record = {damage}")
        connection.commit()
    left = [UnreadableQuestion(question.id, draft or LEFT)]
    assert await store.due_questions(NOW_NS, 10) == left
    assert await store.old_questions(NOW_NS + 1, 10) == left
    assert await store.questions_by_id([question.id]) == left
    assert await store.verdicts(closed().ref) == [judged(), draft or LEFT]


async def test_a_damaged_question_does_not_keep_an_older_file_from_being_brought_up_to_date(
    path: Path, store: SqliteStore
) -> None:
    await store.finish(closed(), [], [pending(), pending(ref="whole")], [])
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE questions DROP COLUMN model")
        connection.execute("ALTER TABLE questions DROP COLUMN trouble")
        for table, column in product(("questions", "outbox", "batches"), HOLDING):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        make_of_version_8(connection)
        connection.execute("ALTER TABLE sessions DROP COLUMN version")
        connection.execute("DROP TABLE obstacles")
        connection.execute("UPDATE questions SET record = '{' WHERE id = ?", (pending().id,))
        connection.execute("UPDATE schema_version SET version = 4")
        connection.commit()
    again = SqliteStore.open(path)
    assert len(await again.due_questions(NOW_NS, 10, only=[OfModel(None)])) == 2
    await again.close()


def _damage(path: Path, table: str, where: str = "1") -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE {table} SET record = '{{' WHERE {where}")
        connection.commit()


async def test_a_damaged_verdict_reads_as_not_judged_beside_the_others_and_is_counted(path: Path) -> None:
    damage: list[str] = []
    store = SqliteStore.open(path, damage=damage.append)
    good, bad = judged(), judged(evaluator="budgets", outcome=Score(0.25, "over", "14 calls"))
    await store.finish(closed(), [good, bad], [], ["otlp"])
    _damage(path, "verdicts", "evaluator = 'budgets'")
    found, left = await store.verdicts(closed().ref)
    assert found == good
    assert (left.id, left.verdict.evaluator, left.agent_version) == (bad.id, "budgets", "7")
    assert isinstance(left.verdict.outcome, NotJudged)
    assert left.verdict.outcome.reason == "verdict_unreadable"
    assert left.verdict.outcome.detail.endswith("What is left of it: over 0.25")
    assert await store.find_verdicts(VerdictFilter(evaluator="budgets")) == [left]
    assert damage == ["verdict", "verdict"]
    await store.close()


async def test_a_damaged_session_is_listed_without_its_trajectory_and_is_counted(path: Path) -> None:
    damage: list[str] = []
    store = SqliteStore.open(path, damage=damage.append)
    await store.finish(closed(), [judged()], [], [])
    await store.finish(closed(revision=2, closed_ns=NOW_NS + 5), [], [], [])
    _damage(path, "sessions", "revision = 1")
    second, first = await store.session("s-1")
    assert second == closed(revision=2, closed_ns=NOW_NS + 5)
    assert first == replace(
        closed(),
        trajectory=None,
        note="the stored session cannot be read: it was damaged, or written by another version of SpanJudge",
    )
    assert await store.verdicts(first.ref) == [judged()]
    assert damage == ["session"]
    await store.close()


async def _concluded(path: Path, damaged: str, *verdicts: Judged) -> Outcome:
    """The composite of a session in which the verdict of this evaluator was damaged before its last question ended."""
    store = SqliteStore.open(path, concluding=composites_for(USUAL, lambda _: None))
    await store.finish(closed(), verdicts, [pending()], [])
    _damage(path, "verdicts", f"evaluator = '{damaged}'")
    assert await store.settle(answered(pending(), Score(1.0, "Yes", "It fits.")), [])
    (whole,) = [one for one in await store.verdicts(closed().ref) if one.verdict.evaluator == "composite"]
    await store.close()
    return whole.verdict.outcome


async def test_a_damaged_verdict_that_the_composite_is_not_made_of_does_not_keep_it_away(path: Path) -> None:
    outcome = await _concluded(path, "budgets", judged(evaluator="budgets"))
    assert isinstance(outcome, Score)


@pytest.mark.parametrize("name", ["goal_completion", "required_steps"])
async def test_a_composite_that_a_damaged_verdict_belongs_to_is_not_judged(path: Path, name: str) -> None:
    outcome = await _concluded(path, name, judged(evaluator=name))
    assert isinstance(outcome, NotJudged)
    assert outcome.reason == "verdict_unreadable"
    assert name in outcome.detail
