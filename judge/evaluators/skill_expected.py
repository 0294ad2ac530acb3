"""Was the skill that the suite expects loaded, or none where none should be?

Scale: `as_expected` 1; `not_loaded`, `refused`, `other_skill`, `unexpected_skill` 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from extractors.coverage import hides_reads
from extractors.skills import LoadOutcome, SkillInvocation
from extractors.trajectory import Trajectory
from judge.describe import listed, skill_text
from judge.evaluators.cases import case_verdicts
from judge.events import by_agent, skill_fits
from judge.suites import NO_SKILL, Case
from judge.verdict import NotJudged, Outcome, Score, Verdict

_NONE_SEEN = frozenset({"as_expected"})
_ANOTHER_OR_NONE_SEEN = frozenset({"not_loaded", "other_skill"})
"""Labels that say a skill was not loaded: where none is expected, and where one is."""


class SkillExpected:
    """Skills loaded beside the expected one do no harm: a task may need several. Where a tool that can read files ran
    and its arguments were not recorded, that a skill was not loaded is not known."""

    id = "skill_expected"
    version = "2"

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Verdict]:
        return case_verdicts(self, trajectory, cases, _outcome, "no case expects a skill")


def _outcome(trajectory: Trajectory, case: Case) -> Outcome | None:
    if case.expected_skill is None:
        return None
    if case.expected_skill == NO_SKILL:
        outcome, absence = _none_expected(trajectory), _NONE_SEEN
    else:
        outcome = _one_expected(case.expected_skill, trajectory.skill_invocations)
        absence = _ANOTHER_OR_NONE_SEEN
    if isinstance(outcome, Score) and outcome.label in absence:
        return _hidden(trajectory) or outcome
    return outcome


def _hidden(trajectory: Trajectory) -> NotJudged | None:
    if not hides_reads(trajectory.tool_calls):
        return None
    return NotJudged("content_not_recorded", "what tools read was not recorded: a skill may have been among it")


def _none_expected(trajectory: Trajectory) -> Outcome:
    chosen = [load for load in trajectory.skill_invocations if by_agent(load)]
    if chosen:
        return Score(0.0, "unexpected_skill", f"no skill was expected; asked for: {_texts(chosen)}")
    return Score(1.0, "as_expected", "no skill was expected and none was asked for")


def _one_expected(expected: str, loads: Sequence[SkillInvocation]) -> Outcome:
    mine = [load for load in loads if skill_fits(expected, load)]
    others = [load for load in loads if not skill_fits(expected, load)]
    if any(load.outcome is LoadOutcome.LOADED for load in mine):
        beside = f"; also asked for: {_texts(others)}" if others else ""
        return Score(1.0, "as_expected", f"skill {expected} was loaded{beside}")
    if any(load.name is None for load in loads):
        return NotJudged("content_not_recorded", f"a skill was loaded whose name was not recorded; expected {expected}")
    if any(load.outcome is LoadOutcome.UNANSWERED for load in mine):
        return NotJudged("content_not_recorded", f"skill {expected} was asked for; what came of it was not recorded")
    if mine:
        return Score(0.0, "refused", f"skill {expected} was asked for and refused: {_texts(mine)}")
    if others:
        return Score(0.0, "other_skill", f"skill {expected} was expected; asked for instead: {_texts(others)}")
    return Score(0.0, "not_loaded", f"skill {expected} was expected; no skill was asked for")


def _texts(loads: Sequence[SkillInvocation]) -> str:
    return listed([skill_text(load) for load in loads])
