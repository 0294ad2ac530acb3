"""Rows read as records, inside one transaction. What cannot be read is told by its stand-in, in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

from sqlalchemy import Connection, Select

from collector.store import stand_ins
from collector.store.records import CLOSED_SESSION, JUDGED, readable, stored_question
from collector.store.store import ClosedSession, PendingQuestion, StoredQuestion, UnreadableQuestion
from judge.verdict import Judged, NotJudged

Damage: TypeAlias = Callable[[str], None]
"""Told of each record that cannot be read: `verdict` or `session`. Called in any thread."""

PENDING = NotJudged("pending", "waiting for a judge")


def verdicts_in(connection: Connection, statement: Select[Any], damage: Damage) -> list[Judged]:
    """Of a statement that gives id and record."""
    rows = [(verdict_id, readable(JUDGED, record)) for verdict_id, record in connection.execute(statement)]
    gone = [verdict_id for verdict_id, judged in rows if judged is None]
    for _ in gone:
        damage("verdict")
    instead = stand_ins.for_verdicts(connection, gone) if gone else {}
    return _whole((verdict_id, judged or instead.get(verdict_id)) for verdict_id, judged in rows)


def _whole(rows: Iterable[tuple[str, Judged | None]]) -> list[Judged]:
    return [judged for _, judged in rows if judged is not None]


def sessions_in(connection: Connection, statement: Select[Any], damage: Damage) -> list[ClosedSession]:
    """Of a statement that gives number and record."""
    found: list[ClosedSession] = []
    for number, record in connection.execute(statement).all():
        session = readable(CLOSED_SESSION, record)
        if session is None:
            damage("session")
            session = stand_ins.for_session(connection, number)
        found.append(session)
    return found


def questions_in(connection: Connection, statement: Select[Any]) -> list[StoredQuestion]:
    """Of a statement that gives id, record, asked and next_ns."""
    rows = [
        (question_id, stored_question(question_id, record), asked, next_ns)
        for question_id, record, asked, next_ns in connection.execute(statement)
    ]
    gone = [question_id for question_id, question, _, _ in rows if question is None]
    instead = stand_ins.for_questions(connection, gone, PENDING) if gone else {}
    found: list[StoredQuestion] = []
    for question_id, question, asked, next_ns in rows:
        match question:
            case PendingQuestion():
                found.append(replace(question, asked=asked, next_ns=next_ns))
            case UnreadableQuestion():
                found.append(question)
            case None if question_id in instead:
                found.append(UnreadableQuestion(question_id, instead[question_id]))
    return found
