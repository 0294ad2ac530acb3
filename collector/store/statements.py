"""The statements that are more than one line, in what SQLite and PostgreSQL share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, exists, false, func, literal, not_, or_, select, true

from collector.store.inserting import insert
from collector.store.judge_tables import batch_items
from collector.store.metadata import Instant
from collector.store.rows import NOT_APPLICABLE, storable
from collector.store.schema import outbox, questions, sessions, verdicts
from collector.store.store import Held, Hold, OfModel, SessionFilter
from collector.store.verdict_search import superseded
from judge.verdict import SessionRef

_Row = dict[str, Any]


def settle(
    connection: Connection,
    verdict: _Row,
    now_ns: int,
    exporters: Sequence[str],
    follow: Callable[[Select[Any]], Sequence[_Row]],
) -> bool:
    """False, and nothing written, when no question with the verdict's id is open. When it was the session's last,
    `follow` is given how to read all its verdicts (id, record), and what it makes of them is kept too."""
    number = connection.scalar(
        delete(questions).where(questions.c.id == verdict["id"]).returning(questions.c.session),
    )
    if number is None:
        return False
    # Of two processes that settle the last two questions, the second must see that none is left.
    locked = select(sessions.c.number).where(sessions.c.number == number).with_for_update(key_share=True)
    if connection.scalar(locked) is None:
        return False  # deleted just now
    _add_verdicts(connection, number, [verdict], now_ns, exporters)
    still_open = select(questions.c.number).where(questions.c.session == number).limit(1)
    if connection.scalar(still_open) is None:
        _add_verdicts(connection, number, follow(of_session(number)), now_ns, exporters)
    return True


def mentions(text: str) -> ColumnElement[bool]:
    """A session whose id, task or service has the text, whatever its case."""
    searched = (sessions.c.session_id, sessions.c.task, sessions.c.service)
    text = storable(text) or ""  # SQLite ends a pattern at NUL, which task and service do not have
    return or_(*(column.icontains(text, autoescape=True) for column in searched)) if text else false()


def closings(
    columns: Sequence[ColumnElement[Any]], session_id: str, tenant: str | None, revision: int | None = None
) -> Select[Any]:
    """These columns of a session's closings, newest revision first; None: of any tenant, every revision."""
    given = {sessions.c.tenant: tenant, sessions.c.revision: revision}
    narrower = [column == value for column, value in given.items() if value is not None]
    found = select(*columns).where(sessions.c.session_id == session_id, *narrower)
    return found.order_by(sessions.c.revision.desc(), sessions.c.number.desc())


def numbers_of(refs: Sequence[SessionRef]) -> Select[Any]:
    """The numbers of these closings."""
    return select(sessions.c.number).where(or_(false(), *map(is_closing, refs)))


def of_session(number: ColumnElement[int] | int) -> Select[Any]:
    """id and record of the verdicts of the closing with this number, in their order."""
    found = select(verdicts.c.id, verdicts.c.record).where(verdicts.c.session == number)
    return found.order_by(verdicts.c.number)


def of_sessions(numbers: Select[Any]) -> Select[Any]:
    """id and record of the verdicts of the closings with these numbers, each with its own in their order."""
    found = select(verdicts.c.id, verdicts.c.record).where(verdicts.c.session.in_(numbers))
    return found.order_by(verdicts.c.number)


def questions_of(numbers: Select[Any]) -> Select[Any]:
    """As `stored_questions`, of these closings."""
    return stored_questions().where(questions.c.session.in_(numbers)).order_by(questions.c.number)


def _add_verdicts(
    connection: Connection, session: int, rows: Sequence[_Row], now_ns: int, exporters: Sequence[str]
) -> None:
    if not rows:
        return
    connection.execute(
        insert(connection, verdicts).on_conflict_do_nothing(), [{**row, "session": session} for row in rows]
    )
    # That there was nothing to judge is no news to anybody's tracing.
    ids = [row["id"] for row in rows if row["label"] != NOT_APPLICABLE]
    if not ids:
        return
    for exporter in exporters:
        queued_rows = (
            select(
                literal(exporter, outbox.c.exporter.type),
                verdicts.c.number,
                *(literal(n, Instant) for n in (0, 0, now_ns)),
            )
            .where(verdicts.c.id.in_(ids), verdicts.c.session == session)
            .order_by(verdicts.c.number)
        )
        columns = [outbox.c.exporter, outbox.c.verdict, outbox.c.attempts, outbox.c.next_ns, outbox.c.created_ns]
        connection.execute(insert(connection, outbox).from_select(columns, queued_rows).on_conflict_do_nothing())


def stored_questions() -> Select[Any]:
    """id, record, asked and next_ns of open questions."""
    return select(questions.c.id, questions.c.record, questions.c.asked, questions.c.next_ns)


