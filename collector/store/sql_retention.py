"""Deleting old closings in SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, exists, select

from collector.store.database import Database
from collector.store.retention import StoreSize
from collector.store.schema import outbox, questions, sessions, verdicts
from collector.store.transacting import Transact


class SqlRetention:
    """A `collector.store.retention.Retention`. `read` and `write` run a function in one transaction of the store."""

    def __init__(self, read: Transact, write: Transact, database: Database) -> None:
        self._read = read
        self._write = write
        self._database = database

    async def purge(self, before_ns: int, limit: int, *, only_done: bool = False) -> int:
        # Looked for among readers: where much of the oldest has to stay it takes a while, and writers do not wait.
        wanted = _oldest(before_ns, only_done).limit(limit)
        found = await self._read(lambda to: to.scalars(wanted).all())
        if not found:
            return 0

        def delete_found(connection: Connection) -> int:
            # Chosen beforehand: as a part of the deletion PostgreSQL might choose more than once.
            still = _oldest(before_ns, only_done).where(sessions.c.number.in_(found))
            chosen = connection.scalars(still.with_for_update(of=sessions, skip_locked=True)).all()
            connection.execute(delete(sessions).where(sessions.c.number.in_(chosen)))
            self._database.tidy(connection)
            return len(chosen)

        return await self._write(delete_found)

    async def size(self) -> StoreSize:
        return await self._read(self._database.size)

    async def give_back(self) -> bool:
        return await self._write(self._database.tidy)


def _oldest(before_ns: int, only_done: bool) -> Select[Any]:
    """Numbers of closings."""
    found = select(sessions.c.number).where(sessions.c.closed_ns < before_ns, *(_is_done() if only_done else ()))
    return found.order_by(sessions.c.closed_ns, sessions.c.number)


def _is_done() -> Iterator[ColumnElement[bool]]:
    yield ~exists().where(questions.c.session == sessions.c.number)
    yield ~exists().where(outbox.c.verdict == verdicts.c.number, verdicts.c.session == sessions.c.number)
