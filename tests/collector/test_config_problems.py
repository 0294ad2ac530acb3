"""A mistake in the configuration hides none in the files it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.in_force import read_in_force
from judge.documents import DocumentError
from tests.collector.test_in_force import SUITE
from tests.judge.test_rubrics import GOOD


def _problems(folder: Path, text: str) -> list[str]:
    file = folder / "spanjudge.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError) as told:
        read_in_force(file, {})
    return [str(problem).replace(f"{folder}/", "") for problem in told.value.problems]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bad.yaml").write_text(SUITE.replace("expected_skill", "expected_skil"), encoding="utf-8")
    (tmp_path / "rubric.yaml").write_text(GOOD.replace("labels:", "lables:"), encoding="utf-8")
    return tmp_path


def test_mistakes_of_configuration_suites_rubrics_and_evaluators_are_told_together(folder: Path) -> None:
    text = "suites: [bad.yaml]\nevaluators: {budgetz: {enabled: false}}\nretention: {days: 0}\njourney: {}\n"
    told = _problems(folder, text)
    assert len(told) == 4
    assert told[0].startswith("spanjudge.yaml:3: retention.days")
    assert told[1].startswith("spanjudge.yaml:4: journey: unknown key: did you mean journal?")
    assert any(one.startswith("bad.yaml:7: cases[0].expected_skil: unknown key") for one in told)
    told = _problems(folder, "rubrics: [rubric.yaml]\nretention: {days: 0}\n")
    assert any(one.startswith("rubric.yaml") for one in told)


def test_a_name_that_may_be_a_rubrics_is_no_mistake_while_the_rubrics_cannot_be_told(folder: Path) -> None:
    told = _problems(folder, "rubrics: tone.yaml\nevaluators: {tone: {enabled: false}}\nsuites: [bad.yaml]\n")
    assert len([one for one in told if "evaluators" in one]) == 0
    assert any(one.startswith("bad.yaml") for one in told)


def test_a_mistake_between_sections_hides_no_suite(folder: Path) -> None:
    text = """
judge: {budget: {dollars_per_day: 5}, prices: {"claude-*": {input: 1, output: 2}}}
evaluators: {goal_completion: {model: quick-model}}
suites: [bad.yaml]
"""
    told = _problems(folder, text)
    assert len(told) == 2
    assert "quick-model" in told[0]
    assert told[1].startswith("bad.yaml")


def test_the_same_problem_is_told_once(folder: Path) -> None:
    told = _problems(folder, "suites: [none.yaml]\nretention: {days: 0}\n")
    assert len(told) == len(set(told)) == 2


@pytest.mark.parametrize("text", ["suites: [", "- suites", "text"])
def test_what_is_no_configuration_at_all_is_told_as_that(folder: Path, text: str) -> None:
    assert len(_problems(folder, text)) == 1
