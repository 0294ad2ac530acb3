"""What every ledger does, in the store it belongs to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from collector.store.ledger import Batch, BatchItem, Charge, Reservation, Vote, item_id
from collector.store.store import Store
from judge.budget import HOUR_NS, Amount, Budget, HourSpent, Limit, Refusal, window_start_ns
from judge.question import Answer, StepFinding
from judge.verdict import Score
from tests.contracts.store import Opener
from tests.fakes.verdicts import NOW_NS, answered, closed, pending

YES = Vote(Answer("Yes", "Because.", "model-a", 100, 10))
STEPS = Vote(Answer("", "r", "m", 1, 1, 0, 0, (StepFinding("find", "followed", "entry 3"),)))
REFUSED = Vote(None, "judge_refused", "category bio", 40, 2)
HOUR = window_start_ns("hour", NOW_NS)
BUDGET = Budget((Limit("hour", "tokens", 1000),))


class LedgerContract:
    """Derive, and give it a fixture `opener` that opens the same data again at every call."""

    @pytest_asyncio.fixture
    async def store(self, opener: Opener) -> AsyncIterator[Store]:
        store = await opener()
        await store.finish(closed(), [], [pending(), pending(ref="other")], [])
        yield store
        await store.close()

    async def test_votes_are_kept_in_their_order_and_go_with_their_question(self, store: Store) -> None:
        question, ledger = pending(), store.ledger
        for number, vote in enumerate((YES, STEPS, REFUSED)):
            await ledger.keep_vote(question.id, number, vote, None, key=None, now_ns=NOW_NS)
        assert await ledger.votes(question.id) == {0: YES, 1: STEPS, 2: REFUSED}
        assert await ledger.votes(pending(ref="other").id) == {}
        await store.settle(answered(question, Score(1.0, "Yes", "")), [])
        assert await ledger.votes(question.id) == {}

    async def test_a_vote_that_is_there_already_stays_and_both_are_paid_for(self, store: Store) -> None:
        question, ledger = pending(), store.ledger
        for vote in (YES, REFUSED):
            charge = Charge(Reservation(HOUR, "e", Amount()), Amount(5, 7))
            await ledger.keep_vote(question.id, 0, vote, charge, key=None, now_ns=NOW_NS)
        assert await ledger.votes(question.id) == {0: YES}
        assert await ledger.spent(NOW_NS) == [HourSpent(HOUR, "e", Amount(10, 14))]

    async def test_a_vote_for_a_settled_question_is_paid_for_and_no_more(self, store: Store) -> None:
        charge = Charge(Reservation(HOUR, "e", Amount()), Amount(5, 7))
        await store.ledger.keep_vote("gone", 0, YES, charge, key="k", now_ns=NOW_NS)
        assert await store.ledger.votes("gone") == {}
        assert await store.ledger.spent(NOW_NS) == [HourSpent(HOUR, "e", Amount(5, 7))]
        assert await store.ledger.answer("k", NOW_NS) == YES.answer

    async def test_an_answer_is_found_again_until_it_is_too_old(self, store: Store) -> None:
        ledger = store.ledger
        await ledger.keep_vote(pending().id, 0, STEPS, None, key="k", now_ns=NOW_NS)
        assert await ledger.answer("k", NOW_NS) == STEPS.answer
        assert await ledger.answer("k", NOW_NS + 1) is None
        assert await ledger.answer("another", 0) is None
        await ledger.keep_vote(pending().id, 1, YES, None, key="k", now_ns=NOW_NS + 5)
        assert await ledger.answer("k", NOW_NS + 1) == YES.answer
        await ledger.forget(NOW_NS + 6, 0)
        assert await ledger.answer("k", 0) is None

    async def test_what_is_set_aside_counts_until_it_is_replaced_by_what_was_used(self, store: Store) -> None:
        ledger = store.ledger
        first = await ledger.reserve(BUDGET, Amount(800, 80), "e", NOW_NS, high_risk=False)
        assert first == Reservation(HOUR, "e", Amount(800, 80))
        assert isinstance(await ledger.reserve(BUDGET, Amount(201), "f", NOW_NS, high_risk=False), Refusal)
        await ledger.charge(Charge(first, Amount(100, 10)))
        assert await ledger.spent(NOW_NS) == [HourSpent(HOUR, "e", Amount(100, 10))]
        assert isinstance(await ledger.reserve(BUDGET, Amount(900), "f", NOW_NS, high_risk=False), Reservation)

    async def test_many_at_once_never_set_aside_more_than_the_limit(self, store: Store) -> None:
        reserving = (store.ledger.reserve(BUDGET, Amount(300), "e", NOW_NS, high_risk=False) for _ in range(20))
        reserved = [one for one in await asyncio.gather(*reserving) if isinstance(one, Reservation)]
        assert len(reserved) == 3

    async def test_spending_survives_a_restart(self, opener: Opener, store: Store) -> None:
        await store.ledger.reserve(BUDGET, Amount(900), "e", NOW_NS, high_risk=False)
        await store.close()
        again = await opener()
        assert isinstance(await again.ledger.reserve(BUDGET, Amount(101), "e", NOW_NS, high_risk=False), Refusal)
        await again.close()

    async def test_a_correction_goes_to_the_hour_of_the_call(self, store: Store) -> None:
        reserved = await store.ledger.reserve(BUDGET, Amount(900), "e", NOW_NS, high_risk=False)
        assert isinstance(reserved, Reservation)
        await store.ledger.reserve(BUDGET, Amount(50), "e", NOW_NS + HOUR_NS, high_risk=False)
        await store.ledger.charge(Charge(reserved, Amount(10)))
        assert {one.hour_ns: one.amount.tokens for one in await store.ledger.spent(NOW_NS + HOUR_NS)} == {
            HOUR: 10,
            HOUR + HOUR_NS: 50,
        }

    async def test_without_limits_nothing_is_set_aside(self, store: Store) -> None:
        reserved = await store.ledger.reserve(Budget(), Amount(10**15, 10**15), "e", NOW_NS, high_risk=False)
        assert reserved == Reservation(HOUR, "e", Amount())
        assert await store.ledger.spent(NOW_NS) == []

    async def test_old_spending_is_forgotten(self, store: Store) -> None:
        await store.ledger.reserve(BUDGET, Amount(10), "e", NOW_NS, high_risk=False)
        await store.ledger.forget(0, HOUR + 1)
        assert await store.ledger.spent(NOW_NS) == []

    async def test_a_question_in_a_batch_is_not_due_until_its_item_is_done_with(self, store: Store) -> None:
        ledger, items = store.ledger, [_item(pending().id, vote) for vote in range(2)]
        await ledger.add_batch(Batch("batch-1", NOW_NS), [*items, _item("gone", 0)])
        assert await ledger.batches() == [Batch("batch-1", NOW_NS)]
        assert await ledger.batch_items("batch-1") == items
        other = pending(ref="other").id
        assert [one.id for one in await store.due_questions(NOW_NS, 10)] == [other]
        assert [one.id for one in await store.old_questions(NOW_NS + 1, 10)] == [other]
        assert len(await store.old_questions(NOW_NS + 1, 10, in_batches=True)) == 2
        await ledger.keep_vote(pending().id, 0, YES, None, key=None, now_ns=NOW_NS)
        assert await ledger.batch_items("batch-1") == items[1:]
        assert [one.id for one in await store.due_questions(NOW_NS, 10)] == [other]
        await ledger.release([items[1].id], [Charge(items[1].reservation, Amount())])
        assert {one.id for one in await store.due_questions(NOW_NS, 10)} == {pending().id, other}
        await ledger.end_batch("batch-1")
        assert await ledger.batches() == []

    async def test_batches_survive_a_restart(self, opener: Opener, store: Store) -> None:
        await store.ledger.add_batch(Batch("batch-1", NOW_NS), [_item(pending().id, 0)])
        await store.close()
        again = await opener()
        assert await again.ledger.batch_items("batch-1") == [_item(pending().id, 0)]
        await again.ledger.end_batch("batch-1")
        assert len(await again.due_questions(NOW_NS, 10)) == 2
        await again.close()


def _item(question_id: str, vote: int) -> BatchItem:
    reservation = Reservation(HOUR, "e", Amount(10, 20))
    return BatchItem(item_id(question_id, vote), question_id, vote, reservation, "model-a", "k")
