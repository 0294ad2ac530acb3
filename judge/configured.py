"""What settings do to any evaluator, built in or not: which sessions it looks at, and how much it may ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from extractors.trajectory import Trajectory
from judge.evaluators.asking import over_limit
from judge.options import EvaluatorOptions
from judge.question import Question
from judge.suites import Case, is_about
from judge.verdict import NotApplicable, Outcome, Verdict, whole_session


class Evaluator(Protocol):
    """`Trajectory → Questions and Verdicts` for one criterion. `version` changes whenever the same trajectory
    could get another score."""

    @property
    def id(self) -> str: ...

    @property
    def version(self) -> str: ...

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        """What code can decide, decided, and what must be asked. Pure; asks nobody."""


class Configured:
    """An evaluator under its options. A session that `only` leaves out gets one verdict that says so, and questions
    over `max_questions` one that counts them: neither is ever silent. `labels` are those of all evaluators, for
    questions that can tell their own among them."""

    def __init__(self, evaluator: Evaluator, options: EvaluatorOptions, labels: tuple[str, ...] = ()) -> None:
        self._evaluator = evaluator
        self._options = options
        self._labels = labels

    @property
    def id(self) -> str:
        return self._evaluator.id

    @property
    def version(self) -> str:
        return self._evaluator.version

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        only = self._options.only
        if only is not None and not is_about(only, trajectory):
            return [self._verdict(trajectory, NotApplicable(f"filtered out by evaluators.{self.id}.only"))]
        findings = self._evaluator.plan(trajectory, cases)
        questions = [found for found in findings if isinstance(found, Question)]
        verdicts = [found for found in findings if isinstance(found, Verdict)]
        most = self._options.max_questions
        if left_out := over_limit(self.id, len(questions), most):
            verdicts.append(self._verdict(trajectory, left_out))
        return [*verdicts, *(self._set(question) for question in questions[:most])]

    def _set(self, question: Question) -> Question:
        """An evaluator from elsewhere knows nothing of these options, and its own choices go before them."""
        options = self._options
        return replace(
            question,
            model=question.model or options.model,
            effort=question.effort or options.effort,
            votes=max(question.votes, options.votes),
            choices=self._labels if self._shares(question) else question.choices,
        )

    def _shares(self, question: Question) -> bool:
        knows_its_own = question.shape == "label" and question.prompt.lists_labels
        return knows_its_own and set(question.scale.labels) <= set(self._labels)

    def _verdict(self, trajectory: Trajectory, outcome: Outcome) -> Verdict:
        return Verdict(self.id, self.version, whole_session(trajectory), outcome)
