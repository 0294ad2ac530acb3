"""Records as the rows of their tables. Pure; `sqlite` runs the statements."""

from __future__ import annotations

import json
from typing import Any

from collector.attribution import version_of
from collector.store.records import CLOSED_SESSION, JUDGED, PENDING_QUESTION
from collector.store.store import ClosedSession, PendingQuestion
from extractors.skills import LoadOutcome
from extractors.trajectory import Trajectory
from judge.passing import passed
from judge.verdict import Judged, NotApplicable, NotJudged, Score

MAX_TASK = 4_000
"""Characters of the task that lists show and search; the whole of it is in the trajectory."""

MAX_NAME = 200
"""Characters of a skill's name that are searched by: every database can index so many."""

UNREADABLE = "unreadable"
"""Stands for the harness of a session that has no trajectory."""


NOT_APPLICABLE = "not_applicable"
"""The label of a verdict that says there was nothing to judge."""


def session_row(session: ClosedSession) -> dict[str, Any]:
    trajectory = session.trajectory
    return {
        "tenant": session.ref.tenant,
        "session_id": session.ref.session_id,
        "revision": session.ref.revision,
        "closed_ns": session.closed_ns,
        "judged": session.judged,
        "harness": trajectory.harness if trajectory else UNREADABLE,
        "service": storable(trajectory.versions.service if trajectory else None),
        "agent": storable(trajectory.versions.agent if trajectory else None),
        "version": storable(version_of(trajectory) if trajectory else None),
        "task": storable(trajectory.task if trajectory else None),
        "close_reason": session.close_reason,
        "spans": session.spans,
        "records": session.records,
        "note": storable(session.note) or "",
        "record": CLOSED_SESSION.dump(session),
    }


def verdict_row(judged: Judged) -> dict[str, Any]:
    """Everything but the number of its session."""
    label, score = _found(judged)
    return {
        "id": judged.id,
        "evaluator": judged.verdict.evaluator,
        "label": label,
        "score": score,
        "passed": passed(judged.verdict),
        "skill": skill_of(judged),
        "evaluator_version": judged.verdict.evaluator_version,
        "judge_model": judged.verdict.judge_model,
        "prompt_version": judged.verdict.prompt_version,
        "agent_version": storable(judged.agent_version),
        "inclusion_probability": judged.inclusion_probability,
        "record": JUDGED.dump(judged),
    }


def question_row(pending: PendingQuestion) -> dict[str, Any]:
    """Everything but the number of its session."""
    return {
        "id": pending.id,
        "evaluator": pending.question.evaluator,
        "model": pending.question.model,
        "high_risk": pending.question.high_risk,
        "asked": pending.asked,
        "next_ns": pending.next_ns,
        "created_ns": pending.created_ns,
        "record": PENDING_QUESTION.dump(pending),
    }


def skill_of(judged: Judged) -> str | None:
    """The skill that the verdict is about, as it is searched by."""
    subject = judged.verdict.subject
    return name_of(subject.name) if subject.kind == "skill" else None


def name_of(skill: str | None) -> str | None:
    return storable(skill[:MAX_NAME] if skill else skill)


def trace_ids(trajectory: Trajectory) -> list[str]:
    """Of all that was read for it, each once, sorted."""
    anchors = [
        trajectory.root_anchor,
        trajectory.catalog_anchor,
        trajectory.answer_anchor,
        *(one.anchor for one in trajectory.prompts),
        *(one.anchor for one in trajectory.steps),
        *(one.anchor for one in trajectory.tool_calls),
        *(one.anchor for one in trajectory.skill_invocations),
        *(one.anchor for one in trajectory.failures),
    ]
    return sorted({anchor.trace_id for anchor in anchors if anchor is not None and anchor.trace_id})


def load_rows(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Attempts to load skills, one row a skill; everything but the number of the session."""
    rows: dict[str | None, dict[str, Any]] = {}
    for load in trajectory.skill_invocations:
        name = name_of(load.name)
        row = rows.setdefault(name, {"skill": name, **dict.fromkeys(LoadOutcome, 0)})
        row[load.outcome] += 1
    return [{str(key): value for key, value in row.items()} for row in rows.values()]


def catalog_row(trajectory: Trajectory) -> dict[str, Any] | None:
    """What all agents of the session together were offered; None where that was not recorded of any of them."""
    offers = [trajectory.offered_skills, *(agent.offered_skills for agent in trajectory.agents)]
    recorded = [offer for offer in offers if offer is not None]
    names = sorted({name_of(skill.name) or "" for offer in recorded for skill in offer})
    return {"skills": json.dumps(names)} if recorded else None


def _found(judged: Judged) -> tuple[str, float | None]:
    match judged.verdict.outcome:
        case Score(value, label, _):
            return label, value
        case NotApplicable():
            return NOT_APPLICABLE, None
        case NotJudged():
            return "not_judged", None


def storable(value: str | None) -> str | None:
    """Text that every database takes: encodable, without NUL."""
    return value and value[:MAX_TASK].encode("utf-8", "replace").decode().replace("\x00", "")
