"""The PostgreSQL store: the contracts, and what is special about a server that several processes share."""

from __future__ import annotations

from uuid import uuid4

import pytest
from sqlalchemy import URL

from collector.store.postgres import PostgresStore
from collector.store.store import Store
from tests.contracts.baselines import BaselineContract
from tests.contracts.labels import LabelContract
from tests.contracts.ledger import LedgerContract
from tests.contracts.listing import ListingContract
from tests.contracts.retention import RetentionContract
from tests.contracts.store import Opener, StoreContract

pytestmark = pytest.mark.integration("postgres")


@pytest.fixture
def opener(database: URL) -> Opener:
    async def open_again() -> Store:
        return PostgresStore.open(database, holder=uuid4().hex)

    return open_again


class TestPostgresStore(StoreContract):
    pass


class TestPostgresLabels(LabelContract):
    pass


class TestPostgresListing(ListingContract):
    pass


class TestPostgresRetention(RetentionContract):
    pass


class TestPostgresLedger(LedgerContract):
    pass


class TestPostgresBaselines(BaselineContract):
    pass