def old(before_ns: int, limit: int, but_not: Collection[str], *, in_batches: bool) -> Select[Any]:
    free = [] if in_batches else [_in_no_batch()]
    before = stored_questions().where(questions.c.created_ns < before_ns, questions.c.id.not_in(but_not), *free)
    return before.order_by(questions.c.created_ns, questions.c.number).limit(limit)


PRIORITY = (questions.c.high_risk.desc(), questions.c.created_ns, questions.c.number)


def due(
    now_ns: int, limit: int, held: Collection[Hold], but_not: Collection[str], only: Collection[OfModel]
) -> Select[Any]:
    chosen = [or_(*(_matches(one) for one in only))] if only else []
    return stored_questions().where(*_due(now_ns, held, but_not), *chosen).order_by(*PRIORITY).limit(limit)


def due_for_batch(now_ns: int, limit: int, held: Collection[Hold], but_not: Collection[str]) -> Select[tuple[str, int]]:
    """id and created_ns."""
    ordinary = questions.c.high_risk.is_(False)
    columns = select(questions.c.id, questions.c.created_ns)
    by_age = columns.where(ordinary, *_due(now_ns, held, but_not)).order_by(questions.c.created_ns, questions.c.number)
    return by_age.limit(limit)


def _due(now_ns: int, held: Collection[Hold], but_not: Collection[str]) -> Iterator[ColumnElement[bool]]:
    yield _in_no_batch()
    yield questions.c.id.not_in(but_not)
    yield questions.c.next_ns <= now_ns
    for hold in held:
        yield not_(_matches(hold))


def _in_no_batch() -> ColumnElement[bool]:
    return not_(exists().where(batch_items.c.question == questions.c.number))


def _matches(hold: Hold) -> ColumnElement[bool]:
    """Never null: its negation is asked for too."""
    match hold:
        case OfModel(None):
            return questions.c.model.is_(None)
        case OfModel(model):
            return questions.c.model.is_not(None) & (questions.c.model == model)
        case Held(evaluator, high_risk):
            ours = true() if evaluator is None else questions.c.evaluator == evaluator
            return ours if high_risk else ours & not_(questions.c.high_risk)


def queued(exporter: str, verdict_ids: Sequence[str]) -> ColumnElement[bool]:
    """The exporter's outbox rows of these verdicts."""
    numbers = select(verdicts.c.number).where(verdicts.c.id.in_(verdict_ids))
    return (outbox.c.exporter == exporter) & outbox.c.verdict.in_(numbers)


def is_closing(ref: SessionRef) -> ColumnElement[bool]:
    return (
        (sessions.c.session_id == ref.session_id)
        & (sessions.c.tenant == ref.tenant)
        & (sessions.c.revision == ref.revision)
    )


def summaries(where: SessionFilter) -> Select[Any]:
    """session_id, revision, tenant, then the fields of `SessionSummary` in their order; newest first."""
    of_session = verdicts.c.session == sessions.c.number
    waiting = select(func.count()).select_from(questions).where(questions.c.session == sessions.c.number)
    counts = [
        select(func.count()).select_from(verdicts).where(of_session, counted).scalar_subquery()
        for counted in (
            verdicts.c.passed.is_(True),
            verdicts.c.passed.is_(False),
            verdicts.c.label == "not_judged",
        )
    ]
    return (
        select(
            sessions.c.session_id,
            sessions.c.revision,
            sessions.c.tenant,
            sessions.c.harness,
            sessions.c.service,
            sessions.c.agent,
            sessions.c.task,
            sessions.c.closed_ns,
            sessions.c.close_reason,
            sessions.c.spans,
            sessions.c.records,
            *counts,
            waiting.scalar_subquery(),
            sessions.c.note,
        )
        .where(*_conditions(where))
        .order_by(sessions.c.closed_ns.desc(), sessions.c.number.desc())
        .limit(where.limit)
    )


def _conditions(where: SessionFilter) -> Iterator[ColumnElement[bool]]:
    if where.tenants is not None:
        yield sessions.c.tenant.in_(sorted(where.tenants))
    if where.service is not None:
        yield sessions.c.service == where.service
    if where.version is not None:
        yield sessions.c.version == where.version
    if where.newest_closing:
        yield sessions.c.judged & ~superseded()
    if where.harness is not None:
        yield sessions.c.harness == where.harness
    if where.since_ns is not None:
        yield sessions.c.closed_ns >= where.since_ns
    if where.text:
        yield mentions(where.text)
    found = [verdicts.c.session == sessions.c.number]
    if where.evaluator is not None:
        found.append(verdicts.c.evaluator == where.evaluator)
    if where.label is not None:
        found.append(verdicts.c.label == where.label)
    if len(found) > 1:
        yield exists().where(*found)
