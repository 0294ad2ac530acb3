"""Opening the verdict store that a configuration names."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from collector.concluding import Concluding
from collector.config import StoreSettings
from collector.store.postgres import PostgresStore
from collector.store.postgres_server import Limits
from collector.store.postgres_url import postgres_url
from collector.store.reading_rows import Damage
from collector.store.sql_store import SqlStore, no_one
from collector.store.sqlite import SqliteStore


def open_store(
    settings: StoreSettings,
    file: Path,
    *,
    read_only: bool = False,
    migrate: bool = True,
    concluding: Concluding | None = None,
    damage: Damage = no_one,
) -> SqlStore:
    """The shared database if the settings name one, else the file. Blocks; raises as `SqliteStore.open` and
    `PostgresStore.open` do."""
    if settings.url is None:
        return SqliteStore.open(file, read_only=read_only, migrate=migrate, concluding=concluding, damage=damage)
    return PostgresStore.open(
        postgres_url(settings.url.get_secret_value()),
        holder=uuid4().hex,
        lease_s=settings.lease_seconds,
        read_only=read_only,
        migrate=migrate,
        limits=Limits(settings.pool_size, settings.connect_timeout_seconds, settings.statement_timeout_seconds),
        concluding=concluding,
        damage=damage,
    )
