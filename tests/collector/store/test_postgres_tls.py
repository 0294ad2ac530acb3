"""A PostgreSQL behind certificates: what stands in the URL is what holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import create_engine, text

from collector.config import StoreSettings
from collector.errors import StoreUnavailable
from collector.store.opening import open_store
from collector.store.postgres_url import postgres_url
from tests.certificates import Authority
from tests.postgres.server import Server

pytestmark = pytest.mark.integration("postgres")


async def _open(server: Server, parameters: Mapping[str, str]) -> str | None:
    """What is wrong with the store, once it is open. Raises `StoreUnavailable` where it cannot be opened."""
    url = f"postgresql://tests:open-sesame@127.0.0.1:{server.port}/postgres"
    given = url + "?" + "&".join(f"{name}={value}" for name, value in parameters.items())
    store = open_store(StoreSettings(url=SecretStr(given), connect_timeout_seconds=5), Path("unused"))
    try:
        with create_engine(postgres_url(given)).connect() as connection:
            assert connection.scalar(text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))
        return await store.problem()
    finally:
        await store.close()


async def test_certificates_of_both_sides_are_asked_for_and_checked(own_postgres: Server, tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path / "right"), Authority(tmp_path / "wrong", "another")
    ours, theirs = authority.issue("tests"), stranger.issue("tests")
    for pair in (ours, theirs):
        pair.key.chmod(0o600)  # libpq uses no key that others may read
    own_postgres.stop()
    own_postgres.secure(authority.issue("database"), authority.certificate)
    own_postgres.start()
    trust = {"sslmode": "verify-full", "sslrootcert": str(authority.certificate)}
    shown = {"sslcert": str(ours.certificate), "sslkey": str(ours.key)}
    assert await _open(own_postgres, {**trust, **shown}) is None
    wrong = {
        "certificate verify failed": {**trust, **shown, "sslrootcert": str(stranger.certificate)},
        "connection requires a valid client certificate": trust,
        "unknown ca": {**trust, "sslcert": str(theirs.certificate), "sslkey": str(theirs.key)},
        "no encryption": {"sslmode": "disable"},
    }
    for told, parameters in wrong.items():
        with pytest.raises(StoreUnavailable) as caught:
            await _open(own_postgres, parameters)
        assert told in str(caught.value)
        assert "open-sesame" not in str(caught.value)
