"""Was it right to do without every skill on offer? Asked of a judge, once for a session in which skills were offered
and none was asked for.

Scale: `Yes` 1, `No` 0. The counterpart of skill_selection: the choice is judged, not what came of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from extractors.trajectory import Trajectory
from judge.evaluators.asking import Asking
from judge.options import DEFAULTS, EvaluatorOptions
from judge.question import Question, Scale
from judge.suites import Case
from judge.transcript import BYTES_PER_TOKEN, DEFAULT_TOKENS, catalog_text
from judge.verdict import NotApplicable, NotJudged, Outcome, Verdict, whole_session

SCALE = Scale({"Yes": 1.0, "No": 0.0})


class SkillAbstention:
    """Needs the root agent's catalog and the task."""

    id = "skill_abstention"

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
        # Once more where the record is shortened: its catalog may have lost the skill that fits.
        room = int(self._asking.question_tokens * BYTES_PER_TOKEN)
        catalog = catalog_text(trajectory.offered_skills, room, self._asking.redaction) if record.elided else ""
        return [self._asking.question(subject, record, cases, catalog=catalog)]


def _not_to_ask(trajectory: Trajectory) -> Outcome | None:
    if trajectory.skill_invocations:
        return NotApplicable("a skill was asked for")
    if trajectory.offered_skills is None:
        return NotJudged("content_not_recorded", "which skills were on offer was not recorded")
    if not trajectory.offered_skills:
        return NotApplicable("no skill was on offer")
    if trajectory.task is None:
        return NotJudged("content_not_recorded", "the task was not recorded")
    return None
