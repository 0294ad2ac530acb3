"""Lists and counts of sessions in SQL that SQLite and PostgreSQL share.

First the numbers of the sessions are found, from indexes alone where SQLite is concerned, then what is shown of them is
read: a row holds a whole record.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Select, and_, case, cast, func, or_, select, true

from collector.store.listing import (
    COUNTED,
    MOST_FAILED,
    SEARCHED,
    Counts,
    Failed,
    Line,
    LoadsCounted,
    Names,
    Offered,
    Page,
    Place,
    SessionsCounted,
    Stretch,
    Tenants,
    VerdictsCounted,
    Wanted,
)
from collector.store.listing_tables import catalogs, skill_loads, traces
from collector.store.matching import equal
from collector.store.rows import NOT_APPLICABLE, name_of
from collector.store.schema import questions, sessions, verdicts
from collector.store.statements import mentions
from collector.store.transacting import Transact
from collector.store.verdict_search import superseded, superseded_numbers
from judge.verdict import SessionRef

_NOT_JUDGED = "not_judged"
_NAMED, _MOST_NAMES = 1_000, 200
NEWEST_FIRST = (sessions.c.closed_ns.desc(), sessions.c.number.desc())


class SqlListing:
    """A `collector.store.listing.Listing`. `read` runs a function in one transaction of the store."""

    def __init__(self, read: Transact, searched: int = SEARCHED, counted: int = COUNTED) -> None:
        self._read = read
        self._searched = searched
        self._counted = counted

    async def page(self, wanted: Wanted) -> Page:
        return await self._read(lambda to: self._page(to, wanted))

    async def of_trace(self, trace_id: str, tenants: Tenants = None) -> list[SessionRef]:
        found = select(sessions.c.session_id, sessions.c.revision, sessions.c.tenant).join_from(traces, sessions)
        found = found.where(traces.c.trace == trace_id, *_of_tenants(tenants))
        by_age = found.order_by(superseded(), *NEWEST_FIRST)
        return await self._read(lambda to: [SessionRef(*row) for row in to.execute(by_age)])

    async def names(self, tenants: Tenants = None) -> Names:
        return await self._read(lambda to: _names(to, tenants))

    async def counts(self, stretch: Stretch) -> Counts:
        return await self._read(lambda to: _counts(to, stretch, self._counted))

    def _page(self, to: Connection, wanted: Wanted) -> Page:
        found = select(sessions.c.number, sessions.c.closed_ns).where(*_conditions(wanted)).order_by(*NEWEST_FIRST)
        if not wanted.text:
            places = [Place(ns, number) for number, ns in to.execute(found.limit(wanted.limit + 1))]
            more = len(places) > wanted.limit
            places = places[: wanted.limit]
            return Page(_lines(to, places, wanted), places[-1] if more else None)
        searched = found.limit(self._searched).subquery()
        fitting = (
            select(sessions.c.number, sessions.c.closed_ns)
            .join(searched, searched.c.number == sessions.c.number)
            .where(mentions(wanted.text))
            .order_by(*NEWEST_FIRST)
            .limit(wanted.limit + 1)
        )
        places = [Place(ns, number) for number, ns in to.execute(fitting)]
        if len(places) > wanted.limit:
            places = places[: wanted.limit]
            return Page(_lines(to, places, wanted), places[-1])
        if wanted.after is None:
            places += _named(to, found, wanted.text, wanted.limit)
        last = to.execute(found.offset(self._searched - 1).limit(1)).first()
        following = None if last is None else Place(last.closed_ns, last.number)
        return Page(_lines(to, places, wanted), following, searched_all=following is None)


def _named(to: Connection, found: Select[Any], text: str, most: int) -> list[Place]:
    """Sessions of exactly this id or trace, however old: an index finds them."""
    of_trace = select(traces.c.session).where(traces.c.trace == text.lower())
    exactly = (sessions.c.session_id == text, sessions.c.number.in_(of_trace))
    return [Place(ns, number) for one in exactly for number, ns in to.execute(found.where(one).limit(most))]


def _conditions(wanted: Wanted) -> Iterator[ColumnElement[bool]]:
    yield from _of_tenants(wanted.tenants)
    yield from equal(
        {
            sessions.c.tenant: wanted.tenant,
            sessions.c.service: wanted.service,
            sessions.c.version: wanted.version,
            sessions.c.harness: wanted.harness,
        }
    )
    if wanted.since_ns is not None:
        yield sessions.c.closed_ns >= wanted.since_ns
    if wanted.until_ns is not None:
        yield sessions.c.closed_ns < wanted.until_ns
    if (after := wanted.after) is not None:
        yield sessions.c.closed_ns <= after.closed_ns  # by which an index is entered
        yield or_(sessions.c.closed_ns < after.closed_ns, sessions.c.number < after.number)
    yield from _by_verdicts(wanted)


def _of_one(wanted: Wanted) -> list[ColumnElement[bool]]:
    """What is asked of one and the same verdict."""
    columns = {
        verdicts.c.evaluator: wanted.evaluator,
        verdicts.c.label: wanted.label,
        verdicts.c.skill: name_of(wanted.skill),
    }
    return list(equal(columns))


def _by_verdicts(wanted: Wanted) -> Iterator[ColumnElement[bool]]:
    of_one = _of_one(wanted)
    match wanted.outcome:
        case "failed":
            yield _among(verdicts.c.session, *of_one, verdicts.c.passed.is_(False))
        case "passed" if of_one:
            yield _among(verdicts.c.session, *of_one, verdicts.c.passed.is_(True))
        case "passed":
            yield ~_among(verdicts.c.session, verdicts.c.passed.is_(False))
            # Most sessions have one: it is looked for in each until there are enough.
            ours = (verdicts.c.session == sessions.c.number, verdicts.c.passed.is_(True))
            yield select(verdicts.c.session).where(*ours).correlate(sessions).exists()
        case "not_judged":
            yield _among(verdicts.c.session, *of_one, verdicts.c.label == _NOT_JUDGED)
        case "waiting":
            evaluator = [] if wanted.evaluator is None else [questions.c.evaluator == wanted.evaluator]
            yield _among(questions.c.session, *evaluator)
        case None if of_one:
            yield _among(verdicts.c.session, *of_one)


def _among(session: ColumnElement[int], *where: ColumnElement[bool]) -> ColumnElement[bool]:
    # The sum keeps SQLite from looking the sessions up one by one, in their wide rows, to sort them afterwards: their
    # index is gone through in its order, and left when there are enough.
    return (sessions.c.number + 0).in_(select(session).where(*where))


def _of_tenants(tenants: Tenants) -> Sequence[ColumnElement[bool]]:
    return () if tenants is None else (sessions.c.tenant.in_(sorted(tenants)),)


def _lines(to: Connection, places: Collection[Place], wanted: Wanted) -> tuple[Line, ...]:
    numbers = [place.number for place in places]
    of_session = verdicts.c.session == sessions.c.number
    counted = (verdicts.c.passed.is_(True), verdicts.c.passed.is_(False), verdicts.c.label == _NOT_JUDGED)
    open_questions = select(func.count()).select_from(questions).where(questions.c.session == sessions.c.number)
    names = ("harness", "service", "agent", "version", "task", "closed_ns", "close_reason", "judged", "note")
    statement = (
        select(
            sessions.c.number,
            sessions.c.session_id,
            sessions.c.revision,
            sessions.c.tenant,
            *(sessions.c[name] for name in names),
            *(select(func.count()).select_from(verdicts).where(of_session, one).scalar_subquery() for one in counted),
            open_questions.scalar_subquery(),
            superseded(),
        )
        .where(sessions.c.number.in_(numbers))
        .order_by(*NEWEST_FIRST)
    )
    failures = _failures(to, numbers, wanted)
    return tuple(
        replace(Line(SessionRef(session_id, revision, tenant), *rest), failures=tuple(failures.get(number, ())))
        for number, session_id, revision, tenant, *rest in to.execute(statement)
    )


def _failures(to: Connection, numbers: Sequence[int], wanted: Wanted) -> Mapping[int, list[Failed]]:
    """By the session's number. A session may have failed in thousands of ways: the database keeps the rest."""
    kind = [verdicts.c[name] for name in ("evaluator", "label", "skill")]
    first = case((and_(true(), *_of_one(wanted)), 0), else_=1)
    place = func.row_number().over(partition_by=verdicts.c.session, order_by=[first, *kind]).label("place")
    alike = (
        select(verdicts.c.session, *kind, func.count().label("verdicts"), place)
        .where(verdicts.c.session.in_(numbers), verdicts.c.passed.is_(False))
        .group_by(verdicts.c.session, *kind)
        .subquery()
    )
    names = ("session", "evaluator", "label", "skill", "verdicts")
    told = select(*(alike.c[name] for name in names)).where(alike.c.place <= MOST_FAILED)
    found: dict[int, list[Failed]] = {}
    for session, *rest in to.execute(told.order_by(alike.c.session, alike.c.place)):
        found.setdefault(session, []).append(Failed(*rest))
    return found


