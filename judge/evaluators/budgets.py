"""Did the session stay within the suite's limits on time and tokens? (Limits on calls belong to step_efficiency.)

Scale: `within` 1, `over` 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from extractors.trajectory import Trajectory
from judge.evaluators.cases import case_verdicts
from judge.suites import Case
from judge.verdict import NotJudged, Outcome, Score, Verdict

SECOND_NS = 1_000_000_000


class BudgetsKept:
    """One limit passed decides; otherwise every limit must be known to be kept."""

    id = "budgets"
    version = "1"

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Verdict]:
        return case_verdicts(self, trajectory, cases, _outcome, "no case limits time or tokens")


def _outcome(trajectory: Trajectory, case: Case) -> Outcome | None:
    limits = {"seconds": case.budgets.seconds, "tokens": case.budgets.tokens}
    used = {"seconds": _seconds(trajectory), "tokens": _tokens(trajectory)}
    asked = {name: limit for name, limit in limits.items() if limit is not None}
    if not asked:
        return None
    over, unknown, within = [], [], []
    for name, limit in asked.items():
        spent, complete = used[name]
        text = f"{spent:g} of {limit:g} {name}"
        if spent > limit:
            over.append(text)
        elif not complete:
            unknown.append(f"{name} (at least {spent:g})")
        else:
            within.append(text)
    if over:
        return Score(0.0, "over", f"over budget: {', '.join(over)}")
    if unknown:
        return NotJudged("content_not_recorded", f"not recorded for the whole session: {', '.join(unknown)}")
    return Score(1.0, "within", f"used {', '.join(within)}")


def _seconds(trajectory: Trajectory) -> tuple[float, bool]:
    """(seconds from first to last telemetry, known?)"""
    known = 0 < trajectory.started_ns <= trajectory.ended_ns
    return ((trajectory.ended_ns - trajectory.started_ns) / SECOND_NS if known else 0.0), known


def _tokens(trajectory: Trajectory) -> tuple[float, bool]:
    """(tokens of all model turns that state them, whether all do)"""
    counts = [count for step in trajectory.steps for count in (step.input_tokens, step.output_tokens)]
    known = [count for count in counts if count is not None]
    return float(sum(known)), bool(counts) and len(known) == len(counts)
