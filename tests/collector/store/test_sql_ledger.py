"""The ledger of the SQLite store keeps the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.errors import StoreUnavailable
from collector.store.sqlite import SqliteStore
from collector.store.store import Store
from judge.budget import Amount, Budget, Limit
from tests.contracts.ledger import LedgerContract
from tests.contracts.store import Opener
from tests.fakes.verdicts import NOW_NS


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
