"""Baselines in the tables of `baseline_tables`. Statements are what SQLite and PostgreSQL share."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, case, delete, func, select, update

from collector.store.baseline_tables import baseline_counts, baseline_sessions, baselines
from collector.store.baselines import Baseline, KeptSession, LiveCount, LiveCounts, Seen
from collector.store.inserting import insert
from collector.store.locks import alone
from collector.store.records import CLOSED_SESSION, JUDGED
from collector.store.schema import sessions, verdicts
from collector.store.transacting import Transact
from collector.store.verdict_search import superseded
from judge.case_results import verdict_rates
from judge.significance import Count
from judge.verdict import Judged
from judge.yardstick import Rates, Yardstick

_HOUR_NS = 3_600 * 1_000_000_000


class SqlBaselines:
    """`read` and `write` run in the store's transactions, and raise what it raises. After `let_others_finish` all
    changes are visible that were begun before."""

    def __init__(self, read: Transact, write: Transact, let_others_finish: Callable[[Connection], None]) -> None:
        self._let_others_finish = let_others_finish
        self._read = read
        self._write = write

    async def save(self, baseline: Baseline, sessions: Sequence[KeptSession]) -> bool:
        row = {
            "name": baseline.name,
            "service": baseline.service,
            "agent_version": baseline.agent_version,
            "saved_ns": baseline.saved_ns,
            "sessions": len(sessions),
            "note": baseline.note,
        }
        kept = [_session_row(one) for one in sessions]
        counted = count_rows(one.verdicts for one in sessions)

        def keep(connection: Connection) -> bool:
            number = connection.scalar(
                insert(connection, baselines).values(row).on_conflict_do_nothing().returning(baselines.c.number)
            )
            if number is None:
                return False
            for table, rows in ((baseline_sessions, kept), (baseline_counts, counted)):
                if rows:
                    connection.execute(insert(connection, table), [{**one, "baseline": number} for one in rows])
            return True

        return await self._write(keep)

    async def all(self) -> list[Baseline]:
        columns = (
            baselines.c.name,
            baselines.c.service,
            baselines.c.agent_version,
            baselines.c.saved_ns,
            baselines.c.sessions,
            baselines.c.note,
            baselines.c.promoted_ns,
        )
        statement = select(*columns).order_by(baselines.c.saved_ns.desc(), baselines.c.number.desc())
        rows = await self._read(lambda connection: connection.execute(statement).all())
        return [Baseline(*row) for row in rows]

    async def sessions(self, name: str) -> list[KeptSession]:
        statement = (
            select(baseline_sessions.c.session, baseline_sessions.c.verdicts)
            .join_from(baseline_sessions, baselines)
            .where(baselines.c.name == name)
            .order_by(baseline_sessions.c.number)
        )
        rows = await self._read(lambda connection: connection.execute(statement).all())
        return [
            KeptSession(CLOSED_SESSION.load(session), tuple(JUDGED.load(one) for one in json.loads(found)))
            for session, found in rows
        ]

    async def promote(self, name: str, now_ns: int) -> bool:
        def apply(connection: Connection) -> bool:
            alone(connection, "baselines")
            service = connection.scalar(select(baselines.c.service).where(baselines.c.name == name))
            if service is None:
                return False
            others = update(baselines).where(baselines.c.service == service, baselines.c.name != name)
            connection.execute(others.values(promoted_ns=None))
            connection.execute(update(baselines).where(baselines.c.name == name).values(promoted_ns=now_ns))
            return True

        return await self._write(apply)

    async def delete(self, name: str) -> bool:
        statement = delete(baselines).where(baselines.c.name == name)
        return await self._write(lambda connection: connection.execute(statement).rowcount > 0)

    async def counts(self) -> Mapping[str, Rates]:
        columns = (
            baselines.c.service,
            *_yardstick(baseline_counts),
            baseline_counts.c.passed,
            baseline_counts.c.failed,
        )
        current = baselines.c.promoted_ns.is_not(None)
        statement = select(*columns).outerjoin_from(baselines, baseline_counts).where(current)
        found: dict[str, dict[Yardstick, Count]] = {}
        for service, *yardstick, passed, failed in await self._read(lambda to: to.execute(statement).all()):
            of_service = found.setdefault(service, {})
            if passed is not None:
                of_service[Yardstick(*yardstick)] = Count(passed, failed)
        return found

    async def live_counts(self, services: Collection[str], after: Seen, since_ns: int) -> LiveCounts:
        def look(connection: Connection) -> Seen:
            # The numbers are read first and bound the rest: what comes meanwhile is counted next time. Below them some
            # may still be on their way, where several processes write.
            last = connection.scalar(select(func.max(verdicts.c.number))) or 0
            closing = connection.scalar(select(func.max(sessions.c.number))) or 0
            self._let_others_finish(connection)
            return Seen(last, closing)

        seen = await self._read(look)

        def count(connection: Connection) -> list[LiveCount]:
            last, closing = seen.verdict, seen.closing
            new = verdicts.c.number.between(after.verdict + 1, last) & ~superseded(closing)
            old = (verdicts.c.number <= after.verdict) & _newly_superseded(after.closing, closing)
            added = connection.execute(_live(services, since_ns).where(new)).all()
            gone = connection.execute(_live(services, since_ns).where(old)).all()
            return [*_live_counts(added, 1), *_live_counts(gone, -1)]

        return LiveCounts(seen, tuple(await self._read(count)))


def _yardstick(table: Table) -> tuple[ColumnElement[Any], ...]:
    """The fields of a `Yardstick` in their order."""
    return table.c.evaluator, table.c.evaluator_version, table.c.judge_model, table.c.prompt_version


def _live(services: Collection[str], since_ns: int) -> Select[Any]:
    """hour, service, agent version, yardstick, passed, all."""
    hour = sessions.c.closed_ns // _HOUR_NS
    service = func.coalesce(sessions.c.service, "")
    version = func.coalesce(verdicts.c.agent_version, "")
    good = func.sum(case((verdicts.c.passed, 1), else_=0))
    return (
        select(hour, service, version, *_yardstick(verdicts), good, func.count())
        .join_from(verdicts, sessions)
        .where(verdicts.c.passed.is_not(None), sessions.c.closed_ns >= since_ns, service.in_(services))
        .group_by(hour, service, version, *_yardstick(verdicts))
    )


def _newly_superseded(before: int, now: int) -> ColumnElement[bool]:
    """Whether a session was closed again by a closing with a number above `before` and up to `now`, and by none
    before. Found from the new closings, which are few."""
    older, newer = sessions.alias(), sessions.alias()
    again = (newer.c.session_id == older.c.session_id) & (newer.c.tenant == older.c.tenant)
    later = again & (newer.c.revision > older.c.revision) & newer.c.judged
    candidates = select(older.c.number).join_from(newer, older, later).where(newer.c.number.between(before + 1, now))
    return sessions.c.number.in_(candidates) & ~superseded(before)


def _live_counts(rows: Sequence[Any], sign: int) -> Iterator[LiveCount]:
    for hour, service, version, *yardstick, passed, total in rows:
        count = Count(sign * passed, sign * (total - passed))
        yield LiveCount(hour, service, version, Yardstick(*yardstick), count)


def count_rows(sessions: Iterable[Sequence[Judged]]) -> list[dict[str, Any]]:
    """Rows of `baseline_counts`, but for the baseline, of a baseline whose sessions have these verdicts."""
    rates = verdict_rates(judged.verdict for judgeds in sessions for judged in judgeds)
    return [
        {
            "evaluator": one.evaluator,
            "evaluator_version": one.version,
            "judge_model": one.model,
            "prompt_version": one.prompt_version,
            "passed": count.passed,
            "failed": count.failed,
        }
        for one, count in rates.items()
    ]


def _session_row(kept: KeptSession) -> dict[str, str]:
    found = ",".join(json.dumps(JUDGED.dump(one)) for one in kept.verdicts)
    return {"session": CLOSED_SESSION.dump(kept.session), "verdicts": f"[{found}]"}
