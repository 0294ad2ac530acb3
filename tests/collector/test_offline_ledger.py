"""Votes of a command stay its own; its money and its answers are the server's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from collector.offline_ledger import OfflineLedger
from collector.store.ledger import Charge, Reservation, Vote
from collector.store.sqlite import SqliteStore
from judge.budget import Amount, Budget, Limit, Refusal, window_start_ns
from judge.question import Answer
from tests.fakes.verdicts import NOW_NS, closed, pending

ANSWER = Answer("Yes", "It fits.", "model-a", 30, 7)
BUDGET = Budget((Limit("hour", "tokens", 100),))


class Desk:
    """Both stores have the same question open."""

    def __init__(self, own: SqliteStore, server: SqliteStore) -> None:
        self.own = own
        self.server = server
        self.ledger = OfflineLedger(own.ledger, server.ledger)


@pytest_asyncio.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    stores = [SqliteStore.open(tmp_path / name) for name in ("own.db", "server.db")]
    for store in stores:
        await store.finish(closed(), [], [pending()], [])
    yield Desk(*stores)
    for store in stores:
        await store.close()


async def test_a_vote_is_kept_here_and_paid_for_there(desk: Desk) -> None:
    reserved = await desk.ledger.reserve(BUDGET, Amount(60, 0), "skill_selection", NOW_NS, high_risk=False)
    assert isinstance(reserved, Reservation)
    await desk.ledger.keep_vote(
        pending().id, 0, Vote(ANSWER), Charge(reserved, Amount(37, 5)), key="the same", now_ns=NOW_NS
    )
    assert await desk.ledger.votes(pending().id) == {0: Vote(ANSWER)}
    assert await desk.server.ledger.votes(pending().id) == {}, "the server asks its question itself"
    (spent,) = await desk.server.ledger.spent(NOW_NS)
    assert spent.amount == Amount(37, 5)
    assert await desk.own.ledger.spent(NOW_NS) == []
    assert await desk.server.ledger.answer("the same", NOW_NS) == ANSWER


async def test_what_the_server_spent_leaves_no_room_here(desk: Desk) -> None:
    hour_ns = window_start_ns("hour", NOW_NS)
    await desk.server.ledger.charge(Charge(Reservation(hour_ns, "faithfulness", Amount()), Amount(90, 0)))
    refused = await desk.ledger.reserve(BUDGET, Amount(60, 0), "skill_selection", NOW_NS, high_risk=False)
    assert isinstance(refused, Refusal)


async def test_what_the_server_was_answered_is_known_here(desk: Desk) -> None:
    await desk.server.ledger.keep_vote(pending().id, 0, Vote(ANSWER), None, key="the same", now_ns=NOW_NS)
    assert await desk.ledger.answer("the same", NOW_NS) == ANSWER
    await desk.ledger.forget(NOW_NS + 1, NOW_NS + 1)
    assert await desk.ledger.answer("the same", NOW_NS) == ANSWER, "nothing of the server's is forgotten here"
