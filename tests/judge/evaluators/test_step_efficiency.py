"""step_efficiency: repeats, loops and budgets of calls."""

from __future__ import annotations

import pytest

from extractors.trajectory import ToolCall
from judge.evaluators.step_efficiency import StepEfficiency
from judge.verdict import NotApplicable, NotJudged, Outcome, Score
from tests.judge.trajectories import call, case, failed, trajectory


def _calls(names: str) -> list[ToolCall]:
    """`a1` is a call of `a` with argument 1."""
    return [call(name[0], {"n": name[1:]}) for name in names.split()]


def _outcome(*calls: ToolCall) -> Outcome:
    (verdict,) = StepEfficiency().plan(trajectory(*calls), [])
    assert verdict.case is None
    return verdict.outcome


@pytest.mark.parametrize(
    ("calls", "label", "value"),
    [
        ("a1", "efficient", 1.0),
        ("a1 b1 a2 b2 a3", "efficient", 1.0),
        ("a1 b1 a1 c1", "repeats", 0.75),
        ("a1 a1", "repeats", 0.5),
        ("a1 a1 a1", "loop", 1 / 3),
        ("b1 a1 a1 a1 a1", "loop", 0.4),
        ("a1 b1 a1 c1 a1 d1", "repeats", 4 / 6),
        ("a1 b1 a1 b1", "repeats", 0.5),
        ("a1 b1 a1 b1 a1 b1", "loop", 2 / 6),
        ("x1 a1 b1 c1 d1 a1 b1 c1 d1 a1 b1 c1 d1", "loop", 5 / 13),
        ("a1 b1 c1 d1 e1 a1 b1 c1 d1 e1 a1 b1 c1 d1 e1", "repeats", 5 / 15),
    ],
)
def test_circles(calls: str, label: str, value: float) -> None:
    outcome = _outcome(*_calls(calls))
    assert isinstance(outcome, Score)
    assert outcome.label == label
    assert outcome.value == pytest.approx(value)


def test_the_explanation_names_the_loop_and_its_rounds() -> None:
    outcome = _outcome(*_calls("a1 b1 a1 b1 a1 b1 a1"))
    assert isinstance(outcome, Score)
    assert outcome.explanation == '3 times in a row: a {"n":"1"}, b {"n":"1"}'


def test_the_order_of_an_arguments_keys_makes_no_difference() -> None:
    outcome = _outcome(call("a", {"x": 1, "y": 2}), call("a", {"y": 2, "x": 1}))
    assert isinstance(outcome, Score)
    assert outcome.label == "repeats"


def test_trying_again_after_a_failure_is_no_repeat() -> None:
    outcome = _outcome(failed("a", {"n": 1}), call("a", {"n": 1}))
    assert isinstance(outcome, Score)
    assert outcome.label == "efficient"


def test_two_agents_that_do_the_same_do_not_repeat_each_other() -> None:
    outcome = _outcome(call("a", {}), call("a", {}, agent="helper"))
    assert isinstance(outcome, Score)
    assert outcome.label == "efficient"


def test_a_loop_is_seen_through_another_agents_calls() -> None:
    mine, other = call("a", {}), call("b", {}, agent="helper")
    outcome = _outcome(mine, other, mine, mine, other)
    assert isinstance(outcome, Score)
    assert outcome.label == "loop"


def test_arguments_that_were_not_recorded_may_be_the_same_or_not() -> None:
    outcome = _outcome(call("a"), call("a"))
    assert isinstance(outcome, NotJudged)
    assert outcome.reason == "content_not_recorded"
    different_tools = _outcome(call("a"), call("b"))
    assert isinstance(different_tools, Score)
    assert different_tools.label == "efficient"


def test_without_calls_nothing_applies() -> None:
    assert _outcome() == NotApplicable("no tool was called")


@pytest.mark.parametrize(
    ("budgets", "calls", "label", "value"),
    [
        ("{tool_calls: 3}", "a1 b1 c1", "efficient", 1.0),
        ("{tool_calls: 2}", "a1 b1 c1 d1", "over_budget", 0.5),
        ("{tool_calls: 0}", "a1", "over_budget", 0.0),
        ("{tool_calls: 0}", "", "efficient", 1.0),
        ("{repeated_calls: 1}", "a1 a1 b1", "efficient", 1.0),
        ("{repeated_calls: 0}", "a1 a1 b1", "over_budget", 2 / 3),
        ("{tool_calls: 9}", "a1 a1", "repeats", 0.5),
        ("{tool_calls: 9, repeated_calls: 9}", "a1 a1 a1", "loop", 1 / 3),
    ],
)
def test_a_case_with_a_budget_gets_a_verdict_of_its_own(budgets: str, calls: str, label: str, value: float) -> None:
    wanted = case(f"budgets: {budgets}\nrisk: high")
    verdicts = StepEfficiency().plan(trajectory(*_calls(calls)), [wanted, case("risk: high")])
    (verdict,) = [verdict for verdict in verdicts if verdict.case is not None]
    assert isinstance(verdict.outcome, Score)
    assert verdict.outcome.label == label
    assert verdict.outcome.value == pytest.approx(value)
    assert verdict.high_risk


def test_calls_beside_the_required_steps_are_told() -> None:
    wanted = case("budgets: {tool_calls: 9}\nrequired_steps: [{tool: a}]")
    *_, verdict = StepEfficiency().plan(trajectory(*_calls("a1 b1 c1")), [wanted])
    assert isinstance(verdict.outcome, Score)
    assert verdict.outcome.explanation.endswith("beside the required steps: b, c")
