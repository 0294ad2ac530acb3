"""budgets: limits on time and tokens."""

from __future__ import annotations

from typing import Any

from judge.evaluators.budgets import SECOND_NS, BudgetsKept
from judge.verdict import NotApplicable, NotJudged, Outcome, Score
from tests.judge.trajectories import case, step, trajectory

TIMED: dict[str, Any] = {"started_ns": 100 * SECOND_NS, "ended_ns": 130 * SECOND_NS}
COUNTED = step(1, input_tokens=100, output_tokens=20)


def _outcome(budgets: str, **session: Any) -> Outcome:
    (verdict,) = BudgetsKept().plan(trajectory(**session), [case(f"budgets: {budgets}")])
    return verdict.outcome


def test_within_every_limit() -> None:
    outcome = _outcome("{seconds: 30, tokens: 120}", steps=(COUNTED,), **TIMED)
    assert outcome == Score(1.0, "within", "used 30 of 30 seconds, 120 of 120 tokens")


def test_over_one_limit_is_over() -> None:
    outcome = _outcome("{seconds: 29, tokens: 120}", steps=(COUNTED,), **TIMED)
    assert outcome == Score(0.0, "over", "over budget: 30 of 29 seconds")


def test_tokens_of_a_turn_that_were_not_recorded_are_not_taken_for_none() -> None:
    outcome = _outcome("{tokens: 1000}", steps=(COUNTED, step(2, input_tokens=5)))
    assert outcome == NotJudged("content_not_recorded", "not recorded for the whole session: tokens (at least 125)")
    assert isinstance(_outcome("{tokens: 1000}"), NotJudged)


def test_what_was_recorded_may_already_be_too_much() -> None:
    outcome = _outcome("{tokens: 110}", steps=(COUNTED, step(2)))
    assert outcome == Score(0.0, "over", "over budget: 120 of 110 tokens")


def test_a_session_without_times_is_not_judged_for_time() -> None:
    assert isinstance(_outcome("{seconds: 10}"), NotJudged)


def test_without_limits_nothing_applies() -> None:
    (verdict,) = BudgetsKept().plan(trajectory(**TIMED), [case("budgets: {tool_calls: 3}")])
    assert verdict.outcome == NotApplicable("no case limits time or tokens")
