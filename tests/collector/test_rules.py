"""What sessions are judged by: configuration, suites, rubrics and plugins, with every problem at once."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from collector.config import Config, load_config
from collector.reading import Rules
from collector.rules import PLUGIN_GROUP, load_rules
from extractors.trajectory import Trajectory
from judge.catalog import NAMES, plan_all
from judge.documents import DocumentError
from judge.question import Question
from judge.suites import Case
from judge.verdict import NotApplicable, Score, Verdict, whole_session
from tests.judge.test_rubrics import GOOD
from tests.judge.trajectories import trajectory


class Short:
    """A plugin as somebody might write it: is the answer short?"""

    id = "short_answer"
    version = "1"

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        short = len(trajectory.answer or "") < 100
        outcome = Score(float(short), "short" if short else "long", "by its length")
        return [Verdict(self.id, self.version, whole_session(trajectory), outcome)]


class Imposter(Short):
    """Takes a name that is taken."""

    id = "budgets"


class Composite(Short):
    """Takes the name of what is made of all others."""

    id = "composite"


def leaving() -> None:
    raise SystemExit(3)


def broken() -> None:
    raise RuntimeError("no licence file")


def nothing() -> object:
    return object()


def _plugin(name: str, value: str | None = None) -> EntryPoint:
    return EntryPoint(name, value or f"{__name__}:{name}", PLUGIN_GROUP)


def _rules(folder: Path, text: str = "{}", plugins: Sequence[EntryPoint] = ()) -> Rules:
    file = folder / "spanjudge.yaml"
    file.write_text(text, encoding="utf-8")
    return load_rules(load_config(file, {}), "spanjudge.yaml", plugins)


def _problems(folder: Path, text: str = "{}", plugins: Sequence[EntryPoint] = ()) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        _rules(folder, text, plugins)
    return [str(problem) for problem in caught.value.problems]


def test_without_settings_every_built_in_evaluator_is_there() -> None:
    rules = load_rules(Config(), "defaults", plugins=())
    assert tuple(evaluator.id for evaluator in rules.evaluators) == NAMES


def test_a_budget_of_an_evaluator_that_does_not_exist_is_told(tmp_path: Path) -> None:
    text = (
        "judge:\n  budget:\n    evaluators: {goal_completoin: {tokens_per_day: 5}, faithfulness: {tokens_per_day: 5}}\n"
    )
    (problem,) = _problems(tmp_path, text)
    assert "judge.budget.evaluators.goal_completoin: no such evaluator" in problem


def test_a_plugin_judges_beside_the_others_and_can_be_set(tmp_path: Path) -> None:
    text = "evaluators:\n  short_answer:\n    only: {service: shop}\n"
    plan = plan_all(trajectory(answer="Yes."), [], _rules(tmp_path, plugins=[_plugin("Short")]).evaluators)
    (verdict,) = [one for one in plan.verdicts if one.evaluator == "short_answer"]
    assert verdict.outcome == Score(1.0, "short", "by its length")
    plan = plan_all(trajectory(answer="Yes."), [], _rules(tmp_path, text, [_plugin("Short")]).evaluators)
    (verdict,) = [one for one in plan.verdicts if one.evaluator == "short_answer"]
    assert verdict.outcome == NotApplicable("filtered out by evaluators.short_answer.only")


@pytest.mark.parametrize(
    ("plugin", "why"),
    [
        (_plugin("gone", "no_such_module_anywhere:Thing"), "cannot be loaded: ModuleNotFoundError"),
        (_plugin("missing"), "cannot be loaded: AttributeError"),
        (_plugin("broken"), "cannot be loaded: RuntimeError: no licence file"),
        (_plugin("nothing"), "cannot be loaded: AttributeError"),
        (_plugin("leaving"), "cannot be loaded: SystemExit: 3"),
        (_plugin("Imposter"), "calls itself budgets, which is taken"),
        (_plugin("Composite"), "calls itself composite, which is taken"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_a_problem_with_its_name(tmp_path: Path, plugin: EntryPoint, why: str) -> None:
    (problem,) = _problems(tmp_path, plugins=[plugin])
    assert problem.startswith(f"spanjudge.yaml:1: evaluators: the plugin {plugin.name} (")
    assert why in problem


def test_no_rubric_takes_the_name_of_the_composite(tmp_path: Path) -> None:
    (tmp_path / "whole.yaml").write_text(GOOD.replace("id: kindness", "id: composite"), encoding="utf-8")
    (problem,) = _problems(tmp_path, "rubrics: [whole.yaml]\n")
    assert "there is an evaluator called composite already: rename it" in problem


def test_a_rubric_is_an_evaluator_like_others(tmp_path: Path) -> None:
    (tmp_path / "kindness.yaml").write_text(GOOD, encoding="utf-8")
    rules = _rules(tmp_path, "rubrics: ['kind*.yaml']\nevaluators:\n  kindness: {votes: 3}\n")
    (question,) = [
        one for one in plan_all(trajectory(answer="x"), [], rules.evaluators).questions if one.evaluator == "kindness"
    ]
    assert question.votes == 3


def test_problems_of_files_plugins_and_settings_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "kindness.yaml").write_text(GOOD.replace("kindness", "budgets"), encoding="utf-8")
    text = (
        "suites: ['none*.yaml']\nrubrics: ['kindness.yaml']\n"
        "evaluators:\n  budgets: {votes: 3}\n  sensitive_data: {kinds: [shoe_size]}\n"
    )
    told = "\n".join(_problems(tmp_path, text, [_plugin("broken")]))
    for part in (
        "suites: no file matches",
        "the plugin broken",
        "there is an evaluator called budgets already",
        "evaluators.budgets.votes: this evaluator asks no judge",
        "evaluators.sensitive_data.kinds: no such kind: shoe_size",
    ):
        assert part in told


def test_a_name_that_a_broken_rubric_may_have_is_not_called_unknown(tmp_path: Path) -> None:
    (tmp_path / "kindness.yaml").write_text("id: kindness\n", encoding="utf-8")
    told = "\n".join(_problems(tmp_path, "rubrics: [kindness.yaml]\nevaluators:\n  kindness: {votes: 3}\n"))
    assert "no such evaluator" not in told
    assert "no such evaluator" in "\n".join(_problems(tmp_path, "evaluators:\n  kindness: {votes: 3}\n"))


def test_an_even_number_of_votes_is_a_problem_with_its_line(tmp_path: Path) -> None:
    (problem,) = _problems(tmp_path, "evaluators:\n  faithfulness:\n    votes: 2\n")
    assert ":3: " in problem or ":2: " in problem
    assert "votes (2) must be odd" in problem
