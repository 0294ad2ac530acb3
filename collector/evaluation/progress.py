"""What an evaluation process is doing just now, in memory that its parent sees too: it can be told when the process
has died, or does nothing any more, and costs no message."""

from __future__ import annotations

import mmap
import os
import struct
import sys
import tempfile
from dataclasses import dataclass
from typing import IO

_PLACE = struct.Struct("=QQQ")


@dataclass(frozen=True, slots=True)
class Place:
    """`group` by its number, 0 before the first; `at` is the place in it of the task that is worked on, None when it
    is not about one; `keeping` whether that is being written to the store."""

    group: int
    at: int | None
    keeping: bool


class Progress:
    """`descriptor` is of a file that is no larger than this and has no name; the other process is given it."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._file = _nameless() if descriptor is None else open(descriptor, "r+b")  # noqa: SIM115, PTH123
        if descriptor is None:
            self._file.truncate(_PLACE.size)
        self._memory = mmap.mmap(self._file.fileno(), _PLACE.size)

    @property
    def descriptor(self) -> int:
        return self._file.fileno()

    def tell(self, place: Place) -> None:
        at = 0 if place.at is None else place.at + 1
        _PLACE.pack_into(self._memory, 0, place.group, at, place.keeping)

    def look(self) -> Place:
        group, at, keeping = _PLACE.unpack_from(self._memory)
        return Place(group, at - 1 if at else None, bool(keeping))

    def close(self) -> None:
        """Callable twice."""
        self._memory.close()
        self._file.close()


def _nameless() -> IO[bytes]:
    """On Linux it needs no directory to be written, and no room: a page that finds none ends the process by SIGBUS."""
    if sys.platform == "linux":
        return open(os.memfd_create("progress"), "r+b")  # noqa: PTH123
    else:  # noqa: RET505 - mypy looks at one platform at a time
        return tempfile.TemporaryFile()
