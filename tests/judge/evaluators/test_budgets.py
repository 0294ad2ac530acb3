"""budgets: limits on time, tokens, calls and money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from extractors.trajectory import Step
from judge.evaluators.budgets import SECOND_NS, BudgetsKept
from judge.options import EvaluatorOptions
from judge.prices import ModelPrice
from judge.verdict import NotApplicable, NotJudged, Outcome, Score
from tests.judge.trajectories import call, case, step, trajectory

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
    assert outcome == NotJudged(
        "content_not_recorded",
        "not known for the whole session: tokens (at least 125: not every model turn states its tokens)",
    )
    assert isinstance(_outcome("{tokens: 1000}"), NotJudged)


def test_what_was_recorded_may_already_be_too_much() -> None:
    outcome = _outcome("{tokens: 110}", steps=(COUNTED, step(2)))
    assert outcome == Score(0.0, "over", "over budget: 120 of 110 tokens")


def test_a_session_without_times_is_not_judged_for_time() -> None:
    assert isinstance(_outcome("{seconds: 10}"), NotJudged)


def test_without_limits_nothing_applies() -> None:
    (verdict,) = BudgetsKept().plan(trajectory(**TIMED), [case("budgets: {repeated_calls: 3}")])
    assert verdict.outcome == NotApplicable("no case limits time, tokens, calls or money")


def test_calls_are_counted() -> None:
    calls = (call("find", number=1), call("find", number=2))
    (verdict,) = BudgetsKept().plan(trajectory(*calls), [case("budgets: {tool_calls: 1}")])
    assert verdict.outcome == Score(0.0, "over", "over budget: 2 of 1 tool calls")


PRICES = {"small-*": ModelPrice(1, 5), "*": ModelPrice(10, 50)}


def _dollars(limit: float, *turns: Step, prices: Mapping[str, ModelPrice] = PRICES) -> Outcome:
    evaluator = BudgetsKept(EvaluatorOptions(prices=prices))
    (verdict,) = evaluator.plan(trajectory(steps=turns), [case(f"budgets: {{dollars: {limit}}}")])
    return verdict.outcome


def _turn(model: str | None, input_tokens: int | None = 1_000_000) -> Step:
    return step(1, model_answered=model, input_tokens=input_tokens, output_tokens=100_000)


def test_money_is_tokens_at_the_price_that_fits_the_model_best() -> None:
    outcome = _dollars(2, _turn("small-1"))
    assert outcome == Score(1.0, "within", "used 1.5 of 2 dollars")
    assert _dollars(16, _turn("small-1"), _turn("large-1")) == Score(0.0, "over", "over budget: 16.5 of 16 dollars")


@pytest.mark.parametrize(
    ("turns", "prices", "gap"),
    [
        ([_turn("large-1")], {"small-*": ModelPrice(1, 5)}, "evaluators.budgets.prices has no price for large-1"),
        ([_turn(None)], PRICES, "a model turn does not name its model"),
        ([_turn("small-1", None)], PRICES, "not every model turn states its tokens"),
        ([], PRICES, "no model turn was recorded"),
    ],
)
def test_money_that_is_not_known_is_not_taken_for_none(
    turns: list[Step], prices: Mapping[str, ModelPrice], gap: str
) -> None:
    outcome = _dollars(100, *turns, prices=prices)
    assert isinstance(outcome, NotJudged)
    assert gap in outcome.detail
