"""The documentation of evaluators and suites is true."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

from collector.config import Config, EvaluatorSettings
from collector.rules import load_rules
from extractors.trajectory import Versions
from judge.catalog import NAMES
from judge.composite import PARTS, CompositeRules
from judge.documents import parse_document
from judge.evaluators import (
    argument_correctness,
    error_recovery,
    faithfulness,
    goal_completion,
    skill_abstention,
    skill_instruction_following,
    skill_selection,
    tool_selection,
)
from judge.options import EvaluatorOptions
from judge.passing import COMPOSITE
from judge.rubrics import Label, Rubric, parse_rubric
from judge.sensitive import NAMES as KINDS
from judge.suites import Budgets, CaseEntry, Match, expectations_for, parse_suite
from tests.judge.trajectories import trajectory

DOCS = Path(__file__).parents[2] / "docs"
EVALUATORS = (DOCS / "evaluators.md").read_text(encoding="utf-8")
SUITES = (DOCS / "suites.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```yaml\n(.*?)```", SUITES, re.DOTALL)
SETTINGS, RUBRIC = re.findall(r"```yaml\n(.*?)```", EVALUATORS, re.DOTALL)
SCALES = {
    "argument_correctness": argument_correctness.SCALE,
    "error_recovery": error_recovery.SCALE,
    "faithfulness": faithfulness.SCALE,
    "goal_completion": goal_completion.SCALE,
    "skill_abstention": skill_abstention.SCALE,
    "skill_instruction_following": skill_instruction_following.SCALE,
    "skill_selection": skill_selection.SCALE,
    "tool_selection": tool_selection.SCALE,
}


def test_the_example_of_a_suite_is_one() -> None:
    suite = parse_suite(EXAMPLE, "docs/suites.md")
    assert [case.key for case in suite.cases] == ["shop-assistant/refund", "shop-assistant/small-talk"]


def test_the_example_uses_every_key() -> None:
    refund, small_talk = parse_suite(EXAMPLE, "docs/suites.md").cases
    used = refund.model_fields_set | small_talk.model_fields_set
    assert used >= set(CaseEntry.model_fields)
    assert set(Budgets.model_fields) == refund.budgets.model_fields_set
    assert set(Match.model_fields) - refund.match.model_fields_set - small_talk.match.model_fields_set == {
        "agent",
        "version",
    }


def test_the_example_is_about_the_sessions_it_seems_to_be_about() -> None:
    suite = parse_suite(EXAMPLE, "docs/suites.md")
    session = replace(
        trajectory(task="I want a refund"),
        harness="strands",
        versions=Versions(service="shop-eu"),
        attributes={"deployment.environment.name": "production"},
    )
    assert [case.id for case in expectations_for(session, [suite])] == ["refund"]
    assert [case.id for case in expectations_for(trajectory(task="hello there"), [suite])] == ["small-talk"]


def test_every_key_and_evaluator_is_described() -> None:
    for key in (*Match.model_fields, *CaseEntry.model_fields, *Budgets.model_fields):
        assert f"`{key}`" in SUITES or f"`budgets.{key}`" in SUITES or key in {"id", "budgets"}, key
    described = set(re.findall(r"^### `(\w+)`", EVALUATORS, re.MULTILINE))
    assert described == {*NAMES, COMPOSITE}


def test_the_labels_of_a_judge_are_documented_with_their_scores() -> None:
    for name, scale in SCALES.items():
        section = EVALUATORS.partition(f"### `{name}`")[2].partition("\n### ")[0]
        rows = re.findall(r"^\| `(\w+)` \| ([0-9.]+) \|", section, re.MULTILINE)
        documented = {label: float(value) for label, value in rows}
        assert documented.items() >= dict(scale.values).items(), name


def test_every_setting_is_described_and_the_example_of_settings_works() -> None:
    section = EVALUATORS.partition("## Settings")[2].partition("\n## ")[0]
    described = set(re.findall(r"`(\w+)`", section))
    options = {one.name for one in fields(EvaluatorOptions)} - {"redaction"}  # that is set for all of them at once
    assert described >= options
    assert set(EvaluatorSettings.model_fields) == options
    rules = load_rules(parse_document(SETTINGS, "docs/evaluators.md", Config), "docs/evaluators.md", plugins=())
    assert {evaluator.id for evaluator in rules.evaluators} == set(NAMES) - {"faithfulness"}


def test_every_kind_of_sensitive_data_is_described() -> None:
    section = EVALUATORS.partition("### `sensitive_data`")[2].partition("\n### ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == {*KINDS, "clean", "found"}


def test_the_example_of_a_rubric_is_one_and_every_key_is_described() -> None:
    assert parse_rubric(RUBRIC, "docs/evaluators.md").needs == ("answer",)
    section = EVALUATORS.partition("### Rubrics")[2]
    for key in (*Rubric.model_fields, *Label.model_fields):
        assert f"`{key}`" in section, key


def test_the_parts_of_the_composite_are_those_described() -> None:
    for name, source in PARTS.items():
        by_case, by_judge = (", ".join(f"`{one}`" for one in names) for names in (source.by_case, source.by_judge))
        assert f"| {name} | {CompositeRules().weights[name]:.2f} | {by_case} | {by_judge} |" in EVALUATORS
