"""Was each skill that the agent asked for a sensible choice? Asked of a judge, once for each skill invocation.

Scale: `Yes` 1, `No` 0. The choice is judged, not what came of it: a refused skill may have been the right one.
"""

from __future__ import annotations

from collections.abc import Sequence

from extractors.skills import Skill, SkillInvocation
from extractors.trajectory import ROOT_AGENT, Trajectory
from judge.evaluators.asking import Asking
from judge.events import by_agent
from judge.fence import Markup, fence
from judge.options import DEFAULTS, EvaluatorOptions
from judge.question import Question, Scale
from judge.redaction import Redaction
from judge.subjects import subjects_of
from judge.suites import Case
from judge.transcript import DEFAULT_TOKENS, Transcript, catalog_text
from judge.verdict import NotApplicable, NotJudged, Outcome, Subject, Verdict, whole_session

SCALE = Scale({"Yes": 1.0, "No": 0.0})


class SkillSelection:
    """Needs the task and the skill's name; a catalog that was not recorded is told to the judge as that."""

    id = "skill_selection"

    def __init__(self, options: EvaluatorOptions = DEFAULTS, transcript_tokens: int = DEFAULT_TOKENS) -> None:
        self._asking = Asking(self.id, "1", SCALE, options, transcript_tokens)

    @property
    def version(self) -> str:
        return self._asking.version

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        loads = trajectory.skill_invocations
        if not loads:
            return [self._asking.verdict(whole_session(trajectory), NotApplicable("no skill was asked for"), cases)]
        found: list[Question | Verdict] = []
        to_ask: list[tuple[SkillInvocation, Subject]] = []
        for load, subject in zip(loads, subjects_of(loads), strict=True):
            if outcome := _not_to_ask(trajectory, load):
                found.append(self._asking.verdict(subject, outcome, cases))
            else:
                to_ask.append((load, subject))
        asked, left_out = self._asking.at_most(to_ask, trajectory)
        record = self._asking.transcript(trajectory)
        found += [self._question(trajectory, load, subject, record, cases) for load, subject in asked]
        return [*found, *left_out]

    def _question(
        self,
        trajectory: Trajectory,
        load: SkillInvocation,
        subject: Subject,
        record: Transcript,
        cases: Sequence[Case],
    ) -> Question:
        return self._asking.question(
            subject,
            record,
            cases,
            choice=_choice(load, self._asking.redaction),
            catalog=_own_catalog(trajectory, load, self._asking.question_tokens, self._asking.redaction),
            excerpt=self._asking.excerpt(record, load.anchor),
        )


def _not_to_ask(trajectory: Trajectory, load: SkillInvocation) -> Outcome | None:
    if not by_agent(load):
        return NotApplicable("the person asked for this skill, not the agent")
    if load.name is None:
        return NotJudged("content_not_recorded", "the name of the skill was not recorded")
    if trajectory.task is None:
        return NotJudged("content_not_recorded", "the task was not recorded")
    return None


def _choice(load: SkillInvocation, redaction: Redaction) -> Markup:
    parts = [fence("skill", load.name or ""), fence("outcome", load.outcome)]
    if load.refusal is not None:
        parts.append(fence("refusal", load.refusal, 2_000, redaction))
    if load.agent != ROOT_AGENT:
        parts.append(fence("sub_agent", load.agent, 200, redaction))
    return Markup("\n".join(parts))


def _own_catalog(trajectory: Trajectory, load: SkillInvocation, most_bytes: int, redaction: Redaction) -> Markup:
    """A sub-agent's own catalog; the root agent's is part of the record that all questions share."""
    if load.agent == ROOT_AGENT:
        return _description(trajectory.offered_skills, load, redaction)
    offered = next((agent.offered_skills for agent in trajectory.agents if agent.id == load.agent), None)
    return Markup(f"What this sub-agent was offered:\n{catalog_text(offered, most_bytes, redaction)}")


def _description(offered: Sequence[Skill] | None, load: SkillInvocation, redaction: Redaction) -> Markup:
    """The chosen skill's entry once more, since a long catalog may have lost it."""
    mine = tuple(skill for skill in offered or () if skill.name == load.name)
    return Markup(f"As it was offered:\n{catalog_text(mine, redaction=redaction)}") if mine else Markup("")
