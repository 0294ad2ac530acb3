"""A case of a suite from what happened in a session (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collector.suite_files import new_suite, with_case
from extractors.skills import LoadOutcome
from extractors.trajectory import CallOutcome, Trajectory
from judge.events import by_agent
from judge.origins import loading_calls
from judge.suites import expectations_for, parse_suite

_LONGEST_TASK = 400
_MOST_STEPS = 10
_ID_WORDS = 5
_HAPPENED = "as it happened: is this right?"


@dataclass(frozen=True, slots=True)
class CaseOptions:
    """What the user said; the rest is taken from the session."""

    case_id: str | None = None
    skill: str | None = None
    steps: tuple[str, ...] = ()
    ordered: bool = False
    forbidden: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    high_risk: bool = False


def case_from(trajectory: Trajectory, options: CaseOptions, case_id: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The case as a suite file has it, and a remark for each key that was filled in.

    Raises ValueError when the task was not recorded: nothing would say which sessions the case is about.
    """
    if trajectory.task is None:
        raise ValueError("the session's task was not recorded: write the case by hand, with a match that fits")
    case: dict[str, Any] = {"id": case_id, "match": _match(trajectory)}
    remarks: dict[str, str] = {}
    if options.high_risk:
        case["risk"] = "high"
    if skill := options.skill or _loaded(trajectory):
        case["expected_skill"] = skill
        remarks |= {} if options.skill else {"expected_skill": _HAPPENED}
    if steps := options.steps or _worked(trajectory):
        case["required_steps"] = [{"tool": name.replace("*", r"\*") if not options.steps else name} for name in steps]
        remarks |= {} if options.steps else {"required_steps": _HAPPENED}
        if options.ordered:
            case["ordered"] = True
    if options.forbidden:
        case["forbidden_events"] = [{"tool": name} for name in options.forbidden]
    if options.answer:
        case["answer_contains"] = list(options.answer)
    return case, remarks


@dataclass(frozen=True, slots=True)
class Added:
    """The text of a suite with a case more. `remarks` say of its keys which were filled in."""

    text: str
    suite: str
    case: Mapping[str, Any]
    remarks: Mapping[str, str]


def add_case(before: str | None, source: str, name: str, trajectory: Trajectory, options: CaseOptions) -> Added:
    """The case added to the text of a suite, or the only one of a new suite of this name. `source` is for messages.

    Raises ValueError where the case would not be about the session, or the task was not recorded; `DocumentError` where
    the text cannot be added to.
    """
    taken = [] if before is None else [one.id for one in parse_suite(before, source).cases]
    case, remarks = case_from(trajectory, options, options.case_id or id_for(trajectory, taken))
    text = new_suite(name, case, remarks) if before is None else with_case(before, source, case, remarks)
    made = parse_suite(text, source)
    if not any(one.id == case["id"] for one in expectations_for(trajectory, [made])):
        raise ValueError("the case would not be about this session: its task or service cannot be matched")
    return Added(text, made.name, case, remarks)


def id_for(trajectory: Trajectory, taken: Sequence[str]) -> str:
    """Words of the task, or of the session's id; numbered where it is taken."""
    words = re.findall(r"[a-z0-9]+", (trajectory.task or "").lower())[:_ID_WORDS]
    words = words or ["session", *re.findall(r"[A-Za-z0-9]+", trajectory.session_id)[:2]]
    name = "-".join(words)[:60]
    number = 2
    found = name
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    return found


def _match(trajectory: Trajectory) -> dict[str, Any]:
    task = " ".join((trajectory.task or "").split())
    if len(task) > _LONGEST_TASK:
        task = task[:_LONGEST_TASK].rpartition(" ")[0] or task[:_LONGEST_TASK]
    service = trajectory.versions.service
    # A star in the name of a service is a star, and no pattern.
    named = {} if service is None else {"service": service.replace("\\", r"\\").replace("*", r"\*")}
    return {**named, "task_contains": task}


def _loaded(trajectory: Trajectory) -> str | None:
    loads = (load for load in trajectory.skill_invocations if load.outcome is LoadOutcome.LOADED and by_agent(load))
    return next((load.name for load in loads if load.name), None)


def _worked(trajectory: Trajectory) -> list[str]:
    """Tools that were called with success, in order of their first call, without those that loaded a skill."""
    loading = set(loading_calls(trajectory))
    names = (
        call.name
        for at, call in enumerate(trajectory.tool_calls)
        if call.outcome in {CallOutcome.OK, CallOutcome.UNANSWERED} and at not in loading
    )
    return list(dict.fromkeys(names))[:_MOST_STEPS]
