"""A PostgreSQL database of an older version, brought up to date by whoever starts first."""

from __future__ import annotations

from uuid import uuid4

import pytest
from sqlalchemy import URL, Connection, create_engine, text

from collector.store.listing import Stretch, Wanted
from collector.store.postgres import PostgresStore
from tests.contracts.listing import with_skills
from tests.fakes.old_stores import make_of_version_8
from tests.fakes.verdicts import TRACE_ID, closed, judged

pytestmark = pytest.mark.integration("postgres")


class _Text:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, /) -> object:
        return self._connection.execute(text(statement))


async def test_what_sessions_are_found_by_is_filled_in_for_a_database_of_version_8(database: URL) -> None:
    store = PostgresStore.open(database, holder=uuid4().hex)
    for name in ("a", "b"):
        await store.finish(with_skills(closed(name)), [judged(name)], [], [])
    before = await store.listing.counts(Stretch(0, 10**18))
    await store.close()
    engine = create_engine(database)
    with engine.begin() as connection:
        make_of_version_8(_Text(connection))
    engine.dispose()
    again = PostgresStore.open(database, holder=uuid4().hex)
    after = await again.listing.counts(Stretch(0, 10**18))
    assert (sorted(map(str, after.loads)), after.verdicts) == (sorted(map(str, before.loads)), before.verdicts)
    assert {ref.session_id for ref in await again.listing.of_trace(TRACE_ID)} == {"a", "b"}
    assert len((await again.listing.page(Wanted(skill="refunds"))).lines) == 2
    await again.finish(with_skills(closed("c")), [judged("c", skill="x" * 5_000)], [], [])
    await again.close()
