"""Which verdicts somebody is woken for, and which are a matter of rates."""

from __future__ import annotations

import pytest

from judge.gate_failures import failed_gate, leaves_high_risk_open
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


UNKNOWN = NotJudged("judge_unavailable")


@pytest.mark.parametrize("evaluator", ["composite", "forbidden_events", "budgets", "step_efficiency"])
def test_a_case_of_high_risk_stays_open_when_what_could_fail_it_was_not_judged(evaluator: str) -> None:
    assert leaves_high_risk_open(verdict(evaluator, UNKNOWN, high_risk=True))
    assert leaves_high_risk_open(verdict(evaluator, NotJudged("content_not_recorded"), high_risk=True))


@pytest.mark.parametrize(
    "closed",
    [
        verdict("composite", UNKNOWN),
        verdict("composite", UNKNOWN, high_risk=True, case=None),
        verdict("answer_contains", UNKNOWN, high_risk=True),
        verdict("composite", FAILED, high_risk=True),
        verdict("composite", NotApplicable("nothing"), high_risk=True),
        verdict("composite", NotJudged("no_judge_configured"), high_risk=True),
    ],
)
def test_nothing_stays_open_by_what_is_of_another_risk_no_gate_known_or_without_a_judge_by_intent(
    closed: Verdict,
) -> None:
    assert not leaves_high_risk_open(closed)
