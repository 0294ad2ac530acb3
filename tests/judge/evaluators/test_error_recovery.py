"""error_recovery: what came after each failed call."""

from __future__ import annotations

from typing import Any

import pytest

from extractors.trajectory import CallOutcome, ToolCall
from judge.evaluators.error_recovery import ErrorRecovery
from judge.options import EvaluatorOptions
from judge.question import Question
from judge.verdict import NotApplicable, NotJudged, Score, Verdict
from tests.judge.trajectories import call, case, failed, step, trajectory

ASK = EvaluatorOptions(ask=True)
FAILED_LAST = failed("a", {"n": 1}, start_ns=10, end_ns=20)


def _verdicts(*calls: ToolCall, **rest: Any) -> list[Verdict]:
    return [one for one in ErrorRecovery().plan(trajectory(*calls, **rest), []) if isinstance(one, Verdict)]


def _asked(*calls: ToolCall, **rest: Any) -> tuple[list[Question], list[Verdict]]:
    findings = ErrorRecovery(ASK).plan(trajectory(*calls, **rest), [])
    return (
        [one for one in findings if isinstance(one, Question)],
        [one for one in findings if isinstance(one, Verdict)],
    )


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


def test_a_judge_is_asked_only_where_code_goes_by_appearance() -> None:
    for calls in ("a! a", "a! a! a", "a! a! a!", "a b"):
        questions, verdicts = _asked(*_calls(calls), answer="x")
        assert questions == []
        assert [one.outcome for one in verdicts] == [one.outcome for one in _verdicts(*_calls(calls), answer="x")]
    for calls in ("a! b", "a! b-"):
        (question,), verdicts = _asked(*_calls(calls), answer="x")
        assert verdicts == []
        assert (question.subject.kind, question.subject.name) == ("tool_call", "a")


def test_without_ask_nobody_is_asked_and_the_version_says_so() -> None:
    assert ErrorRecovery().version == "1"
    assert ErrorRecovery(ASK).version == "1+v2"


def test_an_episode_is_one_question_at_its_last_failure() -> None:
    (question,), (earlier,) = _asked(*_calls("a! a! b"))
    assert earlier.outcome == NotApplicable("judged with the last failure of this tool")
    assert earlier.subject.ref.endswith("1")
    assert question.subject.ref.endswith("2")


def test_the_judge_sees_the_call_its_error_and_what_came_after() -> None:
    (question,), _ = _asked(
        failed("read", {"path": "/x"}, "no such <file>", start_ns=1, end_ns=2),
        call("search", {"for": "x"}, number=2, result="it is in /y", start_ns=3, end_ns=4),
        answer="It moved to /y.",
    )
    assert "<tool>read</tool>" in question.prompt.question
    assert "<error>no such &lt;file></error>" in question.prompt.question
    assert "it is in /y" in question.prompt.prefix
    assert "It moved to /y." in question.prompt.prefix


def test_an_error_text_that_was_not_recorded_is_told_as_that() -> None:
    (question,), _ = _asked(call("a", {}, CallOutcome.FAILED), answer="x")
    assert '<error state="not recorded"/>' in question.prompt.question


def test_without_the_task_nobody_is_asked_about_it() -> None:
    questions, (verdict,) = _asked(*_calls("a! b"), task=None)
    assert questions == []
    assert verdict.outcome == NotJudged("content_not_recorded", "the task was not recorded")


def test_questions_are_limited_and_urgent_for_cases_of_high_risk() -> None:
    calls = [failed(f"tool-{at}", {}, number=at) for at in range(1, 6)]
    options = EvaluatorOptions(ask=True, max_questions=2)
    findings = ErrorRecovery(options).plan(trajectory(*calls, answer="x"), [case("risk: high")])
    questions = [one for one in findings if isinstance(one, Question)]
    assert [one.high_risk for one in questions] == [True, True]
    told = "3 of 5 questions were not asked: evaluators.error_recovery.max_questions is 2"
    assert NotJudged("over_limit", told) in [one.outcome for one in findings if isinstance(one, Verdict)]
