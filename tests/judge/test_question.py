"""Settling: how an answer, or its absence, becomes a verdict."""

from __future__ import annotations

from judge.question import Answer, Prompt, Question, Scale, settle, unanswered
from judge.verdict import NotJudged, Score, Subject

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
