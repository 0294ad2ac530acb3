"""A row's number says in whose journal it stands, in this process and in another."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.errors import StoreUnavailable
from collector.journal.journal import Journal, JournalSettings
from collector.journal.rows import RowKey
from collector.journal.segments import MissingRow
from collector.kafka.places import FollowedPlaces, OpenPlaces, clear, directory_of, first_row, place_of
from collector.sessions.book import Policy, SessionBook
from collector.sessions.keys import Kind, Owner

_SETTINGS = JournalSettings(segment_bytes=1024**2, min_free_bytes=0)


async def _journal(directory: Path, place: int, session: str) -> tuple[Journal, int]:
    """With one row of this session; its number."""
    journal = Journal(directory_of(directory, place), _SETTINGS, lambda: 0)
    journal.start()
    book, _ = SessionBook.read(Policy(), (), first_row(place) - 1, 0)
    slot = book.named(Owner(Kind.SESSION, session), b"", 0)
    book.telemetry(slot, (session.encode(),), len(session), 1, 0, 0)
    await journal.append(*book.take_rows())
    return journal, book.index.last_row[slot]


def _values(chain: list[tuple[RowKey, bytes]]) -> list[bytes]:
    return [value for _, value in chain]


async def test_rows_of_two_places_are_told_apart_by_their_numbers(tmp_path: Path) -> None:
    places, rows = OpenPlaces(), {}
    journals = []
    for place, session in ((1, "one"), (2, "two")):
        journal, row = await _journal(tmp_path, place, session)
        places.add(place, journal)
        journals.append(journal)
        assert place_of(row) == place
        rows[row] = session.encode()
    for row, value in rows.items():
        assert _values(places.chain(row)) == [value]
    for journal in journals:  # LMDB lets a process open a file once
        await journal.stop()
    followed = FollowedPlaces(tmp_path, _SETTINGS.segment_bytes)
    for row, value in rows.items():
        assert _values(followed.chain(row)) == [value]
    followed.close()


async def test_a_place_that_was_given_up_is_away_and_not_damaged(tmp_path: Path) -> None:
    places = OpenPlaces()
    journal, row = await _journal(tmp_path, 1, "one")
    places.add(1, journal)
    places.remove(1)
    await journal.stop()
    with pytest.raises(StoreUnavailable, match="given up"):
        places.chain(row)
    followed = FollowedPlaces(tmp_path, _SETTINGS.segment_bytes)
    assert followed.chain(row)
    with pytest.raises(MissingRow):
        followed.chain(row + 1)
    clear(tmp_path)
    followed.refresh()
    with pytest.raises(StoreUnavailable):
        followed.chain(row)
    followed.close()


def test_clearing_removes_what_an_earlier_process_left(tmp_path: Path) -> None:
    left = tmp_path / "partitions" / "7"
    left.mkdir(parents=True)
    clear(tmp_path / "partitions")
    assert list((tmp_path / "partitions").iterdir()) == []
