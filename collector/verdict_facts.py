"""What metrics count of a verdict. Small and comparable, so that verdicts of which the same is to be said can be
counted together, and cross to another process as one."""

from __future__ import annotations

from dataclasses import dataclass

from judge.gate_failures import FailedGate, failed_gate, leaves_high_risk_open
from judge.verdict import Judged, NotApplicable, NotJudged, Outcome, Score


@dataclass(frozen=True, slots=True)
class VerdictFacts:
    """`skill` is None for a verdict about something else, `score` for one without; `not_judged` is the reason of one
    that should have had a score; `failed_gate` is the gate that one such verdict fails. With that, and where it
    `leaves_high_risk_open`, `case` is the case that asked; otherwise, and for none, ""."""

    service: str | None
    evaluator: str
    skill: str | None
    label: str
    agent_version: str | None
    inclusion_probability: float
    score: float | None = None
    not_judged: str | None = None
    failed_gate: FailedGate | None = None
    leaves_high_risk_open: bool = False
    case: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """Where to look at one verdict of those counted."""

    trace_id: str | None
    session_id: str
    judged_ns: int = 0


def facts_of(judged: Judged) -> VerdictFacts:
    verdict = judged.verdict
    label, score, not_judged = _found(verdict.outcome)
    gate, left_open = failed_gate(verdict), leaves_high_risk_open(verdict)
    return VerdictFacts(
        judged.service,
        verdict.evaluator,
        verdict.subject.name if verdict.subject.kind == "skill" else None,
        label,
        judged.agent_version,
        judged.inclusion_probability,
        score,
        not_judged,
        gate,
        left_open,
        (verdict.case or "")
        if gate or left_open
        else "",  # elsewhere it would only keep verdicts from being counted together
    )


def _found(outcome: Outcome) -> tuple[str, float | None, str | None]:
    """Label, score, and why there is none."""
    match outcome:
        case Score(value, label, _):
            return label, value, None
        case NotApplicable():
            return "not_applicable", None, None
        case NotJudged(reason, _):
            return "not_judged", None, reason


def example_of(judged: Judged) -> Example:
    anchor = judged.verdict.subject.anchor
    return Example(anchor.trace_id if anchor else None, judged.session.session_id, judged.judged_ns)
