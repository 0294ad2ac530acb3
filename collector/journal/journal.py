"""The journal: rows in, durable when the future is done. One thread writes; whoever comes while it commits rides
along in the next commit (group commit), so a hundred senders cost one flush.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import lmdb
import structlog

from collector.errors import StoreUnavailable
from collector.journal.rows import RECOVERED, Row, RowKey, number_of
from collector.journal.segments import Extent, Segments

log = structlog.get_logger(__name__)

STOP_S = 10.0


@dataclass(slots=True)
class _Batch:
    rows: Sequence[Row]
    size: int
    done: asyncio.Future[None]


@dataclass(frozen=True, slots=True)
class JournalSettings:
    """Sizes in bytes, ages in milliseconds. `durable`: rows are on disk, not only with the kernel, when they are taken;
    without it they are lost when the machine goes down, and commits wait for no disk."""

    segment_bytes: int = 1024**3
    segment_ms: int = 900_000
    min_free_bytes: int = 512 * 1024**2
    max_bytes: int = 20 * 1024**3
    durable: bool = True


class Journal:
    """Append from the event loop, read from anywhere.

    After a failed commit every batch that waits fails too, with `StoreUnavailable`, and nothing is taken until
    `restart` is called: row numbers chain, so a hole must not be written over by what came behind it.

    `on_commit` is told, in the writer's thread, how many seconds each commit took, `on_emptied` how many files were
    found with nothing in them when they were opened.
    """

    def __init__(
        self,
        directory: Path,
        settings: JournalSettings,
        now_ms: Callable[[], int],
        on_commit: Callable[[float], None] = lambda _seconds: None,
        on_emptied: Callable[[int], None] = lambda _files: None,
    ) -> None:
        self._directory = directory
        self._settings = settings
        self._now_ms = now_ms
        self._on_commit = on_commit
        self._on_emptied = on_emptied
        self._segments = Segments(directory, settings.segment_bytes, durable=settings.durable)
        self._segments.adopt(now_ms())
        self._tell_of_emptied()
        self._loop = asyncio.get_running_loop()
        self._wake = threading.Condition()
        self._waiting: list[_Batch] = []
        self._stopping = False
        self._drop_before = 0
        self._thread: threading.Thread | None = None
        self.failure: str | None = None
        self.pending_bytes = 0

    def start(self) -> None:
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self._thread.start()

    def append(self, rows: Sequence[Row], size: int) -> asyncio.Future[None]:
        """Queue rows, numbered in order; the future is done when they are on disk. `size` bytes are pending until."""
        done: asyncio.Future[None] = self._loop.create_future()
        if self.failure is not None:
            done.set_exception(StoreUnavailable(self.failure))
            return done
        self.pending_bytes += size
        with self._wake:
            self._waiting.append(_Batch(rows, size, done))
            self._wake.notify()
        return done

    def drop_before(self, row: int) -> None:
        """Let the writer remove segments that hold only rows below this one, when it next has a moment."""
        with self._wake:
            self._drop_before = max(self._drop_before, row)
            self._wake.notify()

    def _write(self) -> None:
        while True:
            with self._wake:
                while not (self._waiting or self._stopping or self._drop_before):
                    self._wake.wait()
                batches, self._waiting = self._waiting, []
                drop_before, self._drop_before = self._drop_before, 0
                if self._stopping and not batches:
                    return
            failure = self.failure
            if batches and failure is None:
                failure = self._commit([row for batch in batches for row in batch.rows])
            if failure is not None:
                # Set here, in the writer's turn, so that nothing can be committed behind the hole.
                self.failure = failure
                with self._wake:
                    batches += self._waiting
                    self._waiting = []
            if batches:
                self._loop.call_soon_threadsafe(self._resolve, batches, failure)
            if drop_before and failure is None:
                self._drop(drop_before)

    def _commit(self, rows: list[Row]) -> str | None:
        """None when the rows are on disk, else what went wrong."""
        if not rows:
            return None
        began = time.perf_counter()
        try:
            now_ms = self._now_ms()
            if self._segments.needs_start(now_ms, self._settings.segment_ms):
                self._segments.start(number_of(rows[0][0]), now_ms)
            try:
                self._segments.append(rows)
            except lmdb.MapFullError:
                self._segments.start(number_of(rows[0][0]), now_ms)
                self._segments.append(rows)
        except (lmdb.Error, OSError) as error:
            return f"the journal in {self._directory} cannot be written: {error}"
        except Exception as error:  # a writer that died of it would leave every sender waiting for ever
            log.exception("journal_commit_failed")
            return f"the journal in {self._directory} cannot be written: {type(error).__name__}: {error}"
        try:
            self._on_commit(time.perf_counter() - began)
        except Exception:  # the rows are on disk, whatever counting them met
            log.exception("journal_commit_not_counted")
        return None

    def _drop(self, row: int) -> None:
        try:
            self._segments.drop_before(row)
        except OSError as error:  # costs room, which is watched, and no telemetry
            log.warning("journal_segment_not_removed", directory=str(self._directory), error=str(error))

    def _resolve(self, batches: list[_Batch], failure: str | None) -> None:
        for batch in batches:
            self.pending_bytes -= batch.size
            if batch.done.done():  # its sender has gone away; the rows are on disk all the same
                continue
            if failure is None:
                batch.done.set_result(None)
            else:
                batch.done.set_exception(StoreUnavailable(failure))
        if failure is not None:
            self._fail_waiting(failure)

    def _fail_waiting(self, failure: str) -> None:
        """Batches that were queued between the failed commit and now."""
        with self._wake:
            late, self._waiting = self._waiting, []
        if late:
            self._resolve(late, failure)

    def reopen(self) -> None:
        """After a failure: open the files anew, before they are read. Raises lmdb.Error or OSError."""
        self._segments.reopen(self._now_ms())
        self._tell_of_emptied()

    def _tell_of_emptied(self) -> None:
        """They can be written, and nothing else would show that rows which were acknowledged are gone."""
        for path in self._segments.emptied:
            log.error("journal_file_empty", file=str(path), lost="what was in it, but for a crash as it was begun")
        self._on_emptied(len(self._segments.emptied))

    def restart(self) -> None:
        """After a failure: take rows again. The caller has read the journal anew by then."""
        self.failure = None

    def room_bytes(self) -> int:
        """What the journal may grow by before `room` says there is none; below zero when it does. Raises OSError."""
        free = shutil.disk_usage(self._directory).free
        return min(free - self._settings.min_free_bytes, self._settings.max_bytes - self._segments.size())

    def room(self) -> str | None:
        """None when there is room on the disk, else what is missing (for people). Raises OSError."""
        free = shutil.disk_usage(self._directory).free
        if free < self._settings.min_free_bytes:
            return f"{free >> 20} MiB free where the journal is, {self._settings.min_free_bytes >> 20} MiB wanted"
        size = self._segments.size()
        if size > self._settings.max_bytes:
            return f"the journal has grown to {size >> 20} MiB, {self._settings.max_bytes >> 20} MiB allowed"
        return None

    def size(self) -> int:
        """Bytes on disk."""
        return self._segments.size()

    def extents(self) -> tuple[Extent, ...]:
        """The files, oldest first."""
        return self._segments.extents()

    def arrived_ms(self, row: int) -> int | None:
        """When the first row from this number on came; None when there is none. Raises `StoreUnavailable`."""
        return self._segments.arrived_ms(row)

    @property
    def segments(self) -> int:
        return len(self._segments)

    def entries(self) -> Iterator[tuple[RowKey, bytes]]:
        """Every row in order, for recovery: values of the types in RECOVERED, b"" for the rest."""
        return self._segments.entries(RECOVERED)

    def last_row(self) -> int:
        return self._segments.last_row()

    def chain(self, last_row: int, most_bytes: int | None = None) -> list[tuple[RowKey, bytes]]:
        return self._segments.chain(last_row, most_bytes)

    def clear_readers(self) -> None:
        """After the death of a process that read the journal: what it still held would keep pages from being used
        again."""
        try:
            self._segments.clear_readers()
        except lmdb.Error as error:
            log.warning("journal_readers_not_cleared", error=str(error))

    async def stop(self, within_s: float = STOP_S) -> bool:
        """Write what waits, then close the files. False when the disk did not answer in time: the files stay open then,
        for closing them under the writer would end the process, and what was not written was not acknowledged."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, within_s)
            if self._thread.is_alive():
                log.error("journal_did_not_stop", directory=str(self._directory), seconds=within_s)
                return False
        self._segments.close()
        return True
