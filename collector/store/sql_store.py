"""The verdict store in SQL that SQLite and PostgreSQL share: written by few threads and read by any number."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, delete, func, select, update

from collector.concluding import NOTHING_FOLLOWS, Concluding
from collector.errors import StoreUnavailable
from collector.store import statements
from collector.store.database import Database
from collector.store.finishing import Fate, Finishing, Kept, finish_all, finishing
from collector.store.ledger import Ledger
from collector.store.obstacles import OpenQuestion
from collector.store.reading_rows import Damage, questions_in, sessions_in, verdicts_in
from collector.store.records import JUDGED, readable
from collector.store.rows import storable, verdict_row
from collector.store.schema import outbox, questions, sessions, verdicts
from collector.store.sql_baselines import SqlBaselines
from collector.store.sql_labels import SqlLabels
from collector.store.sql_ledger import SqlLedger
from collector.store.sql_listing import SqlListing
from collector.store.sql_obstacles import SqlObstacles, open_questions
from collector.store.sql_retention import SqlRetention
from collector.store.store import (
    ClosedSession,
    Closing,
    DueQuestion,
    Hold,
    OfModel,
    OutboxItem,
    PendingQuestion,
    SessionFilter,
    SessionSummary,
    StoredQuestion,
    VerdictFilter,
)
from collector.store.tables import require_version
from collector.store.verdict_search import found
from collector.store.writer import GroupWriter
from judge.verdict import Judged, SessionRef

_Result = TypeVar("_Result")
_CLOSINGS_AT_ONCE = 100  # in one statement, which has three values for each


def no_one(_record: str) -> None:
    """For a store whose damage is in the log only."""


class SqlStore:
    """A `collector.store.store.Store`. Every method raises `StoreUnavailable` when the database is not to be had, and
    then nothing was written."""

    def __init__(self, database: Database, concluding: Concluding | None = None, damage: Damage = no_one) -> None:
        """`concluding` says what follows from all verdicts of a closing; without it, nothing does. `damage` is told of
        records that cannot be read."""
        self._database = database
        self._damage = damage
        self._open = True
        self._concluding = concluding or NOTHING_FOLLOWS
        # Where others write too, spending has a thread of its own: it is held by one process at a time, and what waits
        # for that must hold no session that somebody else waits for.
        count = 0 if database.writing is None else 1 if database.leases is None else 2
        self._writers = [self._writer(database) for _ in range(count)]
        self.ledger: Ledger = SqlLedger(self._read, self._write_ledger, database.leases)
        self.obstacles = SqlObstacles(self._read, self._write)
        self.labels = SqlLabels(self._read, self._write)
        self.listing = SqlListing(self._read)
        self.retention = SqlRetention(self._read, self._write, database)
        self.baselines = SqlBaselines(self._read, self._write, database.let_others_finish)

    @staticmethod
    def _writer(database: Database) -> GroupWriter:
        assert database.writing is not None
        return GroupWriter(database.writing, database.unavailable, database.fault)

    async def finish(
        self,
        session: ClosedSession,
        verdicts: Sequence[Judged],
        questions: Sequence[PendingQuestion],
        exporters: Sequence[str],
    ) -> bool:
        following = () if questions else tuple(self._concluding.follows(verdicts))
        (fate,) = await self.finish_all([finishing(session, (*verdicts, *following), questions)], exporters)
        if isinstance(fate, Kept):
            self._concluding.told(following)
        return isinstance(fate, Kept)

    async def finish_all(self, closings: Sequence[Finishing], exporters: Sequence[str]) -> list[Fate]:
        return await self._write(lambda to: finish_all(to, closings, exporters))

    def conclude_by(self, concluding: Concluding) -> None:
        """From now on, this follows from all verdicts of a closing."""
        self._concluding = concluding

    async def settle(self, judged: Judged, exporters: Sequence[str]) -> bool:
        row = verdict_row(judged)
        following: list[Judged] = []

        def settle(to: Connection) -> bool:
            def follow(all_verdicts: Select[Any]) -> list[dict[str, Any]]:
                following[:] = self._concluding.follows(verdicts_in(to, all_verdicts, self._damage))
                return [verdict_row(one) for one in following]

            return statements.settle(to, row, judged.judged_ns, exporters, follow)

        settled = await self._write(settle)
        if settled:
            self._concluding.told(following)
        return settled

    async def postpone_question(self, question_id: str, asked: int, next_ns: int, trouble: str = "") -> None:
        later = {"asked": asked, "next_ns": next_ns, "trouble": storable(trouble), "holder": None}
        statement = update(questions).where(questions.c.id == question_id).values(later)
        await self._write(lambda to: to.execute(statement))

    async def open_questions(self, ref: SessionRef) -> list[OpenQuestion]:
        return await self._read(lambda to: open_questions(to, ref))

    async def due_questions(
        self,
        now_ns: int,
        limit: int,
        *,
        held: Collection[Hold] = (),
        but_not: Collection[str] = (),
        only: Collection[OfModel] = (),
    ) -> list[StoredQuestion]:
        due = statements.due(now_ns, limit, held, but_not, only)
        return await self._questions(await self._ours(due, renewing=but_not))

    async def due_for_batch(
        self, now_ns: int, limit: int, *, held: Collection[Hold] = (), but_not: Collection[str] = ()
    ) -> list[DueQuestion]:
        due = statements.due_for_batch(now_ns, limit, held, but_not)
        return [DueQuestion(*row) for row in await self._rows(await self._ours(due, renewing=but_not))]

    async def _ours(self, due: Select[Any], renewing: Collection[str]) -> Select[Any]:
        """The same without questions that another process asks; those to be renewed are being asked by us."""
        leases = self._database.leases
        if leases is None:
            return due

        def take(to: Connection) -> Sequence[int]:
            leases.renew(to, renewing)
            return leases.take(to, questions, due, questions.c.number)

        # What the numbers stand for is read afterwards: the writer has more to do than to read records.
        return due.where(questions.c.number.in_(await self._write(take)))

    async def old_questions(
        self, before_ns: int, limit: int, but_not: Collection[str] = (), *, in_batches: bool = False
    ) -> list[StoredQuestion]:
        return await self._questions(statements.old(before_ns, limit, but_not, in_batches=in_batches))

    async def oldest_question_ns(self, *, of_high_risk: bool = False) -> int | None:
        oldest = select(func.min(questions.c.created_ns))
        wanted = oldest.where(questions.c.high_risk) if of_high_risk else oldest
        return await self._read(lambda to: to.scalar(wanted))

    async def questions_by_id(self, ids: Collection[str]) -> list[StoredQuestion]:
        return await self._questions(statements.stored_questions().where(questions.c.id.in_(ids)))

    async def _questions(self, statement: Select[Any]) -> list[StoredQuestion]:
        # In the reader's thread: each holds a session's record, and the event loop has telemetry to take.
        return await self._read(lambda to: questions_in(to, statement))

    async def pending_questions(self) -> int:
        return await self._count(select(func.count()).select_from(questions))

    async def due_exports(self, exporter: str, now_ns: int, limit: int) -> list[OutboxItem]:
        statement = (
            select(verdicts.c.id, verdicts.c.record, outbox.c.attempts, outbox.c.created_ns)
            .join_from(outbox, verdicts)
            .where(outbox.c.exporter == exporter, outbox.c.next_ns <= now_ns)
            .order_by(outbox.c.number)
            .limit(limit)
        )
        if (leases := self._database.leases) is not None:
            ours = await self._write(lambda to: leases.take(to, outbox, statement, outbox.c.number))
            statement = statement.where(outbox.c.number.in_(ours))

        def read(connection: Connection) -> list[tuple[str, Judged | None, int, int]]:
            rows = connection.execute(statement)
            return [(key, readable(JUDGED, record), attempts, ns) for key, record, attempts, ns in rows]

        items: list[OutboxItem] = []
        damaged: list[str] = []
        for verdict_id, judged, attempts, created_ns in await self._read(read):  # hundreds, in the thread that reads
            if judged is None:
                self._damage("verdict")
                damaged.append(verdict_id)
            else:
                items.append(OutboxItem(exporter, judged, attempts, created_ns))
        if damaged:  # they would stand at the head of the outbox for ever
            await self.mark_exported(exporter, damaged)
        return items

    async def mark_exported(self, exporter: str, verdict_ids: Sequence[str]) -> None:
        statement = delete(outbox).where(statements.queued(exporter, verdict_ids))
        await self._write(lambda to: to.execute(statement))

    async def postpone_exports(self, exporter: str, verdict_ids: Sequence[str], next_ns: int) -> None:
        later = {"attempts": outbox.c.attempts + 1, "next_ns": next_ns}
        statement = update(outbox).where(statements.queued(exporter, verdict_ids)).values(later)
        await self._write(lambda to: to.execute(statement))

    async def outbox_size(self, exporter: str) -> int:
        return await self._count(select(func.count()).select_from(outbox).where(outbox.c.exporter == exporter))

    async def closings(self, session_id: str, tenant: str) -> list[Closing]:
        statement = (
            select(sessions.c.revision, sessions.c.closed_ns, sessions.c.judged)
            .where(sessions.c.session_id == session_id, sessions.c.tenant == tenant)
            .order_by(sessions.c.revision.desc())
        )
        return [Closing(revision, closed_ns, judged) for revision, closed_ns, judged in await self._rows(statement)]

    async def sessions(self, where: SessionFilter) -> list[SessionSummary]:
        return [
            SessionSummary(SessionRef(session_id, revision, tenant), *rest)
            for session_id, revision, tenant, *rest in await self._rows(statements.summaries(where))
        ]

    async def refs(self, session_id: str, tenant: str | None = None) -> list[SessionRef]:
        columns = (sessions.c.session_id, sessions.c.revision, sessions.c.tenant)
        return [SessionRef(*row) for row in await self._rows(statements.closings(columns, session_id, tenant))]

    async def session(
        self, session_id: str, tenant: str | None = None, revision: int | None = None
    ) -> list[ClosedSession]:
        statement = statements.closings((sessions.c.number, sessions.c.record), session_id, tenant, revision)
        return await self._read(lambda to: sessions_in(to, statement, self._damage))

    async def verdicts(self, ref: SessionRef) -> list[Judged]:
        return (await self.verdicts_of([ref]))[ref]

    async def verdicts_of(self, refs: Sequence[SessionRef]) -> dict[SessionRef, list[Judged]]:
        by_closing: dict[SessionRef, list[Judged]] = {ref: [] for ref in refs}

        def read(connection: Connection) -> None:
            # In one transaction: a question settled between two reads would be missing from both.
            for start in range(0, len(refs), _CLOSINGS_AT_ONCE):
                closings = statements.numbers_of(refs[start : start + _CLOSINGS_AT_ONCE])
                for judged in verdicts_in(connection, statements.of_sessions(closings), self._damage):
                    by_closing.setdefault(judged.session, []).append(judged)
                for one in questions_in(connection, statements.questions_of(closings)):
                    by_closing.setdefault(one.draft.session, []).append(one.draft)

        await self._read(read)
        return by_closing

    async def find_verdicts(self, where: VerdictFilter) -> list[Judged]:
        return await self._read(lambda to: verdicts_in(to, found(where), self._damage))

    async def problem(self) -> str | None:
        """Why nothing can be written just now, None when it can: makes one real commit that changes nothing."""

        def commit(connection: Connection) -> None:
            self._database.prove(connection)
            require_version(self._database.name, connection)

        try:
            await self._write(commit)
        except StoreUnavailable as error:
            return str(error)
        return None

    async def close(self) -> None:
        for writer in self._writers:
            await writer.close()
        for engine in (self._database.writing, self._database.reading):
            if engine is not None:
                engine.dispose()

    async def _write(self, apply: Callable[[Connection], _Result]) -> _Result:
        return await self._with(0, apply)

    async def _write_ledger(self, apply: Callable[[Connection], _Result]) -> _Result:
        return await self._with(-1, apply)

    async def _with(self, number: int, apply: Callable[[Connection], _Result]) -> _Result:
        if not self._writers:
            raise StoreUnavailable(f"the verdict store {self._database.name} was opened for reading only")
        return await self._writers[number].write(apply)

    async def _read(self, query: Callable[[Connection], _Result]) -> _Result:
        def run() -> _Result:
            with self._database.translated(), self._database.reading.begin() as connection:
                return query(connection)

        return await asyncio.to_thread(run)

    async def _rows(self, statement: Select[Any]) -> Sequence[Any]:
        return await self._read(lambda connection: connection.execute(statement).all())

    async def _count(self, statement: Select[int]) -> int:
        return await self._read(lambda connection: connection.execute(statement).scalar_one())
