"""Voting: one question, several answers, one verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.question import Answer, StepFinding, settle
from judge.verdict import NotApplicable, NotJudged, Score
from judge.voting import settle_votes
from tests.judge.test_question import QUESTION, STEPS

THREE = replace(QUESTION, votes=3)


def _says(*labels: str) -> list[Answer]:
    return [Answer(label, f"reason {number}", "judge-b", 100, 10) for number, label in enumerate(labels)]


def test_the_majority_decides_and_says_how_large_it_is() -> None:
    verdict = settle_votes(THREE, _says("No", "Yes", "No"))
    assert verdict.outcome == Score(0.0, "No", "2 of 3 votes agree. reason 0")
    assert verdict.agreement == pytest.approx(2 / 3)
    assert (verdict.input_tokens, verdict.output_tokens, verdict.judge_model) == (300, 30, "judge-b")


@pytest.mark.parametrize(
    ("labels", "reason", "told"),
    [
        (("Yes", "No"), "votes_disagree", "of 3 votes: 1 No, 1 Yes, 1 without a usable answer"),
        (("Yes",), "votes_missing", "of 3 votes: 1 Yes, 2 without a usable answer"),
        (("Maybe", "Maybe", "Maybe"), "answer_malformed", "of 3 votes: 3 without a usable answer"),
    ],
)
def test_without_a_majority_of_all_votes_nothing_is_judged(labels: tuple[str, ...], reason: str, told: str) -> None:
    verdict = settle_votes(THREE, _says(*labels))
    assert verdict.outcome == NotJudged(reason, told)
    assert verdict.agreement is None
    assert verdict.input_tokens == 100 * len(labels), "what was asked is paid for"


def test_two_that_agree_out_of_three_suffice_when_the_third_never_came() -> None:
    verdict = settle_votes(THREE, _says("Yes", "Yes"))
    assert isinstance(verdict.outcome, Score)
    assert verdict.agreement == pytest.approx(2 / 3)


def test_one_vote_is_an_ordinary_answer() -> None:
    (answer,) = _says("Yes")
    assert settle_votes(QUESTION, [answer]) == settle(QUESTION, answer)


def test_no_answer_at_all_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="no answer"):
        settle_votes(THREE, [])


def test_shares_under_one_label_are_stood_for_by_the_middle_one() -> None:
    def answer(followed: int, skipped: int) -> Answer:
        statuses = ["followed"] * followed + ["skipped"] * skipped
        return Answer("", "r", "judge-b", steps=tuple(StepFinding("s", status, "e") for status in statuses))

    verdict = settle_votes(replace(STEPS, votes=3), [answer(9, 1), answer(7, 3), answer(8, 2)])
    assert isinstance(verdict.outcome, Score)
    assert (verdict.outcome.value, verdict.outcome.label) == (0.8, "mostly")
    nothing = Answer("", "nothing prescribed", "judge-b", steps=())
    assert isinstance(settle_votes(replace(STEPS, votes=3), [nothing, nothing, answer(1, 0)]).outcome, NotApplicable)


@given(labels=st.lists(st.sampled_from(["Yes", "No", "Maybe"]), min_size=1, max_size=5))
def test_the_order_of_answers_does_not_change_what_is_decided(labels: list[str]) -> None:
    question = replace(QUESTION, votes=5)
    one = settle_votes(question, _says(*labels))
    other = settle_votes(question, _says(*sorted(labels)))
    assert one.agreement == other.agreement
    if isinstance(one.outcome, Score):
        assert isinstance(other.outcome, Score)
        assert one.outcome.label == other.outcome.label
    else:
        assert one.outcome == other.outcome
