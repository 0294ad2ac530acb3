"""Does the answer say what the suite wants it to say?

Scale: the share of expected texts found. Labels: `complete` (all), `incomplete`. Letter case and kinds of white
space do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from extractors.trajectory import Trajectory
from judge.describe import listed
from judge.evaluators.cases import case_verdicts
from judge.globs import contains
from judge.suites import Case
from judge.verdict import NotJudged, Outcome, Score, Verdict


class AnswerContains:
    """Looks at the last text to the person only."""

    id = "answer_contains"
    version = "1"

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Verdict]:
        return case_verdicts(self, trajectory, cases, _outcome, "no case expects a text in the answer")


def _outcome(trajectory: Trajectory, case: Case) -> Outcome | None:
    wanted, answer = case.answer_contains, trajectory.answer
    if not wanted:
        return None
    if answer is None:
        return NotJudged("content_not_recorded", "the answer was not recorded")
    missing = [text for text in wanted if not contains(text, answer)]
    if missing:
        value = 1 - len(missing) / len(wanted)
        return Score(value, "incomplete", f"not in the answer: {listed([repr(text) for text in missing])}")
    return Score(1.0, "complete", f"all {len(wanted)} expected texts are in the answer")
