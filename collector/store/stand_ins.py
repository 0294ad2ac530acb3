"""What is told in place of a record that can no longer be read: what the columns of its row still say.

A damaged row must neither hide those beside it nor be missing in silence: it reads as not judged, with what is known.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, func, select

from collector.store.schema import questions, sessions, verdicts
from collector.store.store import ClosedSession
from judge.verdict import Judged, NotJudged, SessionRef, Subject, Verdict

VERDICT_UNREADABLE = "verdict_unreadable"
DAMAGED = "it was damaged, or written by another version of SpanJudge"
UNKNOWN = "unknown"

_SESSION = (
    sessions.c.session_id,
    sessions.c.revision,
    sessions.c.tenant,
    sessions.c.harness,
    sessions.c.close_reason,
    sessions.c.closed_ns,
    sessions.c.service,
    sessions.c.agent,
)


def for_verdicts(connection: Connection, ids: Collection[str]) -> dict[str, Judged]:
    """By their ids."""
    columns = (
        verdicts.c.id,
        verdicts.c.evaluator,
        verdicts.c.evaluator_version,
        verdicts.c.label,
        verdicts.c.score,
        verdicts.c.judge_model,
        verdicts.c.prompt_version,
        verdicts.c.agent_version,
        verdicts.c.inclusion_probability,
    )
    statement = select(*columns, *_SESSION).join_from(verdicts, sessions).where(verdicts.c.id.in_(ids))
    return {row.id: _judged(row, _verdict(row), row.inclusion_probability) for row in connection.execute(statement)}


def for_questions(connection: Connection, ids: Collection[str], outcome: NotJudged) -> dict[str, Judged]:
    """The verdicts-to-be of questions, by their ids, with this outcome."""
    likely = select(func.max(verdicts.c.inclusion_probability)).where(verdicts.c.session == questions.c.session)
    columns = (questions.c.id, questions.c.evaluator, questions.c.high_risk, likely.scalar_subquery().label("share"))
    statement = select(*columns, *_SESSION).join_from(questions, sessions).where(questions.c.id.in_(ids))
    return {
        row.id: _judged(
            row,
            Verdict(row.evaluator or UNKNOWN, UNKNOWN, _WHOLE, outcome, high_risk=row.high_risk),
            1.0 if row.share is None else row.share,
        )
        for row in connection.execute(statement)
    }


def for_session(connection: Connection, number: int) -> ClosedSession:
    """Of the row with this number: without a trajectory, as what could not be read when it closed."""
    share = connection.scalar(
        select(func.max(verdicts.c.inclusion_probability)).where(verdicts.c.session == number),
    )
    columns = (*_SESSION, sessions.c.judged, sessions.c.spans, sessions.c.records, sessions.c.note)
    row = connection.execute(select(*columns).where(sessions.c.number == number)).one()
    note = f"the stored session cannot be read: {DAMAGED}"
    return ClosedSession(
        _ref(row),
        row.closed_ns,
        row.close_reason,
        1.0 if share is None else share,
        None,
        row.spans,
        row.records,
        note=f"{row.note}; {note}" if row.note else note,
        judged=row.judged,
    )


_WHOLE = Subject("session", "session")


def _verdict(row: Any) -> Verdict:
    score = "" if row.score is None else f" {row.score:.2f}"
    detail = f"the stored verdict cannot be read: {DAMAGED}. What is left of it: {row.label}{score}"
    return Verdict(
        row.evaluator,
        row.evaluator_version,
        _WHOLE,
        NotJudged(VERDICT_UNREADABLE, detail),
        judge_model=row.judge_model,
        prompt_version=row.prompt_version,
    )


def _judged(row: Any, verdict: Verdict, share: float) -> Judged:
    return Judged(
        row.id,
        _ref(row),
        verdict,
        row.harness,
        row.close_reason,
        share,
        row.closed_ns,
        service=row.service,
        agent=row.agent,
        agent_version=getattr(row, "agent_version", None),
        supersedes=row.revision > 1,
    )


def _ref(row: Any) -> SessionRef:
    return SessionRef(row.session_id, row.revision, row.tenant)
