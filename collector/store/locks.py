"""What may happen once at a time, where several processes write to one database. SQLite lets one write at a time
anyway: there these locks are nothing."""

from __future__ import annotations

import hashlib
from typing import Literal

from sqlalchemy import BigInteger, BindParameter, Connection, func, literal, select

Purpose = Literal["schema", "spending", "baselines", "session"]


def alone(connection: Connection, purpose: Purpose, of: str = "") -> None:
    """Wait until nobody else does this, and until the end of the transaction be the only one who does."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_key(f"{purpose}\x00{of}"))))


def begin_to_write(connection: Connection) -> None:
    """Say that a transaction writes, for `let_writers_finish`."""
    connection.execute(select(func.pg_advisory_xact_lock_shared(_key("writing"))))


def let_writers_finish(connection: Connection) -> None:
    """Wait for all transactions that write just now. Who begins to write meanwhile waits too, for a moment."""
    connection.execute(select(func.pg_advisory_xact_lock(_key("writing"))))


def _key(name: str) -> BindParameter[int]:
    """The number that an advisory lock goes by."""
    digest = hashlib.sha256(b"spanjudge " + name.encode("utf-8", "surrogatepass")).digest()
    return literal(int.from_bytes(digest[:8], "big", signed=True), BigInteger)
