"""Which single verdicts somebody has to be told of: those that fail a gate that tolerates none, or leave it open."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from judge.case_results import BROKEN, FORBIDDEN
from judge.passing import COMPOSITE, FAIL
from judge.verdict import NotJudged, Score, Verdict

FailedGate: TypeAlias = Literal["forbidden_events", "high_risk"]

FAILING: Mapping[str, frozenset[str]] = MappingProxyType({COMPOSITE: frozenset({FAIL}), **BROKEN})
"""By evaluator, the labels with which a verdict may fail a gate."""


def failed_gate(verdict: Verdict) -> FailedGate | None:
    """`forbidden_events` when something forbidden happened, whatever the risk; `high_risk` when a case of high risk is
    not right for another reason. Parts of a composite (one step left out, say) fail no gate by themselves."""
    if not isinstance(verdict.outcome, Score):
        return None
    if verdict.outcome.label not in FAILING.get(verdict.evaluator, ()):
        return None
    if verdict.evaluator == FORBIDDEN:
        return "forbidden_events"
    return "high_risk" if verdict.high_risk and verdict.case is not None else None


def leaves_high_risk_open(verdict: Verdict) -> bool:
    """Whether a case of high risk could not be judged by something that would have failed it: nobody knows whether it
    was right. Without a judge, which somebody decided, that is so of every session and no news."""
    return (
        isinstance(verdict.outcome, NotJudged)
        and verdict.outcome.reason != "no_judge_configured"
        and verdict.evaluator in FAILING
        and verdict.high_risk
        and verdict.case is not None
    )
