"""The evaluators, by name, and the one way to have them all look at a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from extractors.trajectory import Trajectory
from judge.evaluators.answer_contains import AnswerContains
from judge.evaluators.budgets import BudgetsKept
from judge.evaluators.error_recovery import ErrorRecovery
from judge.evaluators.forbidden_events import ForbiddenEvents
from judge.evaluators.goal_completion import GoalCompletion
from judge.evaluators.required_steps import RequiredSteps
from judge.evaluators.skill_expected import SkillExpected
from judge.evaluators.skill_selection import SkillSelection
from judge.evaluators.step_efficiency import StepEfficiency
from judge.options import EvaluatorOptions
from judge.prompts import versions_of
from judge.question import Question
from judge.suites import Case
from judge.transcript import DEFAULT_TOKENS
from judge.verdict import NotJudged, Verdict, whole_session

UNRECOGNISED = "unrecognised"


class Evaluator(Protocol):
    """`Trajectory → Questions and Verdicts` for one criterion. `version` changes whenever the same trajectory
    could get another score."""

    @property
    def id(self) -> str: ...

    @property
    def version(self) -> str: ...

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        """What code can decide, decided, and what must be asked. Pure; asks nobody."""


CODE: tuple[Evaluator, ...] = (
    SkillExpected(),
    RequiredSteps(),
    ForbiddenEvents(),
    AnswerContains(),
    StepEfficiency(),
    ErrorRecovery(),
    BudgetsKept(),
)
"""Decided by code; they take no options but `enabled`."""

ASKED: Mapping[str, Callable[[EvaluatorOptions, int], Evaluator]] = {
    SkillSelection.id: SkillSelection,
    GoalCompletion.id: GoalCompletion,
}
"""Put to a judge; built from their options and the token limit of a transcript."""

NAMES: tuple[str, ...] = (*(evaluator.id for evaluator in CODE), *ASKED)


@dataclass(frozen=True, slots=True)
class Plan:
    """What all evaluators made of one session. `errors` are the defects of evaluators, by their names: each has a
    verdict too, and whoever logs finds the traceback here."""

    verdicts: tuple[Verdict, ...] = ()
    questions: tuple[Question, ...] = ()
    errors: tuple[tuple[str, Exception], ...] = ()


def build(
    options: Mapping[str, EvaluatorOptions] | None = None, transcript_tokens: int = DEFAULT_TOKENS
) -> tuple[Evaluator, ...]:
    """The enabled evaluators, in the order of `NAMES`; one that `options` does not name is enabled.

    Raises `ValueError` with one line for each problem that `option_problems` finds.
    """
    options = options or {}
    if problems := option_problems(options):
        raise ValueError("\n".join(f"evaluators.{key}: {message}" for key, message in problems))
    chosen = {name: options.get(name, EvaluatorOptions()) for name in NAMES}
    code = [evaluator for evaluator in CODE if chosen[evaluator.id].enabled]
    asked = [make(chosen[name], transcript_tokens) for name, make in ASKED.items() if chosen[name].enabled]
    return (*code, *asked)


def option_problems(options: Mapping[str, EvaluatorOptions]) -> list[tuple[str, str]]:
    """What is wrong with the options, as (key below `evaluators`, message)."""
    problems = []
    for name, option in options.items():
        if name not in NAMES:
            problems.append((name, f"no such evaluator; there are {', '.join(sorted(NAMES))}"))
            continue
        if name not in ASKED:
            given = [key for key in ("model", "effort", "prompt_version", "system_prompt") if getattr(option, key)]
            problems += [(f"{name}.{key}", "this evaluator asks no judge: remove it") for key in given]
        elif option.prompt_version is not None and option.prompt_version not in versions_of(name):
            known = ", ".join(versions_of(name))
            problems.append((f"{name}.prompt_version", f"no such prompt version; there are {known}"))
    return problems


def plan_all(trajectory: Trajectory, cases: Sequence[Case], evaluators: Iterable[Evaluator]) -> Plan:
    """What every evaluator makes of the session. Never raises: an evaluator that does gives
    `NotJudged("evaluator_error")`, and its neighbours go on.

    A session of which nothing was understood gives an empty plan: "did not load the skill" would be a guess.
    """
    if trajectory.harness == UNRECOGNISED:
        return Plan()
    verdicts: list[Verdict] = []
    questions: list[Question] = []
    errors: list[tuple[str, Exception]] = []
    for evaluator in evaluators:
        try:
            findings = list(evaluator.plan(trajectory, cases))
        except Exception as error:  # noqa: BLE001 - a defect in one evaluator must not cost the others' verdicts
            errors.append((evaluator.id, error))
            findings = [_defect(evaluator, trajectory, error)]
        verdicts += [finding for finding in findings if isinstance(finding, Verdict)]
        questions += [finding for finding in findings if isinstance(finding, Question)]
    return Plan(tuple(verdicts), tuple(questions), tuple(errors))


def _defect(evaluator: Evaluator, trajectory: Trajectory, error: Exception) -> Verdict:
    """The type of the exception and no more: its text may hold what the agent wrote."""
    outcome = NotJudged("evaluator_error", type(error).__name__)
    return Verdict(evaluator.id, evaluator.version, whole_session(trajectory), outcome)
