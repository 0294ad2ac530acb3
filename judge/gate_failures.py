"""Which single verdicts nobody should have to see twice: those that fail a gate that tolerates none."""

from __future__ import annotations

from typing import Literal, TypeAlias

from judge.case_results import BROKEN, FORBIDDEN
from judge.passing import COMPOSITE, FAIL
from judge.verdict import Score, Verdict

FailedGate: TypeAlias = Literal["forbidden_events", "high_risk"]


def failed_gate(verdict: Verdict) -> FailedGate | None:
    """`forbidden_events` when something forbidden happened, whatever the risk; `high_risk` when a case of high risk is
    not right for another reason. Parts of a composite (one step left out, say) fail no gate by themselves."""
    if not isinstance(verdict.outcome, Score):
        return None
    label = verdict.outcome.label
    if verdict.evaluator == FORBIDDEN:
        return "forbidden_events" if label in BROKEN[FORBIDDEN] else None
    if not verdict.high_risk or verdict.case is None:
        return None
    failing = {FAIL} if verdict.evaluator == COMPOSITE else BROKEN.get(verdict.evaluator, frozenset())
    return "high_risk" if label in failing else None
