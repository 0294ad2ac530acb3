"""Did the agent do what the instructions of each skill it loaded say? Asked of a judge, once for each skill body.

The judge lists the steps that the instructions prescribe for this session and says of each: `followed`,
`out_of_order`, `skipped` or `not_applicable`. The score is the share followed of those that apply, which we work out.
Labels by share: `followed` all, `mostly` from 0.7, `partly` from 0.5, `not_followed` below.
"""

from __future__ import annotations

from collections.abc import Sequence

from extractors.skills import LoadOutcome, SkillInvocation
from extractors.trajectory import ROOT_AGENT, Trajectory
from judge.evaluators.asking import Asking
from judge.fence import Markup, fence
from judge.options import DEFAULTS, EvaluatorOptions
from judge.passing import PASSING_SCORE
from judge.question import Question, Scale
from judge.redaction import Redaction
from judge.subjects import subjects_of
from judge.suites import Case
from judge.transcript import BYTES_PER_TOKEN, DEFAULT_TOKENS, Transcript
from judge.verdict import NotApplicable, NotJudged, Outcome, Subject, Verdict, whole_session

SCALE = Scale({"followed": 1.0, "mostly": 0.7, "partly": PASSING_SCORE, "not_followed": 0.0})
"""Where passing begins a label begins too, so that a label alone says whether the verdict passes."""
BODY_SHARE = 0.6
"""Share of a question's own room that the instructions may take."""


class SkillInstructionFollowing:
    """Needs a loaded skill's body, the task, and something that the agent did or said. Instructions bind also when it
    was the person who loaded them."""

    id = "skill_instruction_following"

    def __init__(self, options: EvaluatorOptions = DEFAULTS, transcript_tokens: int = DEFAULT_TOKENS) -> None:
        self._asking = Asking(self.id, "2", SCALE, options, transcript_tokens, shape="steps")

    @property
    def version(self) -> str:
        return self._asking.version

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        loads = trajectory.skill_invocations
        if not loads:
            return [self._asking.verdict(whole_session(trajectory), NotApplicable("no skill was asked for"), cases)]
        found: list[Question | Verdict] = []
        to_ask: list[tuple[SkillInvocation, Subject]] = []
        seen: set[tuple[str, str | None]] = set()
        for load, subject in zip(loads, subjects_of(loads), strict=True):
            again = (load.agent, load.body) in seen
            if outcome := _not_to_ask(trajectory, load, again):
                found.append(self._asking.verdict(subject, outcome, cases))
            else:
                seen.add((load.agent, load.body))
                to_ask.append((load, subject))
        asked, left_out = self._asking.at_most(to_ask, trajectory)
        record = self._asking.transcript(trajectory)
        found += [self._question(load, subject, record, cases) for load, subject in asked]
        return [*found, *left_out]

    def _question(self, load: SkillInvocation, subject: Subject, record: Transcript, cases: Sequence[Case]) -> Question:
        room = int(self._asking.question_tokens * BYTES_PER_TOKEN * BODY_SHARE)
        redaction = self._asking.redaction
        skill, body = fence("skill", load.name or "", 300, redaction), fence("body", load.body or "", room, redaction)
        return self._asking.question(
            subject,
            record,
            cases,
            instructions=Markup(f"{skill}\n{body}"),
            remarks=_remarks(load, redaction),
            excerpt=self._asking.excerpt(record, load.anchor),
        )


def _not_to_ask(trajectory: Trajectory, load: SkillInvocation, again: bool) -> Outcome | None:
    if load.outcome is LoadOutcome.REFUSED:
        return NotApplicable("the skill was refused: there was nothing to follow")
    if load.outcome is LoadOutcome.UNANSWERED:
        return NotApplicable("nothing shows that the skill was loaded")
    if not load.body:
        return NotApplicable("the instructions of the skill were not recorded")
    if again:
        return NotApplicable("the same instructions were loaded before, and are judged there")
    if trajectory.task is None:
        return NotJudged("content_not_recorded", "the task was not recorded")
    if not (trajectory.answer or trajectory.tool_calls or any(step.text for step in trajectory.steps)):
        return NotJudged("content_not_recorded", "nothing that the agent did or said was recorded")
    return None


def _remarks(load: SkillInvocation, redaction: Redaction) -> Markup:
    return fence("loaded_by_sub_agent", load.agent, 200, redaction) if load.agent != ROOT_AGENT else Markup("")
