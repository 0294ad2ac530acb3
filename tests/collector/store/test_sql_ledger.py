"""The ledger of the SQLite store keeps the contract."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from collector.errors import StoreUnavailable
from collector.store.ledger import Batch, BatchItem, Reservation, item_id
from collector.store.sqlite import SqliteStore
from collector.store.store import Store
from judge.budget import Amount, Budget, Limit
from tests.contracts.ledger import LedgerContract
from tests.contracts.store import Opener
from tests.fakes.verdicts import NOW_NS, closed, pending


class TestSqlLedger(LedgerContract):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        async def open_again() -> Store:
            return SqliteStore.open(tmp_path / "verdicts.db")

        return open_again


async def test_without_a_store_nothing_may_be_spent(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "verdicts.db")
    await store.close()
    budget = Budget((Limit("hour", "tokens", 10),))
    with pytest.raises(StoreUnavailable):
        await store.ledger.reserve(budget, Amount(1), "e", NOW_NS, high_risk=False)


async def test_a_damaged_batch_item_lets_its_question_be_asked_again(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "verdicts.db")
    await store.finish(closed(), [], [pending()], [])
    item = BatchItem(item_id(pending().id, 0), pending().id, 0, Reservation(0, "e", Amount(1, 1)), "model-a")
    await store.ledger.add_batch(Batch("batch-1", NOW_NS), [item])
    with closing(sqlite3.connect(tmp_path / "verdicts.db")) as connection:
        connection.execute("UPDATE batch_items SET record = '{'")
        connection.commit()
    assert await store.due_questions(NOW_NS, 10) == []
    assert await store.ledger.batch_items("batch-1") == []
    assert await store.due_questions(NOW_NS, 10) == [pending()]
    await store.close()
