"""Earlier answers of a judge: used again where they were measured as now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collector.offline import Examined, Measures, with_earlier_answers
from judge.verdict import Judged, NotApplicable, NotJudged, Outcome, Score
from tests.fakes.verdicts import answered, closed, judged, pending

YES = Score(1.0, "Yes", "It fits.")
QUESTION, OTHER = pending(ref="span:q/1"), pending(ref="span:q/2")
EXAMINED = Examined(closed(), (judged(evaluator="budgets"),), (QUESTION, OTHER), ())
MEASURES = Measures({"skill_selection": "v1", "budgets": "v1"}, {"skill_selection": "model-a", "budgets": "model-a"})


def by(model: str | None = "model-a", outcome: Outcome = YES) -> Judged:
    found = answered(QUESTION, outcome)
    return replace(found, verdict=replace(found.verdict, judge_model=model, prompt_version="v1"))


@pytest.mark.parametrize("outcome", [YES, NotApplicable("no step applied")])
def test_an_answer_measured_as_now_takes_the_place_of_its_question(outcome: Outcome) -> None:
    found, left_out = with_earlier_answers(EXAMINED, [by(outcome=outcome)], MEASURES)
    assert found.questions == (OTHER,)
    assert found.verdicts == (*EXAMINED.verdicts, by(outcome=outcome))
    assert left_out == ()


@pytest.mark.parametrize(
    ("measures", "model", "why"),
    [
        (MEASURES, "model-b", "judge model-b, now model-a"),
        (MEASURES, None, "judge not recorded, now model-a"),
        (Measures({"skill_selection": "v2"}, {"skill_selection": "model-a"}), "model-a", "version v1, now v2"),
        (Measures({}, {}), "model-a", "its evaluator is not enabled now"),
    ],
)
def test_an_answer_measured_otherwise_is_asked_again_and_told(measures: Measures, model: str | None, why: str) -> None:
    found, left_out = with_earlier_answers(EXAMINED, [by(model)], measures)
    assert found == EXAMINED
    assert left_out == (f"skill_selection: {why}",)


def test_a_question_without_an_answer_stays_one() -> None:
    silent = by(outcome=NotJudged("judge_refused"))
    assert with_earlier_answers(EXAMINED, [silent], MEASURES) == (EXAMINED, ())


def test_what_code_found_is_found_anew() -> None:
    earlier = judged(evaluator="budgets", outcome=Score(0.0, "over", ""))
    assert with_earlier_answers(EXAMINED, [earlier], MEASURES) == (EXAMINED, ())
