"""Questions that nobody asks end when their time is over, with or without a judge."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from collector.judge_building import build_without_judge
from collector.judge_config import JudgeSettings
from collector.judge_queue.expiring import WithoutJudge
from collector.metrics import Metrics
from collector.store.ledger import Batch, BatchItem, Reservation, Vote, item_id
from collector.store.obstacles import Obstacle, Told
from collector.store.sqlite import SqliteStore
from judge.budget import Amount
from judge.question import Answer
from judge.verdict import NotJudged, Score
from tests.collector.judge_queue.desk import ask
from tests.fakes.clock import FakeClock
from tests.fakes.verdicts import NOW_NS, closed

HOUR_S = 3_600
NO_JUDGE = NotJudged("no_judge_configured", "set a key")


class Place:
    """A store that an earlier configuration left questions in, and no judge."""

    def __init__(self, path: Path) -> None:
        self.clock = FakeClock(NOW_NS)
        self.metrics = Metrics()
        self.store = SqliteStore.open(path, busy_timeout_s=0.05)
        settings = JudgeSettings(max_wait_seconds=HOUR_S)
        self.without: WithoutJudge = build_without_judge(
            settings, NO_JUDGE, self.store, self.clock, self.metrics, exporters=["otlp"], on_verdict=lambda: None
        )

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"spanjudge_{name}", labels)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    place = Place(tmp_path / "verdicts.db")
    yield place
    await place.store.close()


async def test_without_a_judge_questions_wait_their_time_and_then_say_why(place: Place) -> None:
    await place.store.finish(closed(), [], [ask("a"), ask("b")], ["otlp"])
    place.clock.advance(HOUR_S)
    await place.without.look()
    assert await place.store.pending_questions() == 2
    assert place.metric("questions_oldest_seconds") == HOUR_S
    place.clock.advance(1)
    await place.without.look()
    outcomes = {one.verdict.outcome for one in await place.store.verdicts(closed().ref)}
    assert outcomes == {NotJudged("no_judge_configured", "waited 1.0 h; set a key")}
    assert await place.store.outbox_size("otlp") == 2
    assert place.metric("questions_expired_total", reason="no_judge_configured") == 2
    assert place.metric("questions_oldest_seconds") == 0


async def test_how_long_questions_of_high_risk_have_waited_is_told_apart(place: Place) -> None:
    await place.store.finish(closed(), [], [ask("a")], ["otlp"])
    await place.without.look()
    assert place.metric("questions_oldest_high_risk_seconds") == 0
    await place.store.finish(closed("s-2"), [], [ask("b", "s-2", high_risk=True)], ["otlp"])
    place.clock.advance(60)
    await place.without.look()
    assert place.metric("questions_oldest_high_risk_seconds") == 60


async def test_without_a_judge_questions_in_a_batch_end_too_and_a_judge_in_time_finds_the_batch(place: Place) -> None:
    question = ask("a")
    await place.store.finish(closed(), [], [question], [])
    item = BatchItem(item_id(question.id, 0), question.id, 0, Reservation(0, "e", Amount()), "model-a")
    await place.store.ledger.add_batch(Batch("batch-1", NOW_NS), [item])
    await place.without.look()
    assert await place.store.ledger.batch_items("batch-1") == [item]
    place.clock.advance(HOUR_S + 1)
    await place.without.look()
    assert await place.store.pending_questions() == 0
    assert await place.store.ledger.batch_items("batch-1") == []


async def test_without_a_judge_it_stands_in_the_store_what_questions_wait_for(place: Place) -> None:
    await place.without.look()
    assert await place.store.obstacles.told() == Told(NOW_NS, (Obstacle(NO_JUDGE.reason, NO_JUDGE.detail),))


async def test_votes_that_were_answered_still_count(place: Place) -> None:
    question = ask("a", votes=3)
    await place.store.finish(closed(), [], [question], [])
    for number in range(2):
        vote = Vote(Answer("Yes", "Because.", "model-a"))
        await place.store.ledger.keep_vote(question.id, number, vote, None, key=None, now_ns=NOW_NS)
    place.clock.advance(HOUR_S + 1)
    await place.without.look()
    (judged,) = await place.store.verdicts(closed().ref)
    assert isinstance(judged.verdict.outcome, Score)


async def test_any_number_of_questions_ends_at_one_look_damaged_ones_too(place: Place, tmp_path: Path) -> None:
    await place.store.finish(closed(), [], [ask(f"q{number}") for number in range(230)], [])
    with closing(sqlite3.connect(tmp_path / "verdicts.db")) as connection:
        connection.execute("UPDATE questions SET record = '{' WHERE number % 2")
        connection.commit()
    place.clock.advance(HOUR_S + 1)
    await place.without.look()
    assert await place.store.pending_questions() == 0
    assert place.metric("questions_unreadable_total") == 115


async def test_a_store_that_is_away_is_looked_at_again(place: Place, tmp_path: Path) -> None:
    await place.store.finish(closed(), [], [ask("a")], [])
    place.clock.advance(HOUR_S + 1)
    with closing(sqlite3.connect(tmp_path / "verdicts.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await place.without.look()
        other.rollback()
    assert await place.store.pending_questions() == 1
    await place.without.look()
    assert await place.store.pending_questions() == 0
