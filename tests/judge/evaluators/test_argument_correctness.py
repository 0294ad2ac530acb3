"""argument_correctness: were the arguments of each call right?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from extractors.trajectory import ToolCall, ToolDefinition
from judge.evaluators.argument_correctness import MOST_CHECKED, ArgumentCorrectness
from judge.options import EvaluatorOptions
from judge.question import Question
from judge.suites import Case
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, Verdict
from tests.judge.trajectories import call, case, trajectory

SCHEMA = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount", "currency"]}
EUR = case("required_steps: [{tool: pay_back, arguments: {currency: EUR}}]")
ASK = EvaluatorOptions(ask=True)


def _findings(
    *calls: ToolCall, schema: Mapping[str, Any] | None = SCHEMA, cases: tuple[Case, ...] = (), **rest: Any
) -> list[Question | Verdict]:
    tools = (ToolDefinition("pay_back", "Pays back", schema),)
    options = rest.pop("options", EvaluatorOptions())
    return list(ArgumentCorrectness(options).plan(trajectory(*calls, **({"tool_definitions": tools} | rest)), cases))


def _outcomes(*calls: ToolCall, **rest: Any) -> list[Outcome]:
    return [one.outcome for one in _findings(*calls, **rest) if isinstance(one, Verdict)]


def test_arguments_are_checked_against_the_recorded_definition() -> None:
    good, bad = _findings(
        call("pay_back", {"amount": 9.5, "currency": "EUR"}, number=1), call("pay_back", {"amount": "9"}, number=2)
    )
    assert isinstance(good, Verdict)
    assert isinstance(bad, Verdict)
    assert good.outcome == Score(1.0, "valid", "the arguments of pay_back are what its definition asks for")
    assert bad.outcome == Score(0.0, "invalid", "pay_back: amount is not of type number; arguments lacks currency")
    assert (bad.subject.kind, bad.case) == ("tool_call", None)


@pytest.mark.parametrize(
    ("invocation", "session", "reason"),
    [
        (call("pay_back"), {}, "content_not_recorded"),
        (call("pay_back", arguments_text='{"amount": 9, "curr'), {}, "content_not_recorded"),
        (call("other", {}), {}, "content_not_recorded"),
        (call("pay_back", {}), {"schema": None}, "content_not_recorded"),
        (call("pay_back", {}), {"tool_definitions": None}, "content_not_recorded"),
        (call("pay_back", {}), {"schema": {"$ref": "#"}}, "schema_unusable"),
    ],
)
def test_what_cannot_be_checked_is_not_judged(invocation: ToolCall, session: dict[str, Any], reason: str) -> None:
    (outcome,) = _outcomes(invocation, **session)
    assert isinstance(outcome, NotJudged)
    assert outcome.reason == reason


def test_tools_without_a_schema_are_told_once_and_the_others_are_checked() -> None:
    calls = [call("other", {}, number=1), call("another", {}, number=2), call("other", {}, number=3)]
    checked, gap = _findings(call("pay_back", {"amount": 1, "currency": "EUR"}, number=4), *calls)
    assert isinstance(checked, Verdict)
    assert isinstance(gap, Verdict)
    assert checked.subject.kind == "tool_call"
    assert gap.subject.kind == "session"
    told = "no schema of the arguments was recorded for another, other"
    assert gap.outcome == NotJudged("content_not_recorded", told)


def test_calls_after_the_first_thousands_are_counted_and_not_checked() -> None:
    calls = [call("pay_back", {"amount": 1, "currency": "EUR"}, number=number) for number in range(MOST_CHECKED + 3)]
    *checked, over = _outcomes(*calls, call("other", {}, number=9_999))
    assert len(checked) == MOST_CHECKED
    told = "3 calls after the first 2000 were not checked; no schema of the arguments was recorded for other"
    assert over == NotJudged("over_limit", told)


def test_a_pattern_that_was_passed_over_is_told() -> None:
    schema = {"properties": {"amount": {"pattern": "^(a+)+$"}}}
    (outcome,) = _outcomes(call("pay_back", {"amount": "aaaa"}), schema=schema)
    assert isinstance(outcome, Score)
    assert outcome.explanation.endswith("(pattern not checked)")


def test_arguments_that_a_case_requires_are_held_against_the_calls_of_that_tool() -> None:
    right = call("pay_back", {"currency": "EUR"}, number=1)
    wrong = call("pay_back", {"currency": "USD"}, number=2)
    (alone,) = _by_case(wrong)
    assert isinstance(alone.outcome, Score)
    assert (alone.outcome.label, alone.case) == ("not_expected", "s/c")
    assert "EUR" in alone.outcome.explanation
    (beside,) = _by_case(wrong, right)
    assert isinstance(beside.outcome, Score)
    assert (beside.outcome.label, beside.subject.ref) == ("as_expected", right.anchor.ref)
    (unknown,) = _by_case(call("pay_back"))
    assert isinstance(unknown.outcome, NotJudged)
    assert _by_case(call("other", {})) == []


def _by_case(*calls: ToolCall) -> list[Verdict]:
    return [one for one in _findings(*calls, cases=(EUR,)) if isinstance(one, Verdict) and one.case is not None]


def test_a_judge_is_asked_only_if_that_is_set_and_only_about_calls_that_are_not_invalid() -> None:
    good = call("pay_back", {"amount": 9.5, "currency": "EUR"}, number=1)
    bad = call("pay_back", {}, number=2)
    assert not any(isinstance(one, Question) for one in _findings(good, bad))
    invalid, question = _findings(good, bad, options=ASK)
    assert isinstance(invalid, Verdict)
    assert isinstance(question, Question)
    assert (invalid.subject.ref, question.subject.ref) == (bad.anchor.ref, good.anchor.ref)
    assert dict(question.scale.values) == {"Grounded": 1.0, "Invented": 0.0}


def test_no_call_has_two_findings_of_one_kind() -> None:
    calls = [call("pay_back", {"amount": 1, "currency": "EUR"}, number=number) for number in range(4)]
    for options in (EvaluatorOptions(), ASK):
        findings = _findings(*calls, call("pay_back", number=9), cases=(EUR,), options=options)
        keys = [(one.case, one.subject.ref) for one in findings]
        assert len(keys) == len(set(keys))


def test_without_calls_nothing_applies() -> None:
    assert _outcomes() == [NotApplicable("no tool was called")]
