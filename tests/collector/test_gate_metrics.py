"""Failures that people are woken for: seen at the first, with the time of the last."""

from __future__ import annotations

from dataclasses import replace

from prometheus_client import generate_latest

from collector.metric_labels import MAX_VALUES, OTHER
from collector.metrics import Metrics
from collector.verdict_facts import Example, facts_of
from judge.verdict import Judged, NotJudged, Score
from tests.fakes.verdicts import NOW_NS, judged

LABELS = {
    "gate": "forbidden_events",
    "service": "shop",
    "evaluator": "forbidden_events",
    "case": "desk/never-delete",
    "agent_version": "7",
}


def forbidden(label: str = "violated", case: str = "desk/never-delete", judged_ns: int = NOW_NS) -> Judged:
    score = Score(0.0 if label == "violated" else 1.0, label, "")
    made = judged(evaluator="forbidden_events", outcome=score, skill=None, judged_ns=judged_ns)
    return replace(made, verdict=replace(made.verdict, case=case))


def test_a_failure_is_counted_with_the_time_of_the_last() -> None:
    metrics = Metrics()
    metrics.verdict(forbidden())
    metrics.verdict(forbidden(judged_ns=NOW_NS + 5_000_000_000))
    assert metrics.registry.get_sample_value("spanjudge_gate_failures_total", LABELS) == 2
    last = metrics.registry.get_sample_value("spanjudge_gate_last_failure_timestamp_seconds", LABELS)
    assert last == NOW_NS / 1e9 + 5


def test_failures_that_were_counted_together_are_all_there() -> None:
    metrics = Metrics()
    metrics.verdicts(facts_of(forbidden()), 3, Example(None, "s-1", NOW_NS))
    assert metrics.registry.get_sample_value("spanjudge_gate_failures_total", LABELS) == 3


def test_without_a_failure_there_is_no_series() -> None:
    metrics = Metrics()
    metrics.verdict(forbidden("clean"))
    assert "spanjudge_gate_last_failure_timestamp_seconds{" not in generate_latest(metrics.registry).decode()


def test_cases_without_end_are_folded_and_still_seen() -> None:
    metrics = Metrics()
    for number in range(MAX_VALUES + 1):
        metrics.verdict(forbidden(case=f"desk/{number}"))
    labels = {**LABELS, "case": OTHER}
    assert metrics.registry.get_sample_value("spanjudge_gate_last_failure_timestamp_seconds", labels) == NOW_NS / 1e9


def test_what_is_recalled_has_its_time_and_is_not_counted_and_never_hides_what_came_later() -> None:
    metrics = Metrics()
    metrics.gates.recall(forbidden())
    assert metrics.registry.get_sample_value("spanjudge_gate_failures_total", LABELS) is None
    name = "spanjudge_gate_last_failure_timestamp_seconds"
    assert metrics.registry.get_sample_value(name, LABELS) == NOW_NS / 1e9
    metrics.verdict(forbidden(judged_ns=NOW_NS + 5_000_000_000))
    metrics.gates.recall(forbidden())
    assert metrics.registry.get_sample_value(name, LABELS) == NOW_NS / 1e9 + 5


def undecided(case: str) -> Judged:
    made = judged(evaluator="composite", outcome=NotJudged("judge_unavailable"), skill=None, high_risk=True)
    return replace(made, verdict=replace(made.verdict, case=case))


def test_a_case_of_high_risk_that_was_not_judged_is_counted_with_the_reason_and_is_no_failure() -> None:
    metrics = Metrics()
    metrics.verdicts(facts_of(undecided("desk/refund")), 2, Example(None, "s-1", NOW_NS))
    labels = {"service": "shop", "evaluator": "composite", "case": "desk/refund", "agent_version": "7"}
    counted = metrics.registry.get_sample_value(
        "spanjudge_high_risk_undecided_total", {**labels, "reason": "judge_unavailable"}
    )
    assert counted == 2
    assert "spanjudge_gate_failures_total{" not in generate_latest(metrics.registry).decode()


def test_open_cases_without_end_are_folded_and_still_counted() -> None:
    metrics = Metrics()
    for number in range(MAX_VALUES + 3):
        metrics.verdict(undecided(f"desk/{number}"))
    labels = {"service": "shop", "evaluator": "composite", "case": OTHER, "agent_version": "7"}
    labels["reason"] = "judge_unavailable"
    assert metrics.registry.get_sample_value("spanjudge_high_risk_undecided_total", labels) == 3
