"""One thread that does all writing and makes many small changes durable with one commit.

An fsync costs milliseconds whether it covers one session or a hundred. Callers hand in their change and wait; the
thread takes everything that waits, applies each change inside its own savepoint, and commits once.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InterfaceError, NotSupportedError, ProgrammingError

from collector.errors import StoreUnavailable

_Result = TypeVar("_Result")

_OWN_FAULT = (IntegrityError, DataError, ProgrammingError, InterfaceError, NotSupportedError)
"""Errors of the database that one change brought on itself; all others (disk full, locked) are everyone's."""

MAX_GROUP = 256
"""Changes per transaction: enough to share an fsync, few enough that nobody waits long for strangers."""


@dataclass(frozen=True, slots=True)
class _Change:
    apply: Callable[[Connection], Any]
    done: Future[Any]


class GroupWriter:
    """Applies changes in the order they came. `unavailable` makes the error that callers get for a failed commit."""

    def __init__(self, engine: Engine, unavailable: Callable[[BaseException], StoreUnavailable]) -> None:
        self._engine = engine
        self._unavailable = unavailable
        self._changes: queue.SimpleQueue[_Change | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        # A daemon: a process that exits without `close` loses only changes nobody was told are durable.
        self._thread = threading.Thread(target=self._run, name="verdict-store-writer", daemon=True)
        self._thread.start()

    async def write(self, apply: Callable[[Connection], _Result]) -> _Result:
        """The result of `apply` once its effect is on disk. Raises `StoreUnavailable` when it could not be made
        durable, and whatever `apply` raises; in both cases nothing of it was written."""
        done: Future[_Result] = Future()
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the verdict store is closed")
            self._changes.put(_Change(apply, done))
        return await asyncio.wrap_future(done)

    async def close(self) -> None:
        """Finish what was handed in, then stop. Callable twice."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._changes.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while (group := self._next_group()) is not None:
            if group:
                self._commit(group)

    def _next_group(self) -> list[_Change] | None:
        """Everything that waits, at least one; None when closed and empty."""
        waiting = [self._changes.get()]
        while len(waiting) < MAX_GROUP and waiting[-1] is not None:
            try:
                waiting.append(self._changes.get_nowait())
            except queue.Empty:
                break
        group = [change for change in waiting if change is not None]
        if waiting[-1] is None:
            if not group:
                return None
            self._changes.put(None)  # the end comes round again, after this last group
        # A caller that was cancelled while it waited is not told anything, so its change is not made.
        return [change for change in group if change.done.set_running_or_notify_cancel()]

    def _commit(self, group: list[_Change]) -> None:
        settled: list[Callable[[], None]] = []
        try:
            with self._engine.begin() as connection:
                for change in group:
                    settled.append(_apply(connection, change))  # noqa: PERF401 - an error must leave the list as it is
        except Exception as error:  # noqa: BLE001 - whatever it was, nobody's change was committed
            for change in group:
                change.done.set_exception(self._unavailable(error))
        else:
            for settle in settled:
                settle()


def _apply(connection: Connection, change: _Change) -> Callable[[], None]:
    """Make one change; what to tell its caller after the commit. Raises when the whole transaction is in doubt."""
    try:
        with connection.begin_nested():
            result = change.apply(connection)
    except Exception as error:
        if isinstance(error, DBAPIError) and not isinstance(error, _OWN_FAULT):
            raise
        failure = error
        return lambda: change.done.set_exception(failure)
    return lambda: change.done.set_result(result)
