"""Is the answer true to what the tools returned? Asked of a judge, once a session.

Scale: `Faithful` 1, `Partly` 0.5, `Unfaithful` 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from extractors.trajectory import Trajectory
from judge.describe import plural
from judge.evaluators.asking import Asking
from judge.fence import Markup
from judge.options import DEFAULTS, EvaluatorOptions
from judge.question import Question, Scale
from judge.suites import Case
from judge.transcript import DEFAULT_TOKENS
from judge.verdict import NotApplicable, NotJudged, Outcome, Verdict, whole_session

SCALE = Scale({"Faithful": 1.0, "Partly": 0.5, "Unfaithful": 0.0})


class Faithfulness:
    """Needs the answer and what at least one call returned, were it an error."""

    id = "faithfulness"

    def __init__(self, options: EvaluatorOptions = DEFAULTS, transcript_tokens: int = DEFAULT_TOKENS) -> None:
        self._asking = Asking(self.id, "1", SCALE, options, transcript_tokens)

    @property
    def version(self) -> str:
        return self._asking.version

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        subject = whole_session(trajectory)
        if outcome := _not_to_ask(trajectory):
            return [self._asking.verdict(subject, outcome, cases)]
        record = self._asking.transcript(trajectory)
        return [self._asking.question(subject, record, cases, remarks=_remarks(trajectory))]


def _not_to_ask(trajectory: Trajectory) -> Outcome | None:
    if not trajectory.tool_calls:
        return NotApplicable("no tool was called: there is nothing to be true to")
    if trajectory.answer is None:
        return NotJudged("content_not_recorded", "the answer was not recorded")
    if not trajectory.answer.strip():
        return NotApplicable("the agent gave no answer")
    if _silent(trajectory) == len(trajectory.tool_calls):
        return NotJudged("content_not_recorded", "what the tools returned was not recorded")
    return None


def _silent(trajectory: Trajectory) -> int:
    """How many calls say nothing of what they returned."""
    return sum(call.result is None and call.error is None for call in trajectory.tool_calls)


def _remarks(trajectory: Trajectory) -> Markup:
    silent = _silent(trajectory)
    return Markup(f"Of {plural(silent, 'call')} it was not recorded what came back." if silent else "")
