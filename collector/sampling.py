"""Which sessions are judged, and how likely was that? A hash of the session decides, by rules that may need all of it
(pure).

At ingest a session is dropped only where no rule could keep it (`ceiling`). All else is decided when the session is
closed, so that the outcome does not depend on what of it came first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collector.sessions.keys import Digest, kept
from extractors.skills import LoadOutcome
from extractors.trajectory import CallOutcome, Trajectory
from judge.evaluators.budgets import BudgetsKept
from judge.evaluators.forbidden_events import ForbiddenEvents
from judge.globs import matches
from judge.passing import passed
from judge.suites import Case, Match, is_about, same_skill
from judge.verdict import Verdict

KeepWhen: TypeAlias = Literal["errors", "refused_skill", "high_risk", "budget_exceeded", "forbidden_event"]
USUAL_RATE = "rate"
"""What decided where no rule matched."""
_SAMPLED_BY = "sampled by sampling."


@dataclass(frozen=True, slots=True)
class SamplingRule:
    """Sessions that match are kept at this rate."""

    name: str
    match: Match
    rate: float


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep every session of which one of these holds: `when`; asking for one of `skills`, which are names or patterns;
    a verdict of one of the evaluators in `failed` that did not pass, as far as code decides it."""

    when: tuple[KeepWhen, ...] = ()
    skills: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.when or self.skills or self.failed)


@dataclass(frozen=True, slots=True)
class SamplingRules:
    """The first rule that matches decides, `rate` where none does; what `keep` is about is kept whatever they say."""

    rate: float = 1.0
    rules: tuple[SamplingRule, ...] = ()
    keep: Keep = Keep()


@dataclass(frozen=True, slots=True)
class Included:
    """The session is judged; a share `probability` of sessions like it is. `rule` says what decided."""

    probability: float
    rule: str

    @property
    def notes(self) -> tuple[str, ...]:
        """For people who look at the session: nothing where it is only the usual rate."""
        return () if self.rule == USUAL_RATE else (f"{_SAMPLED_BY}{self.rule}",)


@dataclass(frozen=True, slots=True)
class SampledOut:
    rule: str


def sampled_by(note: str) -> str:
    """The rule by which a session with this note was kept; see `Included.notes`."""
    first = note.split("; ", 1)[0]
    return first.removeprefix(_SAMPLED_BY) if first.startswith(_SAMPLED_BY) else USUAL_RATE


def ceiling(rules: SamplingRules) -> float:
    """The highest rate at which any session could be kept. What a hash puts above it need not be stored at all."""
    return 1.0 if rules.keep else max(rules.rate, *(rule.rate for rule in rules.rules), 0.0)


def decide(
    rules: SamplingRules, digest: Digest, trajectory: Trajectory, cases: Sequence[Case], verdicts: Sequence[Verdict]
) -> Included | SampledOut:
    """`cases` are the expectations that the session meets, `verdicts` those that code has reached by now."""
    reason = _kept_for(rules.keep, trajectory, cases, verdicts)
    if reason is not None:
        return Included(1.0, reason)
    rule = next((rule for rule in rules.rules if is_about(rule.match, trajectory)), None)
    name, rate = (USUAL_RATE, rules.rate) if rule is None else (f"rules.{rule.name}", rule.rate)
    return Included(rate, name) if kept(digest, rate) else SampledOut(name)


def _kept_for(keep: Keep, trajectory: Trajectory, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> str | None:
    """The first thing to keep the session for, in the order of the configuration; None when there is none."""
    for when in keep.when:
        if _HOLDS[when](trajectory, cases, verdicts):
            return f"keep.{when}"
    for load in trajectory.skill_invocations:
        for skill in keep.skills:
            if load.name is not None and (same_skill(skill, load.name) or matches(skill, load.name)):
                return f"keep.skills.{skill}"
    for evaluator in keep.failed:
        if _failed(evaluator, verdicts):
            return f"keep.failed.{evaluator}"
    return None


def _failed(evaluator: str, verdicts: Sequence[Verdict]) -> bool:
    return any(verdict.evaluator == evaluator and passed(verdict) is False for verdict in verdicts)


def _has_errors(trajectory: Trajectory) -> bool:
    return (
        bool(trajectory.failures)
        or any(call.outcome is CallOutcome.FAILED for call in trajectory.tool_calls)
        or any(step.error is not None for step in trajectory.steps)
    )


def _has_refused_skill(trajectory: Trajectory) -> bool:
    return any(load.outcome is LoadOutcome.REFUSED for load in trajectory.skill_invocations)


_HOLDS: Mapping[KeepWhen, Callable[[Trajectory, Sequence[Case], Sequence[Verdict]], bool]] = {
    "errors": lambda trajectory, _cases, _verdicts: _has_errors(trajectory),
    "refused_skill": lambda trajectory, _cases, _verdicts: _has_refused_skill(trajectory),
    "high_risk": lambda _trajectory, cases, _verdicts: any(case.high_risk for case in cases),
    "budget_exceeded": lambda _trajectory, _cases, verdicts: _failed(BudgetsKept.id, verdicts),
    "forbidden_event": lambda _trajectory, _cases, verdicts: _failed(ForbiddenEvents.id, verdicts),
}
