"""The composite is kept with the last verdict of a closing: at once, or when its last question is settled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from collector.concluding import composites_for, conclude
from collector.store.sqlite import SqliteStore
from collector.store.store import SessionFilter
from judge.composite import CompositeRules
from judge.passing import COMPOSITE
from judge.verdict import Judged, NotJudged, Score, Verdict, verdict_id
from tests.fakes.verdicts import NOW_NS, answered, closed, judged, pending

YES, NO = Score(1.0, "yes", ""), Score(0.0, "no", "")


def of_case(evaluator: str, outcome: Score, case: str = "desk/refund") -> Judged:
    made = judged(evaluator=evaluator, outcome=outcome, skill=None, ref="session")
    verdict = replace(made.verdict, case=case)
    return replace(made, id=verdict_id(made.session, verdict), verdict=verdict)


def composites_among(verdicts: list[Judged]) -> list[Judged]:
    return [one for one in verdicts if one.verdict.evaluator == COMPOSITE]


@pytest.fixture
def told() -> list[Judged]:
    return []


@pytest_asyncio.fixture
async def store(tmp_path: Path, told: list[Judged]) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "v.db", concluding=composites_for(CompositeRules(), told.append))
    yield opened
    await opened.close()


def test_it_stands_where_the_verdicts_on_the_session_stand() -> None:
    skill = judged(outcome=YES)
    session = of_case("skill_expected", YES)
    (found,) = conclude([replace(skill, judged_ns=NOW_NS + 5), session])
    assert found.verdict.subject == session.verdict.subject
    assert (found.agent_version, found.skill_version, found.judged_ns) == ("7", None, NOW_NS + 5)
    assert found.verdict.case == "desk/refund"


def test_doing_it_again_with_its_own_work_among_the_verdicts_gives_the_same() -> None:
    verdicts = [of_case("skill_expected", YES), of_case("required_steps", NO)]
    once = conclude(verdicts)
    assert conclude([*verdicts, *once]) == once


def test_of_nothing_nothing_follows() -> None:
    assert conclude([]) == ()


async def test_without_questions_it_is_kept_and_queued_with_the_session(store: SqliteStore, told: list[Judged]) -> None:
    await store.finish(closed(), [of_case("skill_expected", YES)], [], ["otlp"])
    (found,) = composites_among(await store.verdicts(closed().ref))
    assert found.verdict.outcome == Score(
        1.0, "pass", "1.00 = 1.00 x selection 1.00 (skill_expected); without adherence and answer, which did not apply"
    )
    assert [item.judged for item in await store.due_exports("otlp", NOW_NS, 10)][-1] == found
    assert told == [found]


async def test_with_open_questions_it_waits_for_the_last_of_them(store: SqliteStore, told: list[Judged]) -> None:
    first, second = pending(ref="q1"), pending(ref="q2")
    await store.finish(closed(), [], [first, second], ["otlp"])
    assert await store.settle(answered(first, YES), ["otlp"])
    assert told == composites_among(await store.verdicts(closed().ref)) == []
    assert await store.settle(answered(second, NO), ["otlp"])
    (found,) = composites_among(await store.verdicts(closed().ref))
    assert isinstance(found.verdict.outcome, Score)
    assert (found.verdict.outcome.value, found.verdict.outcome.label) == (0.5, "fail")
    assert told == [found]
    assert await store.outbox_size("otlp") == 3


async def test_settling_again_tells_nobody_again(store: SqliteStore, told: list[Judged]) -> None:
    question = pending()
    await store.finish(closed(), [], [question], [])
    assert await store.settle(answered(question, YES), [])
    assert not await store.settle(answered(question, NO), [])
    assert len(told) == 1


async def test_a_question_that_nobody_could_answer_makes_it_not_judged(store: SqliteStore) -> None:
    question = pending()
    await store.finish(closed(), [], [question], [])
    await store.settle(answered(question, NotJudged("judge_refused", "no")), [])
    (found,) = composites_among(await store.verdicts(closed().ref))
    assert isinstance(found.verdict.outcome, NotJudged)
    assert found.verdict.outcome.reason == "judge_refused"


async def test_a_failed_composite_counts_as_failed_in_lists_though_its_score_is_high(store: SqliteStore) -> None:
    verdicts = [of_case("skill_expected", YES), of_case("required_steps", Score(0.5, "incomplete", ""))]
    await store.finish(closed(), verdicts, [], [])
    (listed,) = await store.sessions(SessionFilter())
    assert (listed.passed, listed.failed) == (2, 1)


async def test_a_store_that_nothing_was_said_to_concludes_nothing(tmp_path: Path) -> None:
    plain = SqliteStore.open(tmp_path / "plain.db")
    made: Verdict = of_case("skill_expected", YES).verdict
    await plain.finish(closed(), [of_case("skill_expected", YES)], [], [])
    assert [one.verdict for one in await plain.verdicts(closed().ref)] == [made]
    await plain.close()
