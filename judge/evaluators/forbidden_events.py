"""Did something happen that the suite forbids: a call, a skill load, a text in the answer?

Scale: `clean` 1, `violated` 0. Asking is what counts: a forbidden call that was refused or failed was still made.
"""

from __future__ import annotations

from collections.abc import Sequence

from extractors.coverage import hides_reads
from extractors.trajectory import Trajectory
from judge.describe import call_text, listed, skill_text
from judge.evaluators.cases import case_verdicts
from judge.events import by_agent, call_fits, skill_fits
from judge.globs import contains
from judge.suites import Case, ForbiddenEvent
from judge.verdict import NotJudged, Outcome, Score, Verdict


class ForbiddenEvents:
    """One violation decides; without one, a gap in the telemetry means that nobody can say."""

    id = "forbidden_events"
    version = "2"

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Verdict]:
        return case_verdicts(self, trajectory, cases, _outcome, "no case forbids anything")


def _outcome(trajectory: Trajectory, case: Case) -> Outcome | None:
    if not case.forbidden_events:
        return None
    found = [finding for rule in case.forbidden_events for finding in _findings(rule, trajectory)]
    if violations := [text for certain, text in found if certain]:
        return Score(0.0, "violated", f"forbidden: {listed(violations)}")
    if gaps := [text for _, text in found]:
        return NotJudged("content_not_recorded", f"cannot tell whether forbidden: {listed(gaps)}")
    return Score(1.0, "clean", f"none of {len(case.forbidden_events)} forbidden events happened")


def _findings(rule: ForbiddenEvent, trajectory: Trajectory) -> list[tuple[bool, str]]:
    """(certain?, what) for each thing that is, or for want of records may be, the forbidden one."""
    if rule.answer_contains is not None:
        return _in_answer(rule.answer_contains, trajectory.answer)
    if rule.skill is not None:
        wanted = rule.skill
        loads = [load for load in trajectory.skill_invocations if by_agent(load)]
        answers = [(skill_fits(wanted, load), f"skill {skill_text(load)}") for load in loads]
        if hides_reads(trajectory.tool_calls):
            answers.append((None, f"skill {wanted}, for what tools read was not recorded"))
    else:
        tool = rule.tool or ""
        calls = trajectory.tool_calls
        answers = [(call_fits(tool, rule.arguments, call), f"{call_text(call)} ({call.outcome})") for call in calls]
    return [(fits is True, text) for fits, text in answers if fits is not False]


def _in_answer(needle: str, answer: str | None) -> list[tuple[bool, str]]:
    if answer is None:
        return [(False, f"{needle!r} in the answer, which was not recorded")]
    return [(True, f"{needle!r} in the answer")] if contains(needle, answer) else []
