"""Sharing out work among processes that use one database: what one of them took, the others leave alone for a while.

Who takes something holds it until it is done, or until the lease ends, by the clock of the database, so that clocks of
machines may differ. What one holds is offered to it again at every look.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, Select, Table, cast, extract, func, or_, update

from collector.store.judge_tables import batches
from collector.store.schema import outbox, questions

_NOW_NS = cast(extract("epoch", func.clock_timestamp()) * 1_000_000_000, BigInteger)


@dataclass(frozen=True, slots=True)
class Leases:
    """`holder` is a name that no other process has."""

    holder: str
    length_ns: int

    def take(self, connection: Connection, table: Table, wanted: Select[Any], key: ColumnElement[Any]) -> Sequence[Any]:
        """The keys of the wanted rows that nobody else holds, in their order: from now on we do. Rows that another
        process is about to take are passed over and not waited for."""
        free = or_(table.c.holder.is_(None), table.c.holder == self.holder, table.c.held_until_ns < _NOW_NS)
        # Locked rows are looked at again as they are now, so that nobody takes what was taken a moment ago.
        chosen = wanted.with_only_columns(key, table.c.held_until_ns - _NOW_NS, table.c.holder).where(free)
        rows = connection.execute(chosen.with_for_update(of=table, key_share=True, skip_locked=True)).all()
        if late := [name for name, left_ns, holder in rows if holder != self.holder or left_ns < self.length_ns // 2]:
            self._hold(connection, table, key.in_(late))
        return [name for name, _, _ in rows]

    def renew(self, connection: Connection, ids: Collection[str]) -> None:
        """Go on holding these questions, of which some are ours."""
        if ids:
            soon = questions.c.held_until_ns < _NOW_NS + self.length_ns // 2
            self._hold(connection, questions, questions.c.id.in_(ids), questions.c.holder == self.holder, soon)

    def _hold(self, connection: Connection, table: Table, *which: ColumnElement[bool]) -> None:
        held = {"holder": self.holder, "held_until_ns": _NOW_NS + self.length_ns}
        connection.execute(update(table).where(*which).values(held))

    def let_go(self, connection: Connection) -> None:
        """Of everything: this process ends."""
        for table in (questions, outbox, batches):
            connection.execute(update(table).where(table.c.holder == self.holder).values(holder=None))
