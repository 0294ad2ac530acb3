"""Files that are read again: what of them is read, and how it is seen that they changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collector.watched_file import read_whole, stamp_of


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"four")
    assert read_whole(file, 4) == b"four"


def test_a_larger_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"four!")
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_whole(file, 4)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_whole(tmp_path / "pipe", 4)


def test_a_stamp_differs_when_a_file_of_the_same_size_takes_its_place(tmp_path: Path) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    assert stamp_of(file) is None
    file.write_bytes(b"one")
    other.write_bytes(b"two")
    before = stamp_of(file)
    assert stamp_of(file) == before
    other.rename(file)
    assert stamp_of(file) != before
