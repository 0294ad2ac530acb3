"""The baselines of the SQLite store keep the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.store.sqlite import SqliteStore
from collector.store.store import Store
from tests.contracts.baselines import FIRST, KEPT, BaselineContract
from tests.contracts.store import Opener
from tests.fakes.verdicts import NOW_NS, closed


class TestSqlBaselines(BaselineContract):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        async def open_again() -> Store:
            return SqliteStore.open(tmp_path / "verdicts.db")

        return open_again


async def test_a_baseline_outlives_the_sessions_it_was_made_of(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "verdicts.db")
    for one in KEPT:
        await store.finish(one.session, one.verdicts, [], [])
    await store.baselines.save(FIRST, KEPT)
    assert await store.retention.purge(NOW_NS + 1, limit=10) == 2
    assert await store.session(closed("a").ref.session_id) == []
    assert await store.baselines.sessions("v7") == KEPT
    await store.close()
