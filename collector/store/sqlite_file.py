"""Opening a SQLite file: how it is connected to and what its errors mean."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, update
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InterfaceError, NotSupportedError, ProgrammingError

from collector.errors import StoreUnavailable
from collector.store.retention import StoreSize
from collector.store.schema import schema_version
from collector.store.writer import Fault

_OWN_FAULT = (IntegrityError, DataError, ProgrammingError, InterfaceError, NotSupportedError)
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


def commit_proven(connection: Connection) -> None:
    """Write to the file what it holds already: the version, as it is, since another SpanJudge may have brought it
    further than ours."""
    connection.execute(update(schema_version).values(version=schema_version.c.version))


def size(path: Path, connection: Connection) -> StoreSize:
    """The file as it is for this connection, and the log of changes beside it."""
    pages, empty, page = (_pragma(connection, name) for name in ("page_count", "freelist_count", "page_size"))
    log = path.with_name(f"{path.name}-wal")
    return StoreSize(pages * page + (log.stat().st_size if log.exists() else 0), (pages - empty) * page)


def give_space_back(connection: Connection) -> bool:
    """Return some of the pages that deletions left empty to the file system; whether there may be more of them."""
    empty = _pragma(connection, "freelist_count")
    cursor = connection.connection.cursor()
    for _ in range(min(empty, _FREED_PAGES)):
        # Python runs a statement without columns for one step only, and a step of this one is a page.
        cursor.execute("PRAGMA incremental_vacuum(1)")
    cursor.close()
    return 0 < _pragma(connection, "freelist_count") < empty  # none goes in a file that was made without


def _pragma(connection: Connection, name: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())


def unavailable(path: Path, error: BaseException) -> StoreUnavailable:
    """Says which file, and the database's own words."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not path.parent.is_dir():
        return StoreUnavailable(f"verdict store {path}: the directory {path.parent} does not exist")
    return StoreUnavailable(f"verdict store {path}: {cause or type(error).__name__}")


def fault(error: BaseException) -> Fault:
    own = not isinstance(error, DBAPIError) or isinstance(error, _OWN_FAULT)
    return "own" if own else "database"
