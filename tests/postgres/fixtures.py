"""Fixtures of tests that need a PostgreSQL. Without one they skip in one line, unless SPANJUDGE_REQUIRE names
`postgres`; SPANJUDGE_TEST_POSTGRES (postgresql://user:password@host/database) names a server that runs already, whose
user may create schemas."""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from sqlalchemy import URL, create_engine, text

from collector.store.postgres_url import postgres_url
from tests.integrations import require
from tests.postgres.server import NoPostgres, Server


@pytest.fixture(scope="session")
def postgres() -> Iterator[URL]:
    """A server that all tests share, so nobody stops it: see `database`."""
    given = os.environ.get("SPANJUDGE_TEST_POSTGRES")
    if given:
        yield postgres_url(given)
        return
    with _server() as server:
        yield postgres_url(server.url)


@pytest.fixture
def own_postgres() -> Iterator[Server]:
    """A server that this test may stop and start again."""
    with _server() as server:
        yield server


@pytest.fixture
def database(postgres: URL) -> Iterator[URL]:
    """An empty schema of this test alone: a database of its own takes seconds to make."""
    name = f"spanjudge_{uuid4().hex}"
    server = create_engine(postgres, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    yield postgres.update_query_dict({"options": f"-c search_path={name}"})
    with server.connect() as connection:
        connection.execute(text(f"DROP SCHEMA {name} CASCADE"))
    server.dispose()


def _server() -> Server:
    try:
        return Server()
    except NoPostgres as error:
        require("postgres", False, str(error))
        raise
