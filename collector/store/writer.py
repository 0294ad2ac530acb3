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
from typing import Any, Literal, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine

from collector.errors import StoreUnavailable

_Result = TypeVar("_Result")

Fault: TypeAlias = Literal["own", "chance", "database"]
"""Of an error: one change brought it on itself; others were in the way, and it may go well the next time; or it is
everyone's (disk full, connection lost)."""

MAX_GROUP = 256
"""Changes per transaction: enough to share an fsync, few enough that nobody waits long for strangers."""
_TRIES = 5


@dataclass(frozen=True, slots=True)
class _Change:
    apply: Callable[[Connection], Any]
    done: Future[Any]


class GroupWriter:
    """Applies changes in the order they came. `unavailable` makes the error that callers get for a failed commit,
    `fault` says whose fault an error is."""

    def __init__(
        self,
        engine: Engine,
        unavailable: Callable[[BaseException], StoreUnavailable],
        fault: Callable[[BaseException], Fault],
    ) -> None:
        self._engine = engine
        self._unavailable = unavailable
        self._fault = fault
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
        try:
            told = self._once(group)
        except Exception as error:  # noqa: BLE001 - whatever it was, nobody's change was committed
            if self._fault(error) == "chance":
                # One by one they hold little that others wait for.
                for change in group:
                    self._try(change)
                return
            told = [_failed(change, self._unavailable(error)) for change in group]
        for tell in told:
            tell()

    def _try(self, change: _Change) -> None:
        for tries_left in reversed(range(_TRIES)):
            try:
                (tell,) = self._once([change])
            except Exception as error:  # noqa: BLE001 - as above
                if tries_left and self._fault(error) == "chance":
                    continue
                tell = _failed(change, self._unavailable(error))
            tell()
            return

    def _once(self, group: list[_Change]) -> list[Callable[[], None]]:
        """What to tell each caller, now that everything is committed. Raises when nothing is."""
        with self._engine.begin() as connection:
            return [self._apply(connection, change) for change in group]

    def _apply(self, connection: Connection, change: _Change) -> Callable[[], None]:
        """Make one change; what to tell its caller after the commit. Raises when the whole transaction is in doubt."""
        try:
            with connection.begin_nested():
                result = change.apply(connection)
        except Exception as error:
            if connection.invalidated or self._fault(error) != "own":
                raise
            return _failed(change, error)
        return lambda: change.done.set_result(result)


def _failed(change: _Change, error: Exception) -> Callable[[], None]:
    return lambda: change.done.set_exception(error)
