"""Files that the configuration names and that are read again while we run: whole, and never waited for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TypeAlias

Stamp: TypeAlias = tuple[int, ...] | None
"""Differs when a file was written, replaced or moved; None where there is none to look at."""


def stamp_of(path: Path) -> Stamp:
    """Blocking, and cheap: asked by every request."""
    try:
        found = os.stat(path)  # noqa: PTH116 - quicker
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_dev, found.st_size, found.st_ctime_ns


def read_whole(path: Path, most_bytes: int) -> bytes:
    """Blocking. Raises OSError, with a `strerror` for people, also for what is no regular file (whoever opens a pipe
    waits for its other end) and for what is larger."""
    with open(path, "rb", opener=_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        read = file.read(most_bytes + 1)
    if len(read) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes} bytes")
    return read


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
