"""Connections to a PostgreSQL server, and what its errors mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, select, text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, NotSupportedError, ProgrammingError

from collector.errors import StoreUnavailable
from collector.store.locks import begin_to_write
from collector.store.writer import Fault

_CHANCE = frozenset(("40001", "40P01"))  # serialization failure, deadlock
_EVERYONES = frozenset(("3F000", "42501", "42P01"))  # no such schema, no permission, no such table
_OWN_FAULT = (IntegrityError, DataError, ProgrammingError, NotSupportedError)
_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there are at most to read by, and how long things may take. A connection that does nothing
    within a transaction, as of a process that was frozen, is closed after `statement_s` too: others wait for it."""

    connections: int = 5
    connect_s: float = 5.0
    statement_s: float = 30.0


def reading_engine(url: URL, limits: Limits) -> Engine:
    """Every transaction sees the database as it was at one moment."""
    return _engine(url, limits, limits.connections, "REPEATABLE READ", default_transaction_read_only="on")


def writing_engine(url: URL, limits: Limits) -> Engine:
    """Every statement sees what others have committed so far: it is looked at again after waiting for a lock. A commit
    is on disk, whatever the server's own setting."""
    made = _engine(url, limits, 2, "READ COMMITTED", synchronous_commit="on")
    event.listen(made, "begin", begin_to_write)
    return made


def _engine(url: URL, limits: Limits, connections: int, isolation: Any, **settings: str) -> Engine:
    most_ms = round(limits.statement_s * 1000)
    timeouts = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    settings |= dict.fromkeys(timeouts, str(most_ms))
    given = url.query.get("options", "")
    options = [given if isinstance(given, str) else " ".join(given)]
    options += [f"-c {name}={value}" for name, value in settings.items()]
    arguments = {
        "application_name": "spanjudge",
        "connect_timeout": max(2, round(limits.connect_s)),  # libpq takes 1 for 2
        "options": " ".join(options).strip(),
        # A server that is gone without a word is noticed before the system would, after two hours.
        "tcp_user_timeout": most_ms,
        **_KEEPALIVES,
    }
    return create_engine(
        url,
        connect_args=arguments,
        isolation_level=isolation,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=limits.statement_s,
        pool_pre_ping=True,  # a server that was started again is no error
    )


def require_utf8(name: str, connection: Connection) -> None:
    encoding = connection.scalar(text("SHOW server_encoding"))
    if encoding != "UTF8":
        raise StoreUnavailable(
            f"verdict store {name}: its encoding is {encoding}; make a database with ENCODING 'UTF8'"
        )


def commit_proven(connection: Connection) -> None:
    """With a transaction number the commit is written to disk. A standby gives none."""
    connection.execute(select(func.pg_current_xact_id()))
    if connection.scalar(text("SHOW transaction_read_only")) == "on":
        raise StoreUnavailable("the database takes no changes: it is read-only")


def unavailable(name: str, error: BaseException) -> StoreUnavailable:
    """Says which database, without its password, and the server's own words in one line."""
    if isinstance(error, StoreUnavailable):
        return error
    cause = error.orig if isinstance(error, DBAPIError) else error
    return StoreUnavailable(f"verdict store {name}: {' '.join(str(cause).split()) or type(error).__name__}")


def fault(error: BaseException) -> Fault:
    if not isinstance(error, DBAPIError):
        return "own"
    state = getattr(error.orig, "sqlstate", None)
    if state in _CHANCE:
        return "chance"
    own = isinstance(error, _OWN_FAULT) and state not in _EVERYONES and not error.connection_invalidated
    return "own" if own else "database"