def _names(to: Connection, tenants: Tenants) -> Names:
    columns = [sessions.c[name] for name in ("service", "version", "harness", "tenant")]
    newest = select(sessions.c.number, *columns).where(*_of_tenants(tenants)).order_by(*NEWEST_FIRST).limit(_NAMED)
    rows = to.execute(newest).all()
    found = select(verdicts.c.evaluator, verdicts.c.label, verdicts.c.skill).distinct()
    of_them = found.where(verdicts.c.session.in_([row.number for row in rows]), verdicts.c.label != NOT_APPLICABLE)
    judged = to.execute(of_them).all()
    return Names(
        *(_sorted(row[at] for row in rows) for at in range(1, 5)),
        *(_sorted(row[at] for row in judged) for at in range(3)),
    )


def _sorted(values: Iterator[str | None]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value}))[:_MOST_NAMES]


def _counts(to: Connection, stretch: Stretch, most: int) -> Counts:
    service = [] if stretch.service is None else [sessions.c.service == stretch.service]
    # A newest closing that was judged: others are counted with it, or were never to be.
    of_stretch = (
        select(sessions.c.number, sessions.c.closed_ns, sessions.c.service, sessions.c.version)
        .where(
            sessions.c.closed_ns >= stretch.since_ns,
            *_of_tenants(stretch.tenants),
            *service,
            sessions.c.judged,
            (sessions.c.number + 0).not_in(superseded_numbers()),
        )
        .order_by(*NEWEST_FIRST)
    )
    chosen = of_stretch.limit(most).cte("chosen")
    piece = cast((chosen.c.closed_ns - stretch.since_ns) // stretch.piece_ns, Integer).label("piece")
    by = (chosen.c.service, chosen.c.version)
    beyond = to.execute(of_stretch.offset(most).limit(1)).first()
    oldest = None if beyond is None else to.execute(of_stretch.offset(most - 1).limit(1)).first()
    return Counts(
        [SessionsCounted(*row) for row in to.execute(select(*by, piece, func.count()).group_by(*by, piece))],
        [VerdictsCounted(*row) for row in to.execute(_verdicts(chosen, by, piece))],
        [LoadsCounted(*row) for row in to.execute(_loads(chosen, by, piece))],
        [_offered(row) for row in to.execute(_catalogs(chosen, by))],
        complete=beyond is None,
        from_ns=None if oldest is None else oldest.closed_ns,
    )


def _verdicts(chosen: Any, by: Sequence[Any], piece: Any) -> Select[Any]:
    each = (*by, verdicts.c.evaluator, verdicts.c.skill, piece)
    counted = (verdicts.c.passed.is_(True), verdicts.c.passed.is_(False), verdicts.c.label == _NOT_JUDGED)
    return (
        select(*each, *(func.sum(case((one, 1), else_=0)) for one in counted))
        .join_from(chosen, verdicts, verdicts.c.session == chosen.c.number)
        .where(verdicts.c.label != NOT_APPLICABLE)
        .group_by(*each)
    )


def _loads(chosen: Any, by: Sequence[Any], piece: Any) -> Select[Any]:
    each = (*by, skill_loads.c.skill, piece)
    sums = (func.sum(skill_loads.c[name]) for name in ("loaded", "refused", "unanswered"))
    of_chosen = and_(skill_loads.c.session == chosen.c.number)
    return select(*each, *sums).join_from(chosen, skill_loads, of_chosen).group_by(*each)


def _catalogs(chosen: Any, by: Sequence[Any]) -> Select[Any]:
    each = (*by, catalogs.c.skills)
    recorded = catalogs.c.session == chosen.c.number
    return select(*each, func.count()).join_from(chosen, catalogs, recorded, isouter=True).group_by(*each)


def _offered(row: Any) -> Offered:
    service, version, skills, count = row
    return Offered(service, version, None if skills is None else tuple(json.loads(skills)), count)
