"""What keeps questions waiting, in SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

from sqlalchemy import Connection, select

from collector.store.inserting import insert
from collector.store.judge_tables import batch_items, obstacles
from collector.store.obstacles import OpenQuestion, Told
from collector.store.records import RecordFormat, readable
from collector.store.schema import questions, sessions
from collector.store.statements import is_closing
from collector.store.transacting import Transact
from judge.verdict import SessionRef

_ONLY = 1
_TOLD = RecordFormat(Told)


class SqlObstacles:
    """A `collector.store.obstacles.Obstacles`. `read` and `write` run a function in one transaction of the store."""

    def __init__(self, read: Transact, write: Transact) -> None:
        self._read = read
        self._write = write

    async def tell(self, told: Told) -> None:
        record = _TOLD.dump(told)

        def replace(to: Connection) -> None:
            told = insert(to, obstacles).values(number=_ONLY, record=record)
            to.execute(told.on_conflict_do_update(index_elements=[obstacles.c.number], set_={"record": record}))

        await self._write(replace)

    async def told(self) -> Told | None:
        record = await self._read(lambda to: to.scalar(select(obstacles.c.record)))
        return None if record is None else readable(_TOLD, record)


def open_questions(connection: Connection, ref: SessionRef) -> list[OpenQuestion]:
    """Those of one closing."""
    sent = select(batch_items.c.id).where(batch_items.c.question == questions.c.number).exists()
    columns = (
        questions.c.id,
        questions.c.evaluator,
        questions.c.model,
        questions.c.high_risk,
        questions.c.asked,
        questions.c.next_ns,
        questions.c.created_ns,
        questions.c.trouble,
    )
    statement = select(*columns, sent).join_from(questions, sessions).where(is_closing(ref))
    return [OpenQuestion(*row) for row in connection.execute(statement.order_by(questions.c.number))]
