from __future__ import annotations

from importlib import import_module

import pytest

from judge.catalog import BUILT_IN
from judge.evaluators import skill_instruction_following
from judge.passing import PASSING_SCORE, passed
from judge.question import FOLLOWED, Answer, Prompt, Question, Scale, StepFinding, settle
from judge.rubrics import Label, Rubric
from judge.scales import scales
from judge.verdict import Score, Subject


def test_every_evaluator_that_only_asks_has_its_scale_here() -> None:
    asking = {name: import_module(f"judge.evaluators.{name}") for name, entry in BUILT_IN.items() if entry.prompt}
    expected = {name: module.SCALE for name, module in asking.items() if "ask" not in BUILT_IN[name].takes}
    assert {name: scale for name, scale in scales().items() if name != "composite"} == expected


def test_a_rubric_brings_its_own_scale() -> None:
    labels = {"Kind": Label(score=1, means="polite"), "Rude": Label(score=0.2, means="not")}
    rubric = Rubric(id="tone", version="1", question="How does it sound?", labels=labels)
    assert scales([rubric])["tone"] == Scale({"Kind": 1.0, "Rude": 0.2})


@pytest.mark.parametrize("followed", range(21))
def test_the_label_of_a_share_passes_as_the_share_does(followed: int) -> None:
    prompt = Prompt("", "", "", "v1", "")
    scale = skill_instruction_following.SCALE
    question = Question("following", "2", Subject("skill", "s"), prompt, scale, shape="steps")
    found = [StepFinding("a step", FOLLOWED if step < followed else "skipped", "call 1") for step in range(20)]
    verdict = settle(question, Answer("", "r", "m", steps=tuple(found)))
    assert isinstance(verdict.outcome, Score)
    assert passed(verdict) == (scale.values[verdict.outcome.label] >= PASSING_SCORE)
