"""Opening a SQLite file: how it is connected to, whether it is ours, and what its errors mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, insert, inspect, select, update
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from collector.errors import StoreOutdated, StoreUnavailable
from collector.store.metadata import metadata
from collector.store.migrations import MIGRATIONS
from collector.store.schema import SCHEMA_VERSION, schema_version

_FREED_PAGES = 2_000  # at a time, so that no purge holds up the writer for long
_WAL_LIMIT_BYTES = 64 * 1024 * 1024  # a burst must not leave a huge log file behind


def engine(path: Path, mode: Literal["ro", "rw"], busy_timeout_s: float) -> Engine:
    """Connections to the file. In mode `rw` it is made when missing, and a transaction takes the write lock at once:
    one that began by reading could not wait for it."""

    def connect() -> sqlite3.Connection:
        create = "ro" if mode == "ro" else "rwc"
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={create}",
            uri=True,
            timeout=busy_timeout_s,
            check_same_thread=False,
            isolation_level=None,  # transactions are begun below, not guessed by the driver
        )
        connection.execute("PRAGMA foreign_keys = ON")
        if mode == "ro":
            connection.execute("PRAGMA query_only = ON")
            return connection
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # takes effect in an empty file only
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
        return connection

    made = create_engine("sqlite://", creator=connect, poolclass=QueuePool)

    @event.listens_for(made, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN" if mode == "ro" else "BEGIN IMMEDIATE")

    return made


def create_tables(path: Path, connection: Connection, *, migrate: bool) -> None:
    """Make the tables in an empty file; with `migrate` bring those of an older version up to this one, all in the
    caller's transaction; raise for another version."""
    if inspect(connection).has_table(schema_version.name):
        if migrate:
            _migrate(connection)
        require_version(path, connection)
        return
    metadata.create_all(connection)
    connection.execute(insert(schema_version).values(version=SCHEMA_VERSION))


def _migrate(connection: Connection) -> None:
    version = connection.scalar(select(schema_version.c.version))
    while version is not None and (step := MIGRATIONS.get(version)):
        step(connection)
        version += 1
        connection.execute(update(schema_version).values(version=version))


def require_version(path: Path, connection: Connection) -> None:
    if not inspect(connection).has_table(schema_version.name):
        raise StoreUnavailable(f"{path} is not a verdict store: it has no schema version")
    version = connection.scalar(select(schema_version.c.version))
    if version != SCHEMA_VERSION:
        older = version is not None and version < SCHEMA_VERSION
        writer, kind = ("an older", StoreOutdated) if older else ("a newer", StoreUnavailable)
        raise kind(
            f"the verdict store {path} was written by {writer} SpanJudge (schema {version}; this one reads "
            f"{SCHEMA_VERSION})"
        )


def give_space_back(connection: Connection) -> None:
    """Return some of the pages that deletions left empty to the file system."""
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA freelist_count")
    (empty,) = cursor.fetchone() or (0,)
    for _ in range(min(empty, _FREED_PAGES)):
        # Python runs a statement without columns for one step only, and a step of this one is a page.
        cursor.execute("PRAGMA incremental_vacuum(1)")
    cursor.close()


def unavailable(path: Path, error: BaseException) -> StoreUnavailable:
    """Says which file, and the database's own words."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not path.parent.is_dir():
        return StoreUnavailable(f"verdict store {path}: the directory {path.parent} does not exist")
    return StoreUnavailable(f"verdict store {path}: {cause or type(error).__name__}")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """What the database raises inside becomes `StoreUnavailable`."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise unavailable(path, error) from error
