"""The directory that one process keeps its data in, and the lock by which a second one learns of the first."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from collector.errors import StoreUnavailable


class AlreadyRunning(Exception):
    """Another process uses this data directory."""


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
        os.close(descriptor)
        raise AlreadyRunning(f"data_dir: another SpanJudge uses {directory}") from error
    return descriptor


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the directory while the block runs. Raises as `lock` does."""
    descriptor = lock(directory)
    try:
        yield
    finally:
        os.close(descriptor)
