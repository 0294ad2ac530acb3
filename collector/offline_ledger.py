"""A command's ledger: votes in its own store, money and answers in that of the server.

Whoever asks from the command line draws on the same budget as the server, and what either was answered lately the other
need not ask again.
"""

from __future__ import annotations

from collections.abc import Sequence

from collector.store.ledger import Batch, BatchItem, Charge, Ledger, Reservation, Vote
from judge.budget import Amount, Budget, HourSpent, Refusal
from judge.question import Answer


class OfflineLedger:
    """A `collector.store.ledger.Ledger`."""

    def __init__(self, own: Ledger, shared: Ledger) -> None:
        self._own = own
        self._shared = shared

    async def votes(self, question_id: str) -> dict[int, Vote]:
        return await self._own.votes(question_id)

    async def keep_vote(
        self, question_id: str, vote: int, kept: Vote, charge: Charge | None, *, key: str | None, now_ns: int
    ) -> None:
        # Under an id that no question has: the server may be about to ask the same, and votes for itself.
        await self._shared.keep_vote(f"offline:{question_id}", vote, kept, charge, key=key, now_ns=now_ns)
        await self._own.keep_vote(question_id, vote, kept, None, key=None, now_ns=now_ns)

    async def answer(self, key: str, since_ns: int) -> Answer | None:
        return await self._shared.answer(key, since_ns)

    async def reserve(
        self, budget: Budget, estimate: Amount, evaluator: str, now_ns: int, *, high_risk: bool
    ) -> Reservation | Refusal:
        return await self._shared.reserve(budget, estimate, evaluator, now_ns, high_risk=high_risk)

    async def charge(self, charge: Charge) -> None:
        await self._shared.charge(charge)

    async def spent(self, now_ns: int) -> list[HourSpent]:
        return await self._shared.spent(now_ns)

    async def forget(self, answers_before_ns: int, spending_before_ns: int) -> None:
        """Left to the server: what is old to this configuration may not be to its own."""

    async def add_batch(self, batch: Batch, items: Sequence[BatchItem]) -> None:
        await self._own.add_batch(batch, items)

    async def batches(self) -> list[Batch]:
        return await self._own.batches()

    async def batch_items(self, batch_id: str) -> list[BatchItem]:
        return await self._own.batch_items(batch_id)

    async def release(self, item_ids: Sequence[str], charges: Sequence[Charge] = ()) -> None:
        await self._own.release(item_ids)
        for charge in charges:
            await self._shared.charge(charge)

    async def end_batch(self, batch_id: str) -> None:
        await self._own.end_batch(batch_id)
