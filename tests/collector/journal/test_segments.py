"""The journal's files: what is committed is there after reopening, and files go only when nobody needs them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import lmdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.errors import StoreUnavailable
from collector.journal.rows import NO_ROW, RowType
from collector.journal.segments import MOST_READERS, ChainTooLarge, MissingRow, Segments
from tests.collector.journal.rows import row

SEGMENT_BYTES = 1024**2


def _numbers(segments: Segments) -> list[int]:
    return [key.row for key, _ in segments.entries((RowType.TELEMETRY,))]


def _three_files(directory: Path) -> Segments:
    """Rows 1 to 6 of one session, two in each of three files."""
    segments = Segments(directory, SEGMENT_BYTES)
    for first in (1, 3, 5):
        segments.start(first, now_ms=0)
        segments.append([row(first, first - 1), row(first + 1, first)])
    return segments


def test_an_empty_journal_begins_with_row_one(tmp_path: Path) -> None:
    segments = Segments(tmp_path / "journal", SEGMENT_BYTES)
    assert segments.needs_start(0, 1000)
    assert (segments.last_row(), _numbers(segments)) == (0, [])


def test_rows_are_there_after_reopening(tmp_path: Path) -> None:
    _three_files(tmp_path).close()
    segments = Segments(tmp_path, SEGMENT_BYTES)
    assert (segments.last_row(), _numbers(segments)) == (6, [1, 2, 3, 4, 5, 6])
    assert [key.row for key, _ in segments.chain(6)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("durable", [True, False])
def test_only_a_journal_that_need_not_be_durable_goes_on_before_the_disk_has_its_rows(
    tmp_path: Path, durable: bool
) -> None:
    segments = Segments(tmp_path, SEGMENT_BYTES, durable=durable)
    segments.start(1, 0)
    segments.append([row(1), row(2, 1)])
    (segment,) = segments._segments
    flags = segment.environment.flags()
    assert (flags["sync"], flags["metasync"]) == (durable, durable)
    assert [key.row for key, _ in segments.chain(2)] == [1, 2]


def test_a_chain_is_one_owners_rows_only(tmp_path: Path) -> None:
    segments = Segments(tmp_path, SEGMENT_BYTES)
    segments.start(1, 0)
    segments.append([row(1, content=b"a"), row(2, content=b"b", session="bob"), row(3, 1, content=b"c")])
    assert [(key.row, value[-1:]) for key, value in segments.chain(3)] == [(1, b"a"), (3, b"c")]
    assert [key.row for key, _ in segments.chain(2)] == [2]


def test_a_chain_with_more_bytes_than_are_wanted_is_not_read_and_what_it_is_told(tmp_path: Path) -> None:
    segments = _three_files(tmp_path)
    size = sum(key.size for key, _ in segments.chain(6))
    assert len(segments.chain(6, size)) == 6
    with pytest.raises(ChainTooLarge, match=f"6 rows of {size} bytes") as told:
        segments.chain(6, size - 1)
    assert [key.row for key in told.value.keys] == [6, 5, 4, 3, 2, 1]


def test_values_are_read_for_wanted_types_only(tmp_path: Path) -> None:
    segments = _three_files(tmp_path)
    assert {value for _, value in segments.entries((RowType.CLOSED,))} == {b""}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere LMDB has its locks in memory")
def test_the_locks_of_a_file_have_their_room_on_the_disk_and_are_no_larger_than_lmdb_makes_them(tmp_path: Path) -> None:
    ours, lmdbs = tmp_path / "ours", tmp_path / "lmdbs"
    segments = Segments(ours, 2**20)
    segments.start(1, 0)
    lmdb.open(str(lmdbs), max_readers=MOST_READERS).close()
    (found,) = ours.glob("*/lock.mdb")
    assert found.stat().st_size == (lmdbs / "lock.mdb").stat().st_size
    assert found.stat().st_blocks * 512 >= found.stat().st_size
    segments.close()


def test_a_missing_row_is_named(tmp_path: Path) -> None:
    segments = _three_files(tmp_path)
    segments.append([row(9, 8)])
    with pytest.raises(MissingRow, match="8"):
        segments.chain(9)
    segments.drop_before(3)
    with pytest.raises(MissingRow, match="2"):
        segments.chain(6)


def test_a_file_goes_when_no_row_in_it_is_needed(tmp_path: Path) -> None:
    segments = _three_files(tmp_path)
    assert segments.drop_before(2) == 0
    assert segments.drop_before(3) == 1
    assert _numbers(segments) == [3, 4, 5, 6]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{first:020d}" for first in (3, 5)]


def test_the_newest_file_always_stays(tmp_path: Path) -> None:
    segments = _three_files(tmp_path)
    assert segments.drop_before(1000) == 2
    assert segments.last_row() == 6


def test_numbers_go_on_where_the_last_file_is_still_empty(tmp_path: Path) -> None:
    segments = Segments(tmp_path, SEGMENT_BYTES)
    segments.start(41, 0)
    assert segments.last_row() == 40


def test_a_batch_that_does_not_fit_writes_nothing(tmp_path: Path) -> None:
    segments = Segments(tmp_path, SEGMENT_BYTES)
    segments.start(1, 0)
    segments.append([row(1)])
    large = bytes(400 * 1024**2)
    with pytest.raises(lmdb.MapFullError):
        segments.append([row(2, 1, large), row(3, 2, large)])
    assert _numbers(segments) == [1]
    segments.append([row(2, 1)])
    assert _numbers(segments) == [1, 2]


def test_a_row_out_of_order_is_an_error_and_not_a_loss(tmp_path: Path) -> None:
    segments = Segments(tmp_path, SEGMENT_BYTES)
    segments.start(1, 0)
    segments.append([row(5)])
    with pytest.raises(lmdb.Error):
        segments.append([row(6), row(4)])
    assert _numbers(segments) == [5]


def test_a_new_file_is_due_by_size_and_by_age(tmp_path: Path) -> None:
    segments = Segments(tmp_path, SEGMENT_BYTES)
    segments.start(1, now_ms=0)
    assert not segments.needs_start(5000, 1000)  # nothing in it yet
    segments.append([row(1)])
    assert not segments.needs_start(999, 1000)
    assert segments.needs_start(1000, 1000)
    segments.append([row(2, 1, bytes(SEGMENT_BYTES))])
    assert segments.needs_start(0, 1000)


def test_taking_stock_after_reopening_counts_what_is_there(tmp_path: Path) -> None:
    segments = Segments(tmp_path, SEGMENT_BYTES)
    segments.start(1, 0)
    segments.append([row(1, NO_ROW, bytes(SEGMENT_BYTES))])
    segments.close()
    segments = Segments(tmp_path, SEGMENT_BYTES)
    segments.adopt(now_ms=7000)
    assert segments.needs_start(7000, 1000)


def test_an_empty_directory_where_a_disk_was_mounted_is_no_journal(tmp_path: Path) -> None:
    segments = _three_files(tmp_path / "journal")
    (tmp_path / "journal").rename(tmp_path / "elsewhere")
    (tmp_path / "journal").mkdir()
    for _ in range(2):
        with pytest.raises(OSError, match="not deleted"):
            segments.reopen(now_ms=0)
    (tmp_path / "journal").rmdir()
    (tmp_path / "elsewhere").rename(tmp_path / "journal")
    segments.reopen(now_ms=0)
    assert _numbers(segments) == [1, 2, 3, 4, 5, 6]


def test_reopening_that_failed_is_tried_again_and_loses_nothing(tmp_path: Path) -> None:
    segments = _three_files(tmp_path / "journal")
    (tmp_path / "journal").rename(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="journal"):
        segments.reopen(now_ms=0)
    with pytest.raises(StoreUnavailable, match="closed"):
        segments.chain(6)
    (tmp_path / "elsewhere").rename(tmp_path / "journal")
    segments.reopen(now_ms=0)
    assert (segments.last_row(), [key.row for key, _ in segments.chain(6)]) == (6, [1, 2, 3, 4, 5, 6])


def test_after_a_damaged_file_was_mended_all_files_can_be_opened_again(tmp_path: Path) -> None:
    segments = _three_files(tmp_path)
    newest = tmp_path / f"{5:020d}" / "data.mdb"
    segments.close()
    content = newest.read_bytes()
    newest.write_bytes(b"no database" * 1000)
    with pytest.raises(OSError, match="MDB_INVALID"):
        segments.reopen(now_ms=0)
    newest.write_bytes(content)
    segments.reopen(now_ms=0)
    assert _numbers(segments) == [1, 2, 3, 4, 5, 6]


def test_rows_can_be_read_while_files_are_reopened_in_another_thread(tmp_path: Path) -> None:
    segments = _three_files(tmp_path)
    reopened = threading.Event()

    def read() -> set[tuple[int, ...]]:
        chains = set()
        while not reopened.is_set():
            chains.add(tuple(key.row for key, _ in segments.chain(6)))
        return chains

    with ThreadPoolExecutor(2) as readers:
        reading = [readers.submit(read) for _ in range(2)]
        for _ in range(50):
            segments.reopen(now_ms=0)
        reopened.set()
    assert [chains.result() for chains in reading] == [{(1, 2, 3, 4, 5, 6)}] * 2


def test_size_goes_on_while_a_file_is_being_removed(tmp_path: Path) -> None:
    segments = _three_files(tmp_path)
    before = segments.size()
    (tmp_path / f"{1:020d}" / "data.mdb").unlink()
    assert 0 < segments.size() < before


def test_a_directory_that_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a file")
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        Segments(tmp_path / "journal", SEGMENT_BYTES)


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    directory = tmp_path / f"{1:020d}"
    directory.mkdir()
    (directory / "data.mdb").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        Segments(tmp_path, SEGMENT_BYTES)


def test_other_files_in_the_directory_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    assert Segments(tmp_path, SEGMENT_BYTES).last_row() == 0


def _data(directory: Path) -> Path:
    return directory / f"{1:020d}" / "data.mdb"


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
def test_a_file_that_was_cut_short_is_told_before_it_is_read(tmp_path: Path, share: float) -> None:
    segments = Segments(tmp_path, SEGMENT_BYTES)
    segments.start(1, 0)
    segments.append([row(number, number - 1, content=b"x" * 5000) for number in range(1, 50)])
    segments.close()
    size = _data(tmp_path).stat().st_size
    os.truncate(_data(tmp_path), int(size * share))
    with pytest.raises(StoreUnavailable, match=r"cut short.*move .* away"):
        Segments(tmp_path, SEGMENT_BYTES)


@given(sizes=st.lists(st.integers(0, 20_000), min_size=1, max_size=20))
@settings(max_examples=20, deadline=None)
def test_a_whole_file_is_never_taken_for_one_cut_short(sizes: list[int]) -> None:
    with TemporaryDirectory() as directory:
        segments = Segments(Path(directory), SEGMENT_BYTES)
        segments.start(1, 0)
        for number, size in enumerate(sizes, start=1):
            segments.append([row(number, number - 1, content=b"x" * size)])
        segments.close()
        assert Segments(Path(directory), SEGMENT_BYTES).last_row() == len(sizes)


def _harm_pages(directory: Path) -> None:
    with _data(directory).open("r+b") as file:
        file.seek(2 * 4096)
        file.write(b"\xff" * (_data(directory).stat().st_size - 2 * 4096))


def _add_row_of_later_version(directory: Path) -> None:
    with lmdb.open(str(directory / f"{1:020d}"), map_size=SEGMENT_BYTES * 10) as later, later.begin(write=True) as put:
        put.put((100).to_bytes(8, "big") + bytes(60), b"")


@pytest.mark.parametrize("harm", [_harm_pages, _add_row_of_later_version])
def test_a_journal_that_cannot_be_read_says_so_and_what_to_do(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    _three_files(tmp_path).close()
    harm(tmp_path)
    segments = Segments(tmp_path, SEGMENT_BYTES)
    with pytest.raises(StoreUnavailable, match=r"damaged or of a later version.*move .* away"):
        list(segments.entries((RowType.TELEMETRY,)))


def test_a_file_that_is_no_journal_says_so_and_what_to_do(tmp_path: Path) -> None:
    _three_files(tmp_path).close()
    with _data(tmp_path).open("r+b") as file:
        file.write(b"\xff" * 2 * 4096)
    with pytest.raises(StoreUnavailable, match=r"MDB_INVALID.*move .* away"):
        Segments(tmp_path, SEGMENT_BYTES)


def test_a_damaged_page_is_a_missing_row_for_its_session_and_nothing_to_wait_for(tmp_path: Path) -> None:
    _three_files(tmp_path).close()
    _harm_pages(tmp_path)
    with pytest.raises(MissingRow):
        Segments(tmp_path, SEGMENT_BYTES).chain(6)
