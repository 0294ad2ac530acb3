"""Journals of partitions side by side: each has its range of row numbers, so that a number says which one is meant.

Whoever reads a row, in this process or in one that evaluates, need not be told of partitions then. A partition that
comes back gets another place: what is still being read of its former journal stays until that is over.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from collector.errors import StoreUnavailable
from collector.journal.following import FollowedJournal
from collector.journal.rows import RowKey
from collector.journal.segments import MissingRow

PLACES_DIRECTORY = "partitions"
_BITS = 40


class Chained(Protocol):
    """A journal, as far as it is read here."""

    def chain(self, last_row: int, most_bytes: int | None = None) -> list[tuple[RowKey, bytes]]: ...

    def clear_readers(self) -> None: ...


def first_row(place: int) -> int:
    """The number of the first row in a place; places count from 1."""
    return (place << _BITS) + 1


def place_of(row: int) -> int:
    return row >> _BITS


def directory_of(directory: Path, place: int) -> Path:
    return directory / str(place)


def clear(directory: Path) -> None:
    """Remove what an earlier process left: all of it is in Kafka. Raises `StoreUnavailable`."""
    try:
        if directory.exists():
            shutil.rmtree(directory)
        directory.mkdir(parents=True)
    except OSError as error:
        raise StoreUnavailable(f"{directory} cannot be cleared: {error}") from error


class OpenPlaces:
    """The journals that this process writes."""

    def __init__(self) -> None:
        self._journals: dict[int, Chained] = {}

    def add(self, place: int, journal: Chained) -> None:
        self._journals[place] = journal

    def remove(self, place: int) -> None:
        self._journals.pop(place, None)

    def chain(self, last_row: int, most_bytes: int | None = None) -> list[tuple[RowKey, bytes]]:
        """As `Journal.chain`. A place that was given up is away, not damaged: whoever has the partition now reads it
        all again."""
        journal = self._journals.get(place_of(last_row))
        if journal is None:
            raise StoreUnavailable("the partition was given up")
        return journal.chain(last_row, most_bytes)

    def clear_readers(self) -> None:
        """As `Journal.clear_readers`, of all."""
        for journal in list(self._journals.values()):
            journal.clear_readers()


class FollowedPlaces:
    """The same as another process reads them. For one thread at a time."""

    def __init__(self, directory: Path, segment_bytes: int) -> None:
        self._directory = directory
        self._follow: Callable[[Path], FollowedJournal] = lambda path: FollowedJournal(path, segment_bytes)
        self._open: dict[int, FollowedJournal] = {}

    def chain(self, last_row: int, most_bytes: int | None = None) -> list[tuple[RowKey, bytes]]:
        """As `OpenPlaces.chain`."""
        place = place_of(last_row)
        path = directory_of(self._directory, place)
        journal = self._open.get(place)
        if journal is None:
            journal = self._open[place] = self._follow(path)
        try:
            return journal.chain(last_row, most_bytes)
        except MissingRow as missing:
            if not path.exists():
                raise StoreUnavailable("the partition was given up") from missing
            raise

    def refresh(self) -> None:
        """Close what is gone and open what is new. Raises `StoreUnavailable`."""
        for place in list(self._open):
            if directory_of(self._directory, place).exists():
                self._open[place].refresh()
            else:
                self._open.pop(place).close()

    def close(self) -> None:
        """Callable twice."""
        for journal in self._open.values():
            journal.close()
        self._open = {}
