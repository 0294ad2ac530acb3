"""The journal as another process reads it while its owner writes: segments come and go by themselves.

LMDB lets any number of processes read what one writes, without waiting for each other. A segment that its owner has
removed is closed here at the next look, or its room on the disk would not come back.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import lmdb
import structlog

from collector.errors import StoreUnavailable
from collector.journal.rows import RowKey
from collector.journal.segments import (
    DATA,
    MOST_READERS,
    UNREADABLE,
    MissingRow,
    Segment,
    chain_in,
    map_size,
    place_of,
    require_whole,
)

log = structlog.get_logger(__name__)

_Place: TypeAlias = tuple[Path, tuple[int, int]]
"""A segment's directory, and its file's device and inode: another one may come under the same name."""


class FollowedJournal:
    """Opens nothing until something is asked for. For one thread at a time."""

    def __init__(self, directory: Path, segment_bytes: int) -> None:
        self._directory = directory
        self._map_size = map_size(segment_bytes)
        self._open: dict[_Place, Segment] = {}
        self._unopened: str | None = None
        """why a segment that is there is not open"""

    def chain(self, last_row: int, most_bytes: int | None = None) -> list[tuple[RowKey, bytes]]:
        """As `Journal.chain`. Raises `MissingRow`, or `StoreUnavailable` where looking again may help."""
        try:
            return self._chain(last_row, most_bytes)
        except MissingRow:
            self.refresh()  # it may be in a segment that was begun since the last look
        try:
            return self._chain(last_row, most_bytes)
        except MissingRow as missing:
            if self._unopened is not None:
                raise StoreUnavailable(self._unopened) from missing
            raise

    def _chain(self, last_row: int, most_bytes: int | None) -> list[tuple[RowKey, bytes]]:
        try:
            segments = sorted(self._open.values(), key=lambda segment: segment.first_row)
            return chain_in(segments, last_row, most_bytes)
        except UNREADABLE as error:
            raise MissingRow(last_row) from error
        except lmdb.Error as error:
            raise StoreUnavailable(f"the journal in {self._directory} cannot be read: {error}") from error

    def refresh(self) -> None:
        """Close what is gone and open what is new. Raises `StoreUnavailable` when the directory cannot be read."""
        try:
            found = self._found()
        except OSError as error:
            raise StoreUnavailable(f"the journal in {self._directory} cannot be read: {error}") from error
        for gone in self._open.keys() - found:
            self._open.pop(gone).close()
        self._unopened = None
        for new in found - self._open.keys():
            try:
                self._open[new] = self._opened(*new)
            except (lmdb.Error, OSError) as error:  # being made or removed just now, or out of files
                self._unopened = f"the journal in {new[0]} cannot be opened: {error}"
                log.info("journal_segment_not_opened", error=self._unopened)

    def _found(self) -> set[_Place]:
        found = set()
        for path in self._directory.iterdir():
            if path.name.isdigit():
                try:
                    found.add((path, place_of(path)))
                except (FileNotFoundError, NotADirectoryError):  # being made or removed just now
                    continue
        return found

    def _opened(self, path: Path, place: tuple[int, int]) -> Segment:
        environment = lmdb.open(
            str(path), map_size=self._map_size, max_readers=MOST_READERS, readonly=True, create=False
        )
        try:
            require_whole(path, environment)
            descriptor = os.open(path / DATA, os.O_RDONLY)
        except OSError:
            environment.close()
            raise
        return Segment(path, environment, int(path.name), opened_ms=0, place=place, descriptor=descriptor)

    def __len__(self) -> int:
        """Segments that are open."""
        return len(self._open)

    def close(self) -> None:
        """Callable twice."""
        for segment in self._open.values():
            segment.close()
        self._open = {}
