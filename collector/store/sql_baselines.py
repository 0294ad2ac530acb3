"""Baselines in the tables of `baseline_tables`. Statements are what SQLite and PostgreSQL share."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, case, delete, func, select, update
from sqlalchemy.dialects.sqlite import insert  # postgresql.insert has the same methods

from collector.store.baseline_tables import baseline_counts, baseline_sessions, baselines
from collector.store.baselines import Baseline, KeptSession, LiveCount, LiveCounts
from collector.store.records import CLOSED_SESSION, JUDGED
from collector.store.schema import sessions, verdicts
from judge.case_results import verdict_counts
from judge.significance import Count

_T = TypeVar("_T")
_HOUR_NS = 3_600 * 1_000_000_000


class Run(Protocol):
    """Runs something with a connection, in a transaction."""

    def __call__(self, apply: Callable[[Connection], _T], /) -> Coroutine[Any, Any, _T]: ...


class SqlBaselines:
    """`read` and `write` run in the store's transactions, and raise what it raises."""

    def __init__(self, read: Run, write: Run) -> None:
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
        counts = verdict_counts(judged.verdict for one in sessions for judged in one.verdicts)
        counted = [
            {"evaluator": evaluator, "passed": count.passed, "failed": count.failed}
            for evaluator, count in counts.items()
        ]

        def keep(connection: Connection) -> bool:
            number = connection.scalar(
                insert(baselines).values(row).on_conflict_do_nothing().returning(baselines.c.number)
            )
            if number is None:
                return False
            for table, rows in ((baseline_sessions, kept), (baseline_counts, counted)):
                if rows:
                    connection.execute(insert(table), [{**one, "baseline": number} for one in rows])
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

    async def counts(self) -> Mapping[str, Mapping[str, Count]]:
        columns = (baselines.c.service, baseline_counts.c.evaluator, baseline_counts.c.passed, baseline_counts.c.failed)
        current = baselines.c.promoted_ns.is_not(None)
        statement = select(*columns).outerjoin_from(baselines, baseline_counts).where(current)
        found: dict[str, dict[str, Count]] = {}
        for service, evaluator, passed, failed in await self._read(lambda to: to.execute(statement).all()):
            of_service = found.setdefault(service, {})
            if evaluator is not None:
                of_service[evaluator] = Count(passed, failed)
        return found

    async def live_counts(self, services: Collection[str], after: int, since_ns: int) -> LiveCounts:
        hour = sessions.c.closed_ns // _HOUR_NS
        service = func.coalesce(sessions.c.service, "")
        version = func.coalesce(verdicts.c.agent_version, "")
        good = func.sum(case((verdicts.c.passed, 1), else_=0))
        statement = (
            select(hour, service, version, verdicts.c.evaluator, good, func.count())
            .join_from(verdicts, sessions)
            .where(verdicts.c.passed.is_not(None), sessions.c.closed_ns >= since_ns, service.in_(services))
            .group_by(hour, service, version, verdicts.c.evaluator)
        )

        def read(connection: Connection) -> tuple[int, Sequence[Any]]:
            # The number is read first and bounds the rest: a verdict that comes meanwhile is counted next time.
            last = connection.scalar(select(func.max(verdicts.c.number))) or 0
            bounded = statement.where(verdicts.c.number > after, verdicts.c.number <= last)
            return last, connection.execute(bounded).all()

        last, rows = await self._read(read)
        counts = tuple(
            LiveCount(hour, service, version, evaluator, Count(passed, total - passed))
            for hour, service, version, evaluator, passed, total in rows
        )
        return LiveCounts(last, counts)


def _session_row(kept: KeptSession) -> dict[str, str]:
    found = ",".join(json.dumps(JUDGED.dump(one)) for one in kept.verdicts)
    return {"session": CLOSED_SESSION.dump(kept.session), "verdicts": f"[{found}]"}
