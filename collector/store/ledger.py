"""What was asked of the judge and what it cost: votes, answers to use again, spending, batches on their way.

As with the store, what a method promises is on disk when it returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from judge.budget import Amount, Budget, HourSpent, Refusal
from judge.question import Answer


@dataclass(frozen=True, slots=True)
class Vote:
    """What one asking brought: an answer, or the reason why there is none and what that used. `cached` when nobody
    was asked, since the same had been answered before."""

    answer: Answer | None
    reason: str = ""
    detail: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Reservation:
    """Set aside for one call, in the hour it was asked in. `amount` is nothing where there is no limit."""

    hour_ns: int
    evaluator: str
    amount: Amount


@dataclass(frozen=True, slots=True)
class Charge:
    """What a call really used, in place of what was set aside for it."""

    reservation: Reservation
    used: Amount


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One asking on its way in a batch; `id` is that of `item_id`. `key` is what its answer is kept under to be used
    again, None when it is not to be."""

    id: str
    question_id: str
    vote: int
    reservation: Reservation
    model: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    id: str
    created_ns: int


def item_id(question_id: str, vote: int) -> str:
    """What an asking is called in a batch: letters, digits and hyphens, at most 64 of them."""
    return f"{question_id}-{vote}"


class Ledger(Protocol):
    """Implemented by `sql_ledger.SqlLedger`. Every method raises `StoreUnavailable`."""

    async def votes(self, question_id: str) -> dict[int, Vote]:
        """By their numbers, which count from 0; some may be missing. One that cannot be read is deleted: it is asked
        again."""

    async def keep_vote(
        self, question_id: str, vote: int, kept: Vote, charge: Charge | None, *, key: str | None, now_ns: int
    ) -> None:
        """Keep what an asking brought, with what it cost, and under `key` for other questions, in one transaction; a
        batch item of this question and vote is done with. A second time changes nothing but the spending. A question
        that is settled already keeps no votes."""

    async def answer(self, key: str, since_ns: int) -> Answer | None:
        """The answer kept under this key, unless it is older."""

    async def reserve(
        self, budget: Budget, estimate: Amount, evaluator: str, now_ns: int, *, high_risk: bool
    ) -> Reservation | Refusal:
        """Look at the limits and set the amount aside, in one transaction."""

    async def charge(self, charge: Charge) -> None:
        """For a call that brought nothing to keep."""

    async def spent(self, now_ns: int) -> list[HourSpent]:
        """Of the day that `now_ns` is in."""

    async def forget(self, answers_before_ns: int, spending_before_ns: int) -> None:
        """Delete old answers and spending."""

    async def add_batch(self, batch: Batch, items: Sequence[BatchItem]) -> None:
        """The service has taken the batch. Items whose question is settled already are left out."""

    async def batches(self) -> list[Batch]:
        """Those on their way, oldest first."""

    async def batch_items(self, batch_id: str) -> list[BatchItem]:
        """Those of which nothing was kept yet. One that cannot be read is released, and what was set aside for it stays
        spent."""

    async def release(self, item_ids: Sequence[str], charges: Sequence[Charge] = ()) -> None:
        """These items brought nothing; their questions may be asked again."""

    async def end_batch(self, batch_id: str) -> None:
        """Forget the batch, with the items that are left."""
