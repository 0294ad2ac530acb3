"""What is handed out to be evaluated, and what comes back: records small enough to send from process to process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from collector.evaluation.tally import Tally
from collector.sessions.book import Claim

Status: TypeAlias = Literal["kept", "settled", "unfinished"]
"""`kept` just now, with verdicts; `settled` in any other way; `unfinished`: what it needs is away, try again later."""


@dataclass(frozen=True, slots=True)
class Task:
    """`handed_before`: it may be in the store already, and not counted yet, from a try that was cut short."""

    claim: Claim
    handed_before: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A status for each task of the group, in its order. `problem` says what is away, None when nothing is."""

    statuses: tuple[Status, ...]
    tally: Tally
    problem: str | None = None


class EvaluationLost(Exception):
    """The process that had the group has ended. `culprit` is the place in the group of the task it was working on,
    None when that is not one task's doing."""

    def __init__(self, cause: str, culprit: int | None) -> None:
        super().__init__(cause)
        self.cause = cause
        self.culprit = culprit


class Evaluating(Protocol):
    async def evaluate(self, tasks: Sequence[Task]) -> Report:
        """Read, judge and keep these closings; in one transaction if possible. Raises `EvaluationLost`."""
