"""The ledger in SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Select, delete, select

from collector.store.inserting import insert
from collector.store.judge_tables import answers, batch_items, batches, spending, votes
from collector.store.leases import Leases
from collector.store.ledger import Batch, BatchItem, Charge, Reservation, Vote, item_id
from collector.store.locks import alone
from collector.store.records import RecordFormat, readable
from collector.store.schema import questions
from collector.store.transacting import Transact
from judge.budget import Amount, Budget, HourSpent, Refusal, window_start_ns
from judge.question import Answer

_VOTE = RecordFormat(Vote)
_ANSWER = RecordFormat(Answer)
_ITEM = RecordFormat(BatchItem)
_NOTHING = Amount()


class SqlLedger:
    """A `collector.store.ledger.Ledger`. `read` and `write` run a function in one transaction of the store. With
    `leases` several processes share it: each batch is collected by one of them."""

    def __init__(self, read: Transact, write: Transact, leases: Leases | None = None) -> None:
        self._leases = leases
        self._read = read
        self._write = write

    async def votes(self, question_id: str) -> dict[int, Vote]:
        statement = (
            select(votes.c.vote, votes.c.record)
            .join_from(votes, questions)
            .where(questions.c.id == question_id)
            .order_by(votes.c.vote)
        )
        rows = await self._read(lambda to: to.execute(statement).all())
        found = {vote: readable(_VOTE, record) for vote, record in rows}
        if damaged := [vote for vote, kept in found.items() if kept is None]:
            # Left where they are they would keep their asking from being done again.
            number = select(questions.c.number).where(questions.c.id == question_id).scalar_subquery()
            gone = delete(votes).where(votes.c.question == number, votes.c.vote.in_(damaged))
            await self._write(lambda to: to.execute(gone))
        return {vote: kept for vote, kept in found.items() if kept is not None}

    async def keep_vote(
        self, question_id: str, vote: int, kept: Vote, charge: Charge | None, *, key: str | None, now_ns: int
    ) -> None:
        record = _VOTE.dump(kept)

        def keep(to: Connection) -> None:
            if charge is not None:
                _add(to, charge.reservation, charge.used - charge.reservation.amount)
            if key is not None and kept.answer is not None:
                values = {"kept_ns": now_ns, "record": _ANSWER.dump(kept.answer)}
                again = insert(to, answers).values(key=key, **values)
                to.execute(again.on_conflict_do_update(index_elements=[answers.c.key], set_=values))
            number = to.scalar(_number(question_id))
            if number is not None:
                to.execute(insert(to, votes).values(question=number, vote=vote, record=record).on_conflict_do_nothing())
                to.execute(delete(batch_items).where(batch_items.c.id == item_id(question_id, vote)))

        await self._write(keep)

    async def answer(self, key: str, since_ns: int) -> Answer | None:
        statement = select(answers.c.record).where(answers.c.key == key, answers.c.kept_ns >= since_ns)
        record = await self._read(lambda to: to.scalar(statement))
        return None if record is None else readable(_ANSWER, record)

    async def reserve(
        self, budget: Budget, estimate: Amount, evaluator: str, now_ns: int, *, high_risk: bool
    ) -> Reservation | Refusal:
        hour_ns = window_start_ns("hour", now_ns)
        if not budget.limits:
            return Reservation(hour_ns, evaluator, _NOTHING)
        reservation = Reservation(hour_ns, evaluator, estimate)

        def reserve(to: Connection) -> Reservation | Refusal:
            alone(to, "spending")
            if refusal := budget.refusal(_spent(to, now_ns), estimate, evaluator, now_ns, high_risk=high_risk):
                return refusal
            _add(to, reservation, estimate)
            return reservation

        return await self._write(reserve)

    async def charge(self, charge: Charge) -> None:
        difference = charge.used - charge.reservation.amount
        if difference != _NOTHING:
            await self._write(lambda to: _add(to, charge.reservation, difference))

    async def spent(self, now_ns: int) -> list[HourSpent]:
        return await self._read(lambda to: _spent(to, now_ns))

    async def forget(self, answers_before_ns: int, spending_before_ns: int) -> None:
        def forget(to: Connection) -> None:
            to.execute(delete(answers).where(answers.c.kept_ns < answers_before_ns))
            to.execute(delete(spending).where(spending.c.hour_ns < spending_before_ns))

        await self._write(forget)

    async def add_batch(self, batch: Batch, items: Sequence[BatchItem]) -> None:
        def add(to: Connection) -> None:
            to.execute(insert(to, batches).values(id=batch.id, created_ns=batch.created_ns).on_conflict_do_nothing())
            for item in items:
                number = to.scalar(_number(item.question_id))
                if number is not None:
                    row = {"id": item.id, "batch": batch.id, "question": number}
                    to.execute(insert(to, batch_items).values(**row, record=_ITEM.dump(item)))

        await self._write(add)

    async def batches(self) -> list[Batch]:
        statement = select(batches.c.id, batches.c.created_ns).order_by(batches.c.created_ns, batches.c.id)
        if (leases := self._leases) is not None:
            ours = await self._write(lambda to: leases.take(to, batches, statement, batches.c.id))
            statement = statement.where(batches.c.id.in_(ours))
        return [Batch(*row) for row in await self._read(lambda to: to.execute(statement).all())]

    async def batch_items(self, batch_id: str) -> list[BatchItem]:
        statement = select(batch_items.c.id, batch_items.c.record).where(batch_items.c.batch == batch_id)
        rows = await self._read(lambda to: to.execute(statement.order_by(batch_items.c.id)).all())
        found = {name: readable(_ITEM, record) for name, record in rows}
        if damaged := [name for name, item in found.items() if item is None]:
            await self.release(damaged)
        return [item for item in found.values() if item is not None]

    async def release(self, item_ids: Sequence[str], charges: Sequence[Charge] = ()) -> None:
        def release(to: Connection) -> None:
            to.execute(delete(batch_items).where(batch_items.c.id.in_(item_ids)))
            for charge in charges:
                _add(to, charge.reservation, charge.used - charge.reservation.amount)

        await self._write(release)

    async def end_batch(self, batch_id: str) -> None:
        await self._write(lambda to: to.execute(delete(batches).where(batches.c.id == batch_id)))


def _number(question_id: str) -> Select[tuple[int]]:
    """The question's, which nobody deletes before the transaction has ended."""
    row = select(questions.c.number).where(questions.c.id == question_id)
    return row.with_for_update(read=True, key_share=True)


def _spent(to: Connection, now_ns: int) -> list[HourSpent]:
    statement = select(spending).where(spending.c.hour_ns >= window_start_ns("day", now_ns))
    return [
        HourSpent(hour_ns, evaluator, Amount(tokens, nano_dollars))
        for hour_ns, evaluator, tokens, nano_dollars in to.execute(statement)
    ]


def _add(to: Connection, reservation: Reservation, amount: Amount) -> None:
    alone(to, "spending")
    added = insert(to, spending).values(
        hour_ns=reservation.hour_ns,
        evaluator=reservation.evaluator,
        tokens=amount.tokens,
        nano_dollars=amount.nano_dollars,
    )
    to.execute(
        added.on_conflict_do_update(
            index_elements=[spending.c.hour_ns, spending.c.evaluator],
            set_={
                "tokens": spending.c.tokens + added.excluded.tokens,
                "nano_dollars": spending.c.nano_dollars + added.excluded.nano_dollars,
            },
        )
    )
