"""answer_contains: texts that the answer must have."""

from __future__ import annotations

from judge.evaluators.answer_contains import AnswerContains
from judge.verdict import NotApplicable, NotJudged, Outcome, Score
from tests.judge.trajectories import case, trajectory


def _outcome(wanted: str, answer: str | None) -> Outcome:
    (verdict,) = AnswerContains().plan(trajectory(answer=answer), [case(f"answer_contains: {wanted}")])
    return verdict.outcome


def test_all_texts_are_there_whatever_their_case() -> None:
    assert _outcome("[refund, 14 days]", "Your REFUND comes in 14\ndays.") == Score(
        1.0, "complete", "all 2 expected texts are in the answer"
    )


def test_what_is_missing_is_named_and_counted() -> None:
    assert _outcome("[refund, 14 days]", "Your refund comes.") == Score(
        0.5, "incomplete", "not in the answer: '14 days'"
    )


def test_an_empty_answer_is_recorded_and_lacks_everything() -> None:
    assert _outcome("refund", "") == Score(0.0, "incomplete", "not in the answer: 'refund'")


def test_an_answer_that_was_not_recorded_is_not_judged() -> None:
    assert _outcome("refund", None) == NotJudged("content_not_recorded", "the answer was not recorded")


def test_without_expected_texts_nothing_applies() -> None:
    (verdict,) = AnswerContains().plan(trajectory(answer="x"), [])
    assert verdict.outcome == NotApplicable("no case expects a text in the answer")
