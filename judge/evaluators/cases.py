"""What the evaluators that check a suite's cases have in common: one verdict for each case that asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from extractors.trajectory import Trajectory
from judge.suites import Case
from judge.verdict import NotApplicable, Outcome, Verdict, whole_session


class Named(Protocol):
    """An evaluator, as far as a verdict needs it."""

    @property
    def id(self) -> str: ...

    @property
    def version(self) -> str: ...


def case_verdicts(
    evaluator: Named,
    trajectory: Trajectory,
    cases: Sequence[Case],
    outcome: Callable[[Trajectory, Case], Outcome | None],
    nothing_expected: str,
) -> list[Verdict]:
    """A verdict on the session for each case; `outcome` gives None for a case that does not ask. When none asks,
    the one verdict is `NotApplicable(nothing_expected)`."""
    found = [(case, outcome(trajectory, case)) for case in cases]
    verdicts = [
        Verdict(
            evaluator.id, evaluator.version, whole_session(trajectory), result, case=case.key, high_risk=case.high_risk
        )
        for case, result in found
        if result is not None
    ]
    if verdicts:
        return verdicts
    return [Verdict(evaluator.id, evaluator.version, whole_session(trajectory), NotApplicable(nothing_expected))]
