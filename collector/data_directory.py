"""The directory that one process keeps its data in, and the lock by which a second one learns of the first."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from collector.errors import StoreUnavailable

log = structlog.get_logger(__name__)

STORE_FILE = "verdicts.sqlite3"
JOURNAL_DIRECTORY = "journal"


class AlreadyRunning(Exception):
    """Another process uses this data directory."""


class StillEnding(AlreadyRunning):
    """The process that used it is gone, and one that it started is not, yet."""


def lock(directory: Path) -> int:
    """Hold the data directory for this process alone; released when the process ends, however it ends, or when the
    descriptor that is returned is closed. The directory is made when it is missing.

    Raises `AlreadyRunning`, or `StoreUnavailable` for a directory that cannot be used.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreUnavailable(f"data_dir: {directory} cannot be used: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        alive = _is_alive(_owner(descriptor))
        os.close(descriptor)
        if alive:
            raise AlreadyRunning(f"data_dir: another SpanJudge uses {directory}") from error
        raise StillEnding(f"data_dir: a process that an earlier SpanJudge started still uses {directory}") from error
    _sign(descriptor)
    return descriptor


def _sign(descriptor: int) -> None:
    """Write down who has the lock."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    except OSError as error:  # a full disk, say, which others watch: the next start will not know whom to wait for
        log.warning("lock_not_signed", error=str(error))


def _owner(descriptor: int) -> int | None:
    """The process that took the lock last; None when that is not known, as of a lock just taken."""
    text = os.pread(descriptor, 20, 0)
    return int(text) if text.isdigit() else None


def _is_alive(process: int | None) -> bool:
    if process is None:
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the directory while the block runs. Raises as `lock` does."""
    descriptor = lock(directory)
    try:
        yield
    finally:
        os.close(descriptor)
