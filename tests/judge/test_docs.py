"""The documentation of evaluators and suites is true."""

from __future__ import annotations

import re
from pathlib import Path

from extractors.trajectory import Versions
from judge.catalog import NAMES
from judge.evaluators import goal_completion, skill_selection
from judge.suites import Budgets, CaseEntry, Match, expectations_for, parse_suite
from tests.judge.trajectories import trajectory

DOCS = Path(__file__).parents[2] / "docs"
EVALUATORS = (DOCS / "evaluators.md").read_text(encoding="utf-8")
SUITES = (DOCS / "suites.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```yaml\n(.*?)```", SUITES, re.DOTALL)


def test_the_example_of_a_suite_is_one() -> None:
    suite = parse_suite(EXAMPLE, "docs/suites.md")
    assert [case.key for case in suite.cases] == ["shop-assistant/refund", "shop-assistant/small-talk"]


def test_the_example_uses_every_key() -> None:
    refund, small_talk = parse_suite(EXAMPLE, "docs/suites.md").cases
    used = refund.model_fields_set | small_talk.model_fields_set
    assert used >= set(CaseEntry.model_fields)
    assert set(Budgets.model_fields) == refund.budgets.model_fields_set
    assert set(Match.model_fields) - refund.match.model_fields_set - small_talk.match.model_fields_set == {"agent"}


def test_the_example_is_about_the_sessions_it_seems_to_be_about() -> None:
    suite = parse_suite(EXAMPLE, "docs/suites.md")
    session = trajectory(
        task="I want a refund",
        versions=Versions(service="shop-eu"),
        attributes={"deployment.environment.name": "production"},
    )
    assert [case.id for case in expectations_for(session, [suite])] == ["refund"]
    assert [case.id for case in expectations_for(trajectory(task="hello there"), [suite])] == ["small-talk"]


def test_every_key_and_evaluator_is_described() -> None:
    for key in (*Match.model_fields, *CaseEntry.model_fields, *Budgets.model_fields):
        assert f"`{key}`" in SUITES or f"`budgets.{key}`" in SUITES or key in {"id", "budgets"}, key
    assert set(re.findall(r"^### `(\w+)`", EVALUATORS, re.MULTILINE)) == set(NAMES)


def test_the_labels_of_a_judge_are_documented_with_their_scores() -> None:
    for name, scale in (("skill_selection", skill_selection.SCALE), ("goal_completion", goal_completion.SCALE)):
        section = EVALUATORS.partition(f"### `{name}`")[2].partition("\n### ")[0]
        rows = re.findall(r"^\| `(\w+)` \| ([0-9.]+) \|", section, re.MULTILINE)
        documented = {label: float(value) for label, value in rows}
        assert documented == dict(scale.values)
