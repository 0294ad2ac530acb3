"""A journal is read by another process than the one that writes it, while it grows and shrinks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collector.errors import StoreUnavailable
from collector.journal.following import FollowedJournal
from collector.journal.segments import ChainTooLarge, MissingRow, Segments
from tests.collector.journal.rows import row

SEGMENT_BYTES = 1024**2


@contextmanager
def _written_elsewhere(directory: Path) -> Iterator[Callable[[str], None]]:
    """Tell the process that owns the directory what to do. LMDB must not open a file twice in one process."""
    command = [sys.executable, "-m", "tests.collector.journal.segment_writer", str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        say, hear = process.stdin, process.stdout

        def tell(line: str) -> None:
            say.write(f"{line}\n")
            say.flush()
            assert hear.readline() == "done\n"

        try:
            yield tell
        finally:
            say.close()


def _rows(journal: FollowedJournal, last_row: int) -> list[int]:
    return [key.row for key, _ in journal.chain(last_row)]


def test_rows_and_segments_that_come_while_it_reads_are_found(tmp_path: Path) -> None:
    with _written_elsewhere(tmp_path) as tell:
        tell("start 1")
        tell("append 1 0")
        journal = FollowedJournal(tmp_path, SEGMENT_BYTES)
        assert _rows(journal, 1) == [1]
        tell("append 2 1")
        assert _rows(journal, 2) == [1, 2]
        tell("start 3")
        tell("append 3 2")
        assert _rows(journal, 3) == [1, 2, 3]
        journal.close()


def test_a_chain_is_bounded_as_its_owner_bounds_it(tmp_path: Path) -> None:
    with _written_elsewhere(tmp_path) as tell:
        tell("start 1")
        tell("append 1 0")
        journal = FollowedJournal(tmp_path, SEGMENT_BYTES)
        with pytest.raises(ChainTooLarge):
            journal.chain(1, 1)
        journal.close()


def test_a_segment_that_was_removed_is_let_go_of(tmp_path: Path) -> None:
    with _written_elsewhere(tmp_path) as tell:
        for line in ("start 1", "append 1 0", "start 2", "append 2 0"):
            tell(line)
        journal = FollowedJournal(tmp_path, SEGMENT_BYTES)
        assert _rows(journal, 2) == [2]
        assert len(journal) == 2
        tell("drop 2")
        journal.refresh()
        assert len(journal) == 1
        assert _rows(journal, 2) == [2]
        with pytest.raises(MissingRow):
            journal.chain(1)
        journal.close()


def test_another_segment_under_the_same_name_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    def write(content: bytes) -> None:
        segments = Segments(tmp_path, SEGMENT_BYTES)
        segments.start(1, now_ms=0)
        segments.append([row(1, content=content)])
        segments.close()

    write(b"before")
    journal = FollowedJournal(tmp_path, SEGMENT_BYTES)
    assert journal.chain(1)[0][1].endswith(b"before")
    (segment,) = tmp_path.iterdir()
    segment.rename(tmp_path / "elsewhere")
    write(b"after")
    journal.refresh()
    assert journal.chain(1)[0][1].endswith(b"after")
    journal.close()


def test_a_journal_that_is_away_may_come_back(tmp_path: Path) -> None:
    directory = tmp_path / "journal"
    journal = FollowedJournal(directory, SEGMENT_BYTES)
    with pytest.raises(StoreUnavailable, match="journal cannot be read"):
        journal.chain(1)
    segments = Segments(directory, SEGMENT_BYTES)
    segments.start(1, now_ms=0)
    segments.append([row(1)])
    segments.close()
    assert _rows(journal, 1) == [1]
    journal.close()
    journal.close()


def test_a_segment_that_cannot_be_opened_just_now_is_no_missing_row(tmp_path: Path) -> None:
    segments = Segments(tmp_path, SEGMENT_BYTES)
    segments.start(1, now_ms=0)
    segments.append([row(1)])
    segments.close()
    (segment,) = tmp_path.iterdir()
    shutil.copytree(segment, tmp_path / "whole")
    (segment / "data.mdb").write_bytes((segment / "data.mdb").read_bytes()[:4096])
    journal = FollowedJournal(tmp_path, SEGMENT_BYTES)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        journal.chain(1)
    shutil.rmtree(segment)
    (tmp_path / "whole").rename(segment)
    assert _rows(journal, 1) == [1]
    journal.close()
