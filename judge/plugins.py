"""Evaluators of other people, held to the contract that the type checker holds ours to.

Whatever a plugin returns, it costs nobody but itself: a finding that is not what it should be raises `BadFinding`,
which `catalog.plan_all` makes a verdict of, as of any other error.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from extractors.trajectory import Trajectory
from judge.configured import Evaluator
from judge.question import Question
from judge.suites import Case
from judge.verdict import NotApplicable, Score, Verdict, whole_session

NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
"""As rubrics are named: it stands in metrics, and as a key of the configuration."""
MAX_LABEL = 100
MAX_TEXT = 16_000
"""Characters of an explanation, reason or detail. They travel with the verdict to places that take no megabytes."""

NOTHING_SAID = "the evaluator had nothing to say about this session"


class BadFinding(Exception):
    """What a plugin returned cannot be a verdict or a question. Says where, and repeats no content."""


class Plugin:
    """`id` and `version` are those that the evaluator had when it was loaded. Raises `TypeError` when it is no
    evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.id: str = _text(evaluator.id, "id")
        if not NAME.fullmatch(self.id):
            raise TypeError(f"id is {self.id[:80]!r}; it must have lower-case letters, digits and _, at most 60")
        self.version: str = _text(evaluator.version, "version")
        if not callable(evaluator.plan):
            raise TypeError("plan must be a method")

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        """Raises `BadFinding`, and what the plugin raises."""
        try:
            findings: list[object] = list(self._evaluator.plan(trajectory, cases))
        except SystemExit as error:
            raise BadFinding("it called exit") from error
        checked = [self._checked(finding) for finding in findings]
        about = [(one.subject.kind, one.subject.ref, one.case, one.evaluator_version) for one in checked]
        if len(set(about)) < len(about):
            raise BadFinding("two findings are about the same subject and case: only one could be kept")
        return checked or [Verdict(self.id, self.version, whole_session(trajectory), NotApplicable(NOTHING_SAID))]

    def _checked(self, finding: object) -> Question | Verdict:
        if not isinstance(finding, (Question, Verdict)):
            raise BadFinding(f"a finding is a {type(finding).__name__}, neither Verdict nor Question")
        problem = next(_misfits(finding, type(finding), type(finding).__name__), None)
        problem = problem or (_of_question(finding) if isinstance(finding, Question) else _of_verdict(finding))
        if problem is None and finding.evaluator != self.id:
            problem = f"{type(finding).__name__}.evaluator is not {self.id}"
        if problem:
            raise BadFinding(problem)
        return finding


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name} must be text")
    return value


def _of_question(question: Question) -> str | None:
    """What is wrong with a question whose types are right."""
    values = question.scale.values
    if not question.prompt.question:
        return "Question.prompt.question is empty"
    if not values or not all(math.isfinite(value) and 0 <= value <= 1 for value in values.values()):
        return "Question.scale needs labels, each with a score from 0 to 1"
    if max(map(len, values)) > MAX_LABEL:
        return f"a label of Question.scale has more than {MAX_LABEL} characters"
    return None if question.votes % 2 == 1 and question.votes > 0 else "Question.votes must be 1 or an odd number"


def _of_verdict(verdict: Verdict) -> str | None:
    outcome = verdict.outcome
    if isinstance(outcome, Score) and not 0 < len(outcome.label) <= MAX_LABEL:
        return f"Score.label must have 1 to {MAX_LABEL} characters"
    if verdict.agreement is not None and not 0 <= verdict.agreement <= 1:
        return "Verdict.agreement must be a share from 0 to 1"
    texts = (getattr(outcome, field.name) for field in fields(outcome))
    if any(isinstance(text, str) and len(text) > MAX_TEXT for text in texts):
        return f"a text of {type(outcome).__name__} has more than {MAX_TEXT} characters"
    return None


def _misfits(value: object, hint: Any, where: str) -> Iterator[str]:
    """Places where a value is not of the type that it is declared to be, all the way down."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        fitting = next((one for one in inner if _is_a(value, one)), None)
        if fitting is None:
            yield _told(value, where)
        else:
            yield from _misfits(value, fitting, where)
    elif not _is_a(value, hint):
        yield _told(value, where)
    elif isinstance(hint, type) and is_dataclass(hint):
        for name, kind in _hints(hint).items():
            yield from _misfits(getattr(value, name), kind, f"{where}.{name}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _misfits(key, inner[0], f"a key of {where}")
            yield from _misfits(item, inner[1], f"a value of {where}")


def _is_a(value: object, hint: Any) -> bool:
    """Of the declared kind itself; what it holds is looked at by `_misfits`."""
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    kind = get_origin(hint) or hint
    if kind in {int, float}:
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    return isinstance(value, kind)


@lru_cache
def _hints(kind: type) -> dict[str, Any]:
    return {field.name: get_type_hints(kind)[field.name] for field in fields(kind)}


def _told(value: object, where: str) -> str:
    return f"{where} cannot be a {type(value).__name__}"
