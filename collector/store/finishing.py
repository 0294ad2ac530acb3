"""Keeping many closings in one transaction, with few statements: what one closing costs, hundreds of them each second
cost too. The rows are made beforehand, by whoever has the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import Connection, literal, select

from collector.store.inserting import insert
from collector.store.listing_tables import catalogs, skill_loads, traces
from collector.store.locks import alone
from collector.store.rows import (
    NOT_APPLICABLE,
    catalog_row,
    load_rows,
    question_row,
    session_row,
    trace_ids,
    verdict_row,
)
from collector.store.schema import outbox, questions, sessions, verdicts
from collector.store.store import ClosedSession, PendingQuestion
from judge.verdict import Judged

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finishing:
    """One closing as rows. With `next_only` it is kept only as the session's newest revision. `moved` are closings, by
    their rows, of what was judged alone and is part of this session now: kept with it, where there was such a thing.
    `traces`, `loads` and `catalog` are what it is found and counted by."""

    session: _Row
    verdicts: Sequence[_Row]
    questions: Sequence[_Row]
    next_only: bool = False
    moved: Sequence[_Row] = ()
    traces: Sequence[_Row] = ()
    loads: Sequence[_Row] = ()
    catalog: _Row | None = None

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        return sum(len(row["record"]) for row in (self.session, *self.verdicts, *self.questions))


@dataclass(frozen=True, slots=True)
class Kept:
    """It is on disk now."""


@dataclass(frozen=True, slots=True)
class KeptBefore:
    """It was on disk already; nothing is written."""


@dataclass(frozen=True, slots=True)
class TooLate:
    """There is a revision of this number, or a later one, of another time: whoever counts revisions has forgotten the
    session since, and this came after its end. Nothing is written. `latest` is its last revision."""

    latest: int


Fate: TypeAlias = Kept | KeptBefore | TooLate


def finishing(
    closed: ClosedSession,
    verdicts_: Sequence[Judged],
    questions_: Sequence[PendingQuestion],
    *,
    next_only: bool = False,
    moved: Sequence[ClosedSession] = (),
) -> Finishing:
    trajectory = closed.trajectory
    return Finishing(
        session_row(closed),
        [verdict_row(one) for one in verdicts_],
        [question_row(one) for one in questions_],
        next_only,
        [session_row(one) for one in moved],
        [{"trace": one} for one in trace_ids(trajectory)] if trajectory else (),
        load_rows(trajectory) if trajectory else (),
        catalog_row(trajectory) if trajectory else None,
    )


def finish_all(connection: Connection, closings: Sequence[Finishing], exporters: Sequence[str]) -> list[Fate]:
    """What became of each, in their order. Verdicts are queued for each exporter."""
    for key in sorted({_key(closing.session) for closing in closings if closing.next_only}):
        alone(connection, "session", key)  # nobody else may add a revision between our look and ours
    fates: list[Fate] = []
    new: list[tuple[int, Finishing]] = []
    for closing in closings:
        fate, number = _enter(connection, closing)
        fates.append(fate)
        if number is not None:
            new.append((number, closing))
    if rows := [{**row, "session": number} for number, closing in new for row in closing.verdicts]:
        connection.execute(insert(connection, verdicts).on_conflict_do_nothing(), rows)
        for exporter in exporters:
            _queue(connection, exporter, new)
    if rows := [{**row, "session": number} for number, closing in new for row in closing.questions]:
        connection.execute(insert(connection, questions).on_conflict_do_nothing(), rows)
    if rows := [{**row, "session": number} for number, closing in new for row in closing.traces]:
        connection.execute(insert(connection, traces), rows)
    if rows := [{**row, "session": number} for number, closing in new for row in closing.loads]:
        connection.execute(insert(connection, skill_loads), rows)
    if rows := [{**closing.catalog, "session": number} for number, closing in new if closing.catalog is not None]:
        connection.execute(insert(connection, catalogs), rows)
    return fates


def _enter(connection: Connection, closing: Finishing) -> tuple[Fate, int | None]:
    """The fate, and the number of the session's new row."""
    row = closing.session
    if closing.next_only:
        earlier = _earlier(connection, row)
        if any(closed_ns == row["closed_ns"] for _, closed_ns in earlier):
            return KeptBefore(), None
        if any(revision >= row["revision"] for revision, _ in earlier):
            return TooLate(max(revision for revision, _ in earlier)), None
    new = insert(connection, sessions).values(row).on_conflict_do_nothing()
    number = connection.scalar(new.returning(sessions.c.number))
    if number is None:
        return KeptBefore(), None
    if moved := [gone for gone in closing.moved if _earlier(connection, gone)]:
        connection.execute(insert(connection, sessions).on_conflict_do_nothing(), moved)
    return Kept(), number


def _key(row: _Row) -> str:
    return f"{row['tenant']}\x00{row['session_id']}"


def _earlier(connection: Connection, row: _Row) -> Sequence[tuple[int, int]]:
    """Revision and time of every closing of the session."""
    ours = (sessions.c.session_id == row["session_id"], sessions.c.tenant == row["tenant"])
    return [
        (revision, ns)
        for revision, ns in connection.execute(select(sessions.c.revision, sessions.c.closed_ns).where(*ours))
    ]


def _queue(connection: Connection, exporter: str, new: Sequence[tuple[int, Finishing]]) -> None:
    """Queue every verdict for the exporter, but those that there was nothing to judge: they are no news to anybody's
    tracing. They are due from when their session closed."""
    columns = [outbox.c.exporter, outbox.c.verdict, outbox.c.attempts, outbox.c.next_ns, outbox.c.created_ns]
    found = (
        select(
            literal(exporter, outbox.c.exporter.type),
            verdicts.c.number,
            literal(0),
            sessions.c.closed_ns,
            sessions.c.closed_ns,
        )
        .join_from(verdicts, sessions)
        .where(verdicts.c.session.in_([number for number, _ in new]), verdicts.c.label != NOT_APPLICABLE)
        .order_by(verdicts.c.number)
    )
    connection.execute(insert(connection, outbox).from_select(columns, found).on_conflict_do_nothing())
