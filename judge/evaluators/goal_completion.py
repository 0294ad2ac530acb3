"""Did the agent accomplish what the person asked for? Asked of a judge, once a session.

Scale: `Complete` 1, `Partial` 0.5, `Failed` 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from extractors.trajectory import Trajectory
from judge.evaluators.asking import Asking
from judge.fence import Markup
from judge.options import DEFAULTS, EvaluatorOptions
from judge.question import Question, Scale
from judge.suites import Case
from judge.transcript import DEFAULT_TOKENS
from judge.verdict import NotJudged, Verdict, whole_session

SCALE = Scale({"Complete": 1.0, "Partial": 0.5, "Failed": 0.0})


class GoalCompletion:
    """Needs the task, and something that the agent said or did."""

    id = "goal_completion"

    def __init__(self, options: EvaluatorOptions = DEFAULTS, transcript_tokens: int = DEFAULT_TOKENS) -> None:
        self._asking = Asking(self.id, "1", SCALE, options, transcript_tokens)

    @property
    def version(self) -> str:
        return self._asking.version

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        subject = whole_session(trajectory)
        if missing := _missing(trajectory):
            return [self._asking.verdict(subject, NotJudged("content_not_recorded", missing), cases)]
        record = self._asking.transcript(trajectory)
        return [self._asking.question(subject, record, cases, remarks=_remarks(trajectory))]


def _missing(trajectory: Trajectory) -> str | None:
    if trajectory.task is None:
        return "the task was not recorded"
    if trajectory.answer is None and not trajectory.tool_calls and not any(step.text for step in trajectory.steps):
        return "neither an answer nor any call or text of the agent was recorded"
    return None


def _remarks(trajectory: Trajectory) -> Markup:
    """A missing answer usually means that content recording is off, which a judge cannot see."""
    if trajectory.answer is not None:
        return Markup("")
    return Markup("The agent's final answer was not recorded; judge by what its calls and their results show.")
