"""Several processes on one PostgreSQL: work is shared out, done once, and what may be spent is held to."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy import URL, Connection, create_engine, text

from collector.concluding import composites_for
from collector.errors import StoreOutdated, StoreUnavailable
from collector.store.baselines import Baseline, Seen
from collector.store.finishing import Kept, KeptBefore, TooLate, finish_all, finishing
from collector.store.ledger import Batch, BatchItem, Charge, Reservation, Vote, item_id
from collector.store.postgres import PostgresStore
from collector.store.postgres_server import Limits
from collector.store.postgres_url import postgres_url
from collector.store.schema import SCHEMA_VERSION
from collector.store.store import PendingQuestion, SessionFilter, VerdictFilter
from judge.budget import HOUR_NS, Amount, Budget, HourSpent, Limit
from judge.composite import USUAL
from judge.verdict import Score
from tests.eventually import eventually
from tests.fakes.verdicts import NOW_NS, answered, closed, judged, pending
from tests.postgres.server import Server

pytestmark = pytest.mark.integration("postgres")

REPOSITORY = Path(__file__).parents[3]
YES = Score(1.0, "Yes", "It fits.")


@pytest_asyncio.fixture
async def here(database: URL) -> AsyncIterator[PostgresStore]:
    store = PostgresStore.open(database, holder="here", concluding=composites_for(USUAL, lambda _: None))
    yield store
    await store.close()


@pytest_asyncio.fixture
async def there(database: URL, here: PostgresStore) -> AsyncIterator[PostgresStore]:
    store = PostgresStore.open(database, holder="there", concluding=composites_for(USUAL, lambda _: None))
    yield store
    await store.close()


def run(database: URL, statement: str) -> None:
    engine = create_engine(database, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


async def test_a_question_is_due_for_one_of_them_until_that_one_ends(here: PostgresStore, there: PostgresStore) -> None:
    questions = [pending(ref=str(number)) for number in range(6)]
    await here.finish(closed(), [], questions, [])
    first = await here.due_questions(NOW_NS, 2)
    others = await there.due_questions(NOW_NS, 10)
    assert [*first, *others] == questions
    assert await here.due_questions(NOW_NS, 10) == first, "its own are offered again"
    assert await there.due_for_batch(NOW_NS, 10) != []
    await here.close()
    assert await there.due_questions(NOW_NS, 10) == questions


async def test_a_question_of_a_process_that_went_away_is_due_elsewhere_when_its_lease_ends(
    database: URL, here: PostgresStore, there: PostgresStore
) -> None:
    await here.finish(closed(), [], [pending()], [])
    assert await here.due_questions(NOW_NS, 1) == [pending()]
    assert await there.due_questions(NOW_NS, 1) == []
    run(database, "UPDATE questions SET held_until_ns = 0")
    assert await there.due_questions(NOW_NS, 1) == [pending()]
    assert await here.due_questions(NOW_NS, 1) == []


async def test_a_question_that_is_being_asked_stays_with_its_process(
    database: URL, here: PostgresStore, there: PostgresStore
) -> None:
    await here.finish(closed(), [], [pending()], [])
    assert await here.due_questions(NOW_NS, 1) == [pending()]
    run(database, "UPDATE questions SET held_until_ns = 0")
    assert await here.due_questions(NOW_NS, 1, but_not=[pending().id]) == []
    assert await there.due_questions(NOW_NS, 1) == []


async def test_a_question_that_is_put_off_is_anybodys_again(here: PostgresStore, there: PostgresStore) -> None:
    await here.finish(closed(), [], [pending()], [])
    await here.due_questions(NOW_NS, 1)
    await here.postpone_question(pending().id, 1, NOW_NS + 5)
    (again,) = await there.due_questions(NOW_NS + 5, 1)
    assert again == replace(pending(), asked=1, next_ns=NOW_NS + 5)


async def test_each_verdict_is_sent_by_one_of_them(here: PostgresStore, there: PostgresStore) -> None:
    for number in range(8):
        await here.finish(closed(f"s-{number}"), [judged(f"s-{number}")], [], ["otlp"])
    both = await asyncio.gather(here.due_exports("otlp", NOW_NS, 4), there.due_exports("otlp", NOW_NS, 4))
    again = await asyncio.gather(here.due_exports("otlp", NOW_NS, 16), there.due_exports("otlp", NOW_NS, 16))
    ours, theirs = ({item.judged.id for item in items} for items in again)
    assert not ours & theirs
    assert len(ours | theirs) == 16, "each session has a composite too"
    assert {item.judged.id for item in both[0]} <= ours
    assert {item.judged.id for item in both[1]} <= theirs


async def test_a_batch_is_collected_by_one_of_them(here: PostgresStore, there: PostgresStore) -> None:
    await here.finish(closed(), [], [pending()], [])
    item = BatchItem(item_id(pending().id, 0), pending().id, 0, Reservation(0, "e", Amount(1, 1)), "model-a")
    await here.ledger.add_batch(Batch("batch-1", NOW_NS), [item])
    assert await here.ledger.batches() == [Batch("batch-1", NOW_NS)]
    assert await there.ledger.batches() == []
    await here.close()
    assert await there.ledger.batches() == [Batch("batch-1", NOW_NS)]


async def test_of_two_who_settle_the_last_questions_one_concludes(here: PostgresStore, there: PostgresStore) -> None:
    names = [f"s-{number}" for number in range(20)]
    for name in names:
        await here.finish(closed(name), [judged(name, evaluator="goal_completion")], _two(name), [])
    settled = await asyncio.gather(
        *(here.settle(answered(_two(name)[0], YES), []) for name in names),
        *(there.settle(answered(_two(name)[1], YES), []) for name in reversed(names)),
    )
    assert all(settled)
    for name in names:
        found = [one.verdict.evaluator for one in await here.verdicts(closed(name).ref)]
        assert found.count("composite") == 1, name
        assert len(found) == 4


def _two(name: str) -> list[PendingQuestion]:
    return [pending(name, ref="first"), pending(name, ref="second")]


async def test_of_two_revisions_of_one_number_one_is_kept(here: PostgresStore, there: PostgresStore) -> None:
    names = [f"s-{number}" for number in range(20)]
    mine = [finishing(closed(name), [judged(name)], [], next_only=True) for name in names]
    other = [finishing(closed(name, closed_ns=NOW_NS + 1), [], [], next_only=True) for name in reversed(names)]
    fates = await asyncio.gather(here.finish_all(mine, ["otlp"]), there.finish_all(other, ["otlp"]))
    pairs = list(zip(fates[0], reversed(fates[1]), strict=True))
    assert all(set(pair) == {Kept(), TooLate(1)} for pair in pairs)
    assert len(await here.sessions(SessionFilter(limit=100))) == 20
    assert await there.finish_all(mine, []) in ([KeptBefore()] * 20, [TooLate(1)] * 20)


async def test_together_they_never_set_aside_more_than_the_limit(here: PostgresStore, there: PostgresStore) -> None:
    budget = Budget((Limit("hour", "tokens", 1000),))
    reserved = await asyncio.gather(
        *(
            store.ledger.reserve(budget, Amount(90), f"e-{number % 3}", NOW_NS, high_risk=True)
            for number in range(20)
            for store in (here, there)
        )
    )
    assert sum(isinstance(one, Reservation) for one in reserved) == 11
    assert sum(hour.amount.tokens for hour in await here.ledger.spent(NOW_NS)) == 990


async def test_a_vote_that_comes_while_its_question_is_settled_is_paid_for(
    here: PostgresStore, there: PostgresStore
) -> None:
    questions = [pending(ref=str(number)) for number in range(20)]
    await here.finish(closed(), [], questions, [])
    hour_ns = NOW_NS // HOUR_NS * HOUR_NS
    charge = Charge(Reservation(hour_ns, "e", Amount()), Amount(5, 7))
    vote = Vote(None, "judge_refused", "", 5, 0)
    await asyncio.gather(
        *(here.settle(answered(one, YES), []) for one in questions),
        *(there.ledger.keep_vote(one.id, 0, vote, charge, key=None, now_ns=NOW_NS) for one in reversed(questions)),
    )
    assert await here.ledger.spent(NOW_NS) == [HourSpent(hour_ns, "e", Amount(100, 140))]
    assert await here.pending_questions() == 0


async def test_one_baseline_of_a_service_is_promoted(here: PostgresStore, there: PostgresStore) -> None:
    for name in "abcdef":
        await here.baselines.save(Baseline(name, "shop", None, NOW_NS, 0), [])
    await asyncio.gather(
        *(store.baselines.promote(name, NOW_NS) for name in "abcdef" for store in (here, there)),
    )
    assert sum(one.promoted_ns is not None for one in await here.baselines.all()) == 1


async def test_what_another_commits_late_is_counted_in_live_traffic(
    database: URL, here: PostgresStore, there: PostgresStore
) -> None:
    assert there._database.writing is not None
    with there._database.writing.begin() as connection:  # its verdict has the lower number and comes later
        finish_all(connection, [finishing(closed("slow"), [judged("slow")], [])], [])
        await here.finish(closed("fast"), [judged("fast")], [], [])
        looking = asyncio.create_task(here.baselines.live_counts(["shop"], Seen(), 0))
        await eventually(lambda: asyncio.to_thread(_waits, database), "waiting for whoever writes")
    counts = await looking
    later = await here.baselines.live_counts(["shop"], counts.seen, 0)
    counted = sum(one.count.passed + one.count.failed for one in (*counts.counts, *later.counts))
    assert counted == len(await here.find_verdicts(VerdictFilter())) == 3


def _waits(database: URL) -> bool:
    engine = create_engine(database)
    with engine.connect() as connection:
        waiting = connection.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted"))
    engine.dispose()
    return bool(waiting)


async def test_each_old_session_is_deleted_by_one_of_them(here: PostgresStore, there: PostgresStore) -> None:
    for number in range(12):
        name = f"s-{number}"
        await here.finish(closed(name), [judged(name)], [pending(name)], ["otlp"])
    deleted = await asyncio.gather(*(store.retention.purge(NOW_NS + 1, limit=3) for store in (here, there)))
    assert sum(deleted) == 12 - len(await here.sessions(SessionFilter()))
    while sum(await asyncio.gather(*(store.retention.purge(NOW_NS + 1, limit=3) for store in (here, there)))):
        pass
    assert (await here.sessions(SessionFilter()), await here.pending_questions()) == ([], 0)
    assert await here.outbox_size("otlp") == 0


async def test_text_that_postgresql_does_not_take_reads_back_as_it_was(here: PostgresStore) -> None:
    odd = ["nul\x00", "half \ud83d", "\x1a0000", "plain"]
    for text_ in odd:
        await here.baselines.save(Baseline(text_, text_, text_, NOW_NS, 0, note=text_), [])
    assert {one.name for one in await here.baselines.all()} == set(odd)
    assert {one.note for one in await here.baselines.all()} == set(odd)
    assert await here.baselines.delete("nul\x00")
    assert not await here.baselines.delete("nul0000")


async def test_a_connection_that_is_killed_costs_one_call_and_nothing_else(
    database: URL, here: PostgresStore, there: PostgresStore
) -> None:
    locker = create_engine(database)
    with locker.connect() as connection:
        connection.execute(text("LOCK TABLE sessions IN EXCLUSIVE MODE"))
        finishing_ = asyncio.create_task(here.finish(closed(), [judged()], [pending()], ["otlp"]))
        await eventually(lambda: asyncio.to_thread(_waits, database), "waiting for the lock")
        run(database, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted AND relation IS NOT NULL")
        with pytest.raises(StoreUnavailable, match="terminating connection"):
            await finishing_
    locker.dispose()
    assert await there.session("s-1") == []
    assert await here.finish(closed(), [judged()], [pending()], ["otlp"])
    assert await there.verdicts(closed().ref) == [judged(), pending().draft]


async def test_a_server_that_is_away_is_told_and_found_again(own_postgres: Server) -> None:
    store = PostgresStore.open(postgres_url(own_postgres.url), holder="here", limits=Limits(connect_s=2))
    assert await store.finish(closed(), [judged()], [], [])
    await asyncio.to_thread(own_postgres.stop)
    for attempt in (store.finish(closed("s-2"), [], [], []), store.sessions(SessionFilter())):
        with pytest.raises(StoreUnavailable, match=r"verdict store postgresql\+psycopg://tests@127.0.0.1"):
            await attempt
    assert "Connection refused" in (await store.problem() or "")
    await asyncio.to_thread(own_postgres.start)
    assert await store.problem() is None
    assert await store.finish(closed("s-2"), [], [], [])
    assert len(await store.sessions(SessionFilter())) == 2
    await store.close()


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    url = postgres_url("postgresql://me:secret@127.0.0.1:1/verdicts")
    with pytest.raises(StoreUnavailable, match=r"me:\*\*\*@127.0.0.1:1/verdicts: .*refused") as refused:
        PostgresStore.open(url, holder="here")
    assert "secret" not in str(refused.value)


async def test_several_that_start_at_once_make_the_tables_once(database: URL) -> None:
    opened = await asyncio.gather(
        *(asyncio.to_thread(PostgresStore.open, database, holder=str(number)) for number in range(4))
    )
    assert await opened[3].finish(closed(), [], [], [])
    assert [len(await one.session("s-1")) for one in opened] == [1] * 4
    for one in opened:
        await one.close()


def _add_a_column(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE sessions ADD COLUMN stepped INTEGER"))


async def test_tables_of_an_older_version_go_through_the_steps_and_of_a_newer_one_are_refused(
    database: URL, here: PostgresStore
) -> None:
    steps = {SCHEMA_VERSION - 1: _add_a_column}
    run(database, f"UPDATE schema_version SET version = {SCHEMA_VERSION - 1}")
    with pytest.raises(StoreOutdated, match=rf"an older SpanJudge \(schema {SCHEMA_VERSION - 1};"):
        PostgresStore.open(database, holder="cli", migrate=False)
    await PostgresStore.open(database, holder="new", steps=steps).close()
    run(database, "UPDATE sessions SET stepped = 1")
    run(database, "UPDATE schema_version SET version = 99")
    assert "a newer SpanJudge (schema 99" in (await here.problem() or "")
    with pytest.raises(StoreUnavailable, match="a newer SpanJudge"):
        PostgresStore.open(database, holder="old", read_only=True)


async def test_a_reader_makes_nothing_and_writes_nothing(database: URL) -> None:
    with pytest.raises(StoreUnavailable, match="is not a verdict store"):
        PostgresStore.open(database, holder="cli", read_only=True)
    await PostgresStore.open(database, holder="server").close()
    reader = PostgresStore.open(database, holder="cli", read_only=True)
    assert await reader.session("s-1") == []
    with pytest.raises(StoreUnavailable, match="opened for reading only"):
        await reader.finish(closed(), [], [], [])
    await reader.close()


async def test_processes_that_ask_and_finish_at_once_do_everything_once(database: URL) -> None:
    store = PostgresStore.open(database, holder="watching")
    command = [sys.executable, "-m", "tests.collector.store.replica"]
    url = database.render_as_string(hide_password=False)

    def replica(name: str) -> list[list[str]]:
        ended = subprocess.run([*command, url, name], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True)
        return [line.split() for line in ended.stdout.splitlines()]

    said = await asyncio.gather(*(asyncio.to_thread(replica, name) for name in ("first", "second", "third")))
    lines = [line for one in said for line in one]
    asked = [name for kind, name in lines if kind == "asked"]
    kept = [name for kind, name in lines if kind == "kept"]
    assert len(kept) == len(set(kept)) == 40
    assert len(asked) == len(set(asked)) == 80, "each question was asked once"
    assert await store.pending_questions() == 0
    assert len(await store.sessions(SessionFilter(limit=100))) == 40
    spent = sum(hour.amount.tokens for hour in await store.ledger.spent(NOW_NS))
    assert spent == 800 == sum(10 for kind, _ in lines if kind == "asked")
    await store.close()
