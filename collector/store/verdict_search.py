"""Finding verdicts across sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, select

from collector.store.label_tables import labels
from collector.store.matching import equal
from collector.store.schema import sessions, verdicts
from collector.store.store import VerdictFilter

_ID_CHARACTERS = 32


def found(where: VerdictFilter) -> Select[Any]:
    """Ids and records of these verdicts."""
    order = (verdicts.c.id,) if where.order == "by_chance" else (sessions.c.closed_ns.desc(), verdicts.c.number.desc())
    statement = select(verdicts.c.id, verdicts.c.record).join_from(verdicts, sessions).where(*_conditions(where))
    return statement.order_by(*order).limit(where.limit)


def superseded(up_to: int | None = None) -> ColumnElement[bool]:
    """Whether a session, in a statement on sessions, was closed and judged again later; by a closing with a number up
    to this one, if one is given."""
    newer = sessions.alias()
    return exists().where(
        *([] if up_to is None else [newer.c.number <= up_to]),
        newer.c.session_id == sessions.c.session_id,
        newer.c.tenant == sessions.c.tenant,
        newer.c.revision > sessions.c.revision,
        newer.c.judged,
    )


def superseded_numbers() -> Select[tuple[int]]:
    """Of all closings that were superseded: of few sessions, so that many closings are looked at without reading them
    one by one."""
    older, newer = sessions.alias(), sessions.alias()
    same = (older.c.session_id == newer.c.session_id, older.c.tenant == newer.c.tenant)
    return select(older.c.number).where(
        newer.c.revision > 1, newer.c.judged, *same, older.c.revision < newer.c.revision
    )


def _conditions(where: VerdictFilter) -> Iterator[ColumnElement[bool]]:
    yield from equal(
        {
            verdicts.c.evaluator: where.evaluator,
            verdicts.c.evaluator_version: where.evaluator_version,
            verdicts.c.judge_model: where.judge_model,
            verdicts.c.label: where.label,
            verdicts.c.passed: where.passed,
            sessions.c.session_id: where.session_id,
        }
    )
    if where.tenants is not None:
        yield sessions.c.tenant.in_(sorted(where.tenants))
    if where.id_prefix is not None:
        whole = len(where.id_prefix) == _ID_CHARACTERS  # which an index finds
        yield verdicts.c.id == where.id_prefix if whole else verdicts.c.id.startswith(where.id_prefix, autoescape=True)
    if where.since_ns is not None:
        yield sessions.c.closed_ns >= where.since_ns
    if where.labelled is not None:
        has = exists().where(labels.c.verdict == verdicts.c.id)
        yield has if where.labelled else ~has
    if where.newest_closing:
        yield ~superseded()
