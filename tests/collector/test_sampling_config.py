"""The `sampling` section: what it stands for, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.config import load_config
from collector.rules import load_rules
from collector.sampling import Keep, SamplingRule, SamplingRules
from judge.conditions import Condition
from judge.documents import DocumentError
from judge.suites import Match

TEXT = """
sampling:
  rate: 0.01
  rules:
    - name: canary
      match: {version: "2.*", attributes: {tier: {not: free}, region: north}}
      rate: 0.5
  keep:
    when: [errors, refused_skill]
    skills: deploy
    failed: [budgets]
"""


def _load(folder: Path, text: str) -> SamplingRules:
    file = folder / "spanjudge.yaml"
    file.write_text(text, encoding="utf-8")
    return load_rules(load_config(file, {}), "spanjudge.yaml", plugins=()).sampling


def test_sampling_is_read_from_the_configuration(tmp_path: Path) -> None:
    tier = Condition.model_validate({"not": "free"})
    match = Match(version=("2.*",), attributes={"tier": tier, "region": "north"})
    keep = Keep(("errors", "refused_skill"), ("deploy",), ("budgets",))
    assert _load(tmp_path, TEXT) == SamplingRules(0.01, (SamplingRule("canary", match, 0.5),), keep)
    assert _load(tmp_path, "{}") == SamplingRules()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("keep: {when: [bad_luck]}", "sampling.keep.when"),
        ("keep: {failed: [bugdets]}", "sampling.keep.failed.0: no such evaluator"),
        ("keep: {failed: [goal_completion]}", "asks a judge, who answers when sampling is long decided"),
        ("rules: [{name: a, match: {}, rate: 2}]", "sampling.rules"),
        ("rules: [{name: a, match: {}, rate: 1}, {name: a, match: {}, rate: 0}]", "names of rules must differ"),
        ("rules: [{name: a, match: {attributes: {tier: {like: x}}}, rate: 1}]", "sampling.rules"),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_key(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(DocumentError) as caught:
        _load(tmp_path, f"sampling:\n  {text}\n")
    assert why in "\n".join(map(str, caught.value.problems))


def test_keeping_failures_of_an_evaluator_that_is_disabled_is_a_problem(tmp_path: Path) -> None:
    text = "sampling:\n  keep: {failed: [budgets]}\nevaluators:\n  budgets: {enabled: false}\n"
    with pytest.raises(DocumentError) as caught:
        _load(tmp_path, text)
    assert "budgets is not enabled" in str(caught.value.problems[0])
