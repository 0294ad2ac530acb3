"""error_recovery: what came after each failed call."""

from __future__ import annotations

from typing import Any

import pytest

from extractors.trajectory import CallOutcome, ToolCall
from judge.evaluators.error_recovery import ErrorRecovery
from judge.verdict import NotApplicable, NotJudged, Score, Verdict
from tests.judge.trajectories import call, failed, step, trajectory

FAILED_LAST = failed("a", {"n": 1}, start_ns=10, end_ns=20)


def _verdicts(*calls: ToolCall, **rest: Any) -> list[Verdict]:
    return list(ErrorRecovery().plan(trajectory(*calls, **rest), []))


def _labels(*calls: ToolCall, **rest: Any) -> list[str]:
    outcomes = [verdict.outcome for verdict in _verdicts(*calls, **rest)]
    assert all(isinstance(outcome, Score) for outcome in outcomes), outcomes
    return [outcome.label for outcome in outcomes if isinstance(outcome, Score)]


def _calls(text: str) -> list[ToolCall]:
    """`a!` is a failed call of `a`, `a?` one without an outcome, `a-` a refused one, `a` one that worked."""
    outcomes = {"!": CallOutcome.FAILED, "?": CallOutcome.UNANSWERED, "-": CallOutcome.REFUSED, "": CallOutcome.OK}
    return [call(name[0], {"n": at}, outcomes[name[1:]], number=at + 1) for at, name in enumerate(text.split())]


@pytest.mark.parametrize(
    ("calls", "labels"),
    [
        ("a! a", ["retried_once"]),
        ("a! b a", ["retried_once"]),
        ("a! a?", ["retried_once"]),
        ("a! a! a", ["retried", "retried"]),
        ("a! b", ["switched"]),
        ("a! a! b", ["switched", "switched"]),
        ("a! b! c", ["switched", "switched"]),
        ("a! a! a! a", ["thrashed"] * 3),
        ("a! a! a!", ["thrashed"] * 3),
        ("a! b! a! b! a! b", ["thrashed", "retried", "thrashed", "retried", "thrashed"]),
        ("a! a a! a", ["retried_once", "retried_once"]),
        ("a! b-", ["gave_up"]),
        ("a! a-", ["gave_up"]),
    ],
)
def test_labels(calls: str, labels: list[str]) -> None:
    assert _labels(*_calls(calls), answer="x") == labels


def test_going_on_without_the_call_is_giving_up() -> None:
    assert _labels(FAILED_LAST, steps=(step(5), step(21))) == ["gave_up"]
    assert _labels(failed("a", {"n": 1}), answer="I could not read it.") == ["gave_up"]


def test_a_session_that_stops_there_ended_on_the_error() -> None:
    assert _labels(FAILED_LAST, steps=(step(5),)) == ["ended_on_error"]
    assert _labels(FAILED_LAST, steps=(step(5), step(21, error="overloaded"))) == ["ended_on_error"]


def test_an_earlier_turns_answer_does_not_count_as_going_on() -> None:
    assert _labels(FAILED_LAST, steps=(step(5),), answer="said before the call") == ["ended_on_error"]


def test_what_came_after_may_not_have_been_recorded() -> None:
    (verdict,) = _verdicts(failed("a", {"n": 1}))
    assert isinstance(verdict.outcome, NotJudged)
    assert verdict.outcome.reason == "content_not_recorded"


def test_another_agents_calls_neither_repair_nor_spoil() -> None:
    mine, other = failed("a", {}), failed("a", {}, agent="helper", number=2)
    assert _labels(mine, other, call("a", {}, number=3), call("b", {}, agent="helper", number=4)) == [
        "retried_once",
        "switched",
    ]


def test_the_verdict_names_the_call_and_the_facts() -> None:
    (verdict,) = _verdicts(failed("read", {"path": "/x"}, "no such\nfile", number=7), call("read", {"path": "/y"}))
    assert (verdict.subject.kind, verdict.subject.name) == ("tool_call", "read")
    assert verdict.subject.ref.endswith("0007")
    assert isinstance(verdict.outcome, Score)
    assert verdict.outcome.explanation == ('read {"path":"/x"} failed: no such file; then worked as read {"path":"/y"}')


def test_two_failures_in_one_span_are_two_subjects() -> None:
    refs = [verdict.subject.ref for verdict in _verdicts(failed("a", {}), failed("a", {}), call("a", {}))]
    assert [ref[-2:] for ref in refs] == ["#0", "#1"]


def test_scores_fall_from_recovery_to_surrender() -> None:
    stories = {
        "retried_once": _verdicts(*_calls("a! a")),
        "switched": _verdicts(*_calls("a! b")),
        "retried": _verdicts(*_calls("a! a! a")),
        "gave_up": _verdicts(*_calls("a! b-")),
        "thrashed": _verdicts(*_calls("a! a! a!")),
        "ended_on_error": _verdicts(FAILED_LAST, steps=(step(5),)),
    }
    scores = {}
    for label, (verdict, *_) in stories.items():
        assert isinstance(verdict.outcome, Score)
        assert verdict.outcome.label == label
        scores[label] = verdict.outcome.value
    assert list(scores.values()) == [1.0, 1.0, 0.75, 0.5, 0.25, 0.0]


def test_refused_calls_are_not_failures_and_without_failures_nothing_applies() -> None:
    (verdict,) = _verdicts(*_calls("a- b a?"))
    assert verdict.outcome == NotApplicable("no call failed")
