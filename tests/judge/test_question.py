"""Settling: how an answer, or its absence, becomes a verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from judge.question import STEP_STATUSES, Answer, Prompt, Question, Scale, StepFinding, settle, unanswered
from judge.verdict import NotApplicable, NotJudged, Score, Subject

QUESTION = Question(
    evaluator="skill_selection",
    evaluator_version="1+v1",
    subject=Subject("skill", "span:a/b", name="pdf"),
    prompt=Prompt("system", "prefix", "question", "v1", "abc"),
    scale=Scale({"Yes": 1.0, "No": 0.0}),
    case="suite/case",
    high_risk=True,
    model="judge-a",
)


def test_an_answer_becomes_a_score_with_its_reasoning() -> None:
    answer = Answer(
        "No", "It asked for a recipe.", "judge-b", input_tokens=900, output_tokens=50, cache_read_tokens=800
    )
    verdict = settle(QUESTION, answer)
    assert verdict.outcome == Score(0.0, "No", "It asked for a recipe.")
    assert (verdict.judge_model, verdict.input_tokens, verdict.output_tokens) == ("judge-b", 900, 50)
    assert (verdict.prompt_version, verdict.prompt_hash) == ("v1", "abc")
    assert (verdict.case, verdict.high_risk, verdict.subject) == ("suite/case", True, QUESTION.subject)


def test_a_label_outside_the_scale_is_not_judged_and_its_cost_is_kept() -> None:
    verdict = settle(QUESTION, Answer("Maybe", "Hard to say.", "judge-b", input_tokens=900))
    assert isinstance(verdict.outcome, NotJudged)
    assert verdict.outcome.reason == "answer_malformed"
    assert "'Maybe'" in verdict.outcome.detail
    assert verdict.input_tokens == 900


def test_an_unanswered_question_is_not_judged_and_names_what_was_asked() -> None:
    verdict = unanswered(QUESTION, "judge_unavailable", "529 six times")
    assert verdict.outcome == NotJudged("judge_unavailable", "529 six times")
    assert (verdict.judge_model, verdict.prompt_version, verdict.case) == ("judge-a", "v1", "suite/case")


STEPS = replace(
    QUESTION,
    evaluator="skill_instruction_following",
    scale=Scale({"followed": 1.0, "mostly": 0.7, "partly": 0.3, "not_followed": 0.0}),
    shape="steps",
)


def _steps(*statuses: str) -> Answer:
    found = tuple(StepFinding(f"step {number}", status, "call 3") for number, status in enumerate(statuses, start=1))
    return Answer("", "They prescribe some steps.", "judge-b", 900, 50, steps=found)


@given(st.lists(st.sampled_from(STEP_STATUSES)))
def test_the_share_of_followed_steps_is_ours_to_count(statuses: list[str]) -> None:
    counting = [status for status in statuses if status != "not_applicable"]
    outcome = settle(STEPS, _steps(*statuses)).outcome
    if not counting:
        assert isinstance(outcome, NotApplicable)
        return
    assert isinstance(outcome, Score)
    assert outcome.value == counting.count("followed") / len(counting)
    lowest = STEPS.scale.values[outcome.label]
    assert lowest <= outcome.value
    assert not any(lowest < other <= outcome.value for other in STEPS.scale.values.values())


def test_the_explanation_has_every_step_with_its_evidence() -> None:
    outcome = settle(STEPS, _steps("followed", "skipped", "not_applicable")).outcome
    assert isinstance(outcome, Score)
    assert outcome.explanation.splitlines() == [
        "1 of 2 steps followed",
        "- followed: step 1 (call 3)",
        "- skipped: step 2 (call 3)",
        "- not_applicable: step 3 (call 3)",
    ]


@pytest.mark.parametrize(
    "answer", [Answer("followed", "All done.", "judge-b"), _steps("followed", "sort of")], ids=["label", "status"]
)
def test_steps_out_of_form_are_not_judged(answer: Answer) -> None:
    outcome = settle(STEPS, answer).outcome
    assert isinstance(outcome, NotJudged)
    assert outcome.reason == "answer_malformed"


def test_stored_questions_of_both_shapes_read_back_the_same_and_older_ones_are_questions_of_a_label() -> None:
    stored = TypeAdapter(Question)
    for question in (QUESTION, STEPS, replace(STEPS, votes=3)):
        assert stored.validate_json(stored.dump_json(question)) == question
    older = {key: value for key, value in stored.dump_python(QUESTION).items() if key not in {"shape", "votes"}}
    assert stored.validate_python(older) == QUESTION
