"""What differs between the databases that a verdict store can be in."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from collector.errors import StoreUnavailable
from collector.store.leases import Leases
from collector.store.retention import StoreSize
from collector.store.writer import Fault


def nothing(_connection: Connection) -> None:
    """For what a database needs no help with."""


def nothing_to_give(_connection: Connection) -> bool:
    """For a database that fills again what deletions leave empty."""
    return False


@dataclass(frozen=True, slots=True)
class Database:
    """`name` is for messages. `writing` is None where it was opened for reading only.

    `unavailable` makes the error that callers get, `fault` says whose fault an error of the database was, `prove` makes
    the commit that follows write to disk, and raises where it cannot, `size` measures it. `tidy` returns some of what
    a deletion left empty to the file system, and says whether there may be more. `leases` share out the work where
    several processes use it at once. After `let_others_finish` all changes are visible that were begun before.
    """

    name: str
    reading: Engine
    writing: Engine | None
    unavailable: Callable[[BaseException], StoreUnavailable]
    fault: Callable[[BaseException], Fault]
    prove: Callable[[Connection], None]
    size: Callable[[Connection], StoreSize]
    tidy: Callable[[Connection], bool] = nothing_to_give
    let_others_finish: Callable[[Connection], None] = nothing
    leases: Leases | None = None

    @contextmanager
    def translated(self) -> Iterator[None]:
        """What the database raises inside becomes `StoreUnavailable`."""
        with translated(self.unavailable):
            yield


@contextmanager
def translated(unavailable: Callable[[BaseException], StoreUnavailable]) -> Iterator[None]:
    """What the database raises inside becomes `StoreUnavailable`."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:  # which opening a connection lets through
        raise unavailable(error) from error
