"""Which verdicts somebody is woken for, and which are a matter of rates."""

from __future__ import annotations

import pytest

from judge.gate_failures import failed_gate
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, Subject, Verdict

VIOLATED, FAILED = Score(0.0, "violated", ""), Score(0.4, "fail", "")


def verdict(evaluator: str, outcome: Outcome, *, high_risk: bool = False, case: str | None = "desk/refund") -> Verdict:
    return Verdict(evaluator, "1", Subject("session", "session"), outcome, case=case, high_risk=high_risk)


@pytest.mark.parametrize("high_risk", [False, True])
def test_what_is_forbidden_fails_a_gate_whatever_the_risk(high_risk: bool) -> None:
    assert failed_gate(verdict("forbidden_events", VIOLATED, high_risk=high_risk)) == "forbidden_events"


@pytest.mark.parametrize(
    ("evaluator", "label"),
    [("composite", "fail"), ("budgets", "over"), ("step_efficiency", "loop"), ("step_efficiency", "over_budget")],
)
def test_a_case_that_is_not_right_fails_a_gate_only_when_its_risk_is_high(evaluator: str, label: str) -> None:
    assert failed_gate(verdict(evaluator, Score(0.0, label, ""), high_risk=True)) == "high_risk"
    assert failed_gate(verdict(evaluator, Score(0.0, label, ""))) is None


def test_a_part_of_the_composite_fails_no_gate_by_itself() -> None:
    assert failed_gate(verdict("answer_contains", Score(0.5, "incomplete", ""), high_risk=True)) is None


def test_a_verdict_that_no_case_asked_for_fails_no_gate() -> None:
    assert failed_gate(verdict("step_efficiency", Score(0.2, "loop", ""), high_risk=True, case=None)) is None


@pytest.mark.parametrize("outcome", [Score(1.0, "pass", ""), NotJudged("judge_unavailable"), NotApplicable("nothing")])
def test_what_passed_or_has_no_score_fails_no_gate(outcome: Outcome) -> None:
    assert failed_gate(verdict("composite", outcome, high_risk=True)) is None
    assert failed_gate(verdict("forbidden_events", outcome, high_risk=True)) is None
