from __future__ import annotations

from importlib import import_module

from judge.catalog import BUILT_IN
from judge.question import Scale
from judge.rubrics import Label, Rubric
from judge.scales import scales


def test_every_evaluator_that_only_asks_has_its_scale_here() -> None:
    asking = {name: import_module(f"judge.evaluators.{name}") for name, entry in BUILT_IN.items() if entry.prompt}
    expected = {name: module.SCALE for name, module in asking.items() if "ask" not in BUILT_IN[name].takes}
    assert {name: scale for name, scale in scales().items() if name != "composite"} == expected


def test_a_rubric_brings_its_own_scale() -> None:
    labels = {"Kind": Label(score=1, means="polite"), "Rude": Label(score=0.2, means="not")}
    rubric = Rubric(id="tone", version="1", question="How does it sound?", labels=labels)
    assert scales([rubric])["tone"] == Scale({"Kind": 1.0, "Rude": 0.2})
