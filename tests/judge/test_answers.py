"""The form of an answer: what a model is held to, and how its text is read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.answers import LONGEST_REASONING, AnswerMalformed, Reply, answer_schema, parse_answer
from judge.question import Scale, StepFinding
from tests.judge.test_question import QUESTION, STEPS

FINDING = {"step": "Look it up", "evidence": "call 2", "status": "followed"}


def test_a_label_comes_after_its_reasoning() -> None:
    schema = answer_schema(QUESTION)
    assert schema["required"] == ["reasoning", "label"]
    text = json.dumps({"reasoning": "It fits.", "label": "Yes"})
    assert parse_answer(text, QUESTION) == Reply("Yes", "It fits.")


def test_the_form_may_offer_labels_of_other_questions_which_are_no_answer_to_this_one() -> None:
    shared = replace(QUESTION, choices=("Yes", "No", "Complete", "Failed"))
    label = answer_schema(shared)["properties"]["label"]  # type: ignore[index]
    assert label["enum"] == ["Yes", "No", "Complete", "Failed"]
    assert answer_schema(shared) == answer_schema(replace(shared, scale=Scale({"Complete": 1.0, "Failed": 0.0})))
    assert parse_answer(json.dumps({"reasoning": "r", "label": "No"}), shared).label == "No"
    with pytest.raises(AnswerMalformed, match="'Failed' is not one of Yes, No"):
        parse_answer(json.dumps({"reasoning": "r", "label": "Failed"}), shared)


def test_steps_are_listed_before_they_are_found_and_evidence_comes_before_status() -> None:
    schema = json.dumps(answer_schema(STEPS))
    assert schema.index('"reasoning"') < schema.index('"steps"')
    assert schema.index('"evidence"') < schema.index('"status"')
    text = json.dumps({"reasoning": "One step.", "steps": [FINDING]})
    assert parse_answer(text, STEPS) == Reply("", "One step.", (StepFinding("Look it up", "followed", "call 2"),))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"reasoning": "r"}, "lacks its steps"),
        ({"reasoning": "r", "steps": ["Look it up"]}, "step 1 of the answer lacks"),
        ({"reasoning": "r", "steps": [FINDING, FINDING | {"status": "done"}]}, "step 2 is 'done'"),
        ({"reasoning": "r", "steps": [FINDING] * 201}, "201 steps"),
        ({"reasoning": "r", "label": "Yes"}, "lacks its steps"),
    ],
)
def test_steps_out_of_form_are_told_apart(answer: dict[str, object], why: str) -> None:
    with pytest.raises(AnswerMalformed, match=why):
        parse_answer(json.dumps(answer), STEPS)


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_no_text_that_was_not_asked_for_is_an_answer(text: str) -> None:
    for question in (QUESTION, STEPS):
        with pytest.raises(AnswerMalformed):
            parse_answer(text, question)


def test_absurd_nesting_is_malformed() -> None:
    with pytest.raises(AnswerMalformed, match="not JSON"):
        parse_answer("[" * 100_000, QUESTION)


def test_reasoning_of_megabytes_is_cut_and_says_so() -> None:
    text = json.dumps({"reasoning": "y" * (LONGEST_REASONING + 30), "label": "Yes"})
    kept = parse_answer(text, QUESTION).reasoning
    assert kept == "y" * LONGEST_REASONING + "… (30 more characters)"
    fits = json.dumps({"reasoning": "y" * LONGEST_REASONING, "label": "Yes"})
    assert parse_answer(fits, QUESTION).reasoning == "y" * LONGEST_REASONING
