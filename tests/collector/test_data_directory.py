"""One process keeps its data in a directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collector.data_directory import AlreadyRunning, lock, locked
from collector.errors import StoreUnavailable


def test_a_directory_is_made_and_held_by_one_only(tmp_path: Path) -> None:
    descriptor = lock(tmp_path / "data")
    with pytest.raises(AlreadyRunning, match=r"another SpanJudge uses .*data"):
        lock(tmp_path / "data")
    os.close(descriptor)
    with locked(tmp_path / "data"), pytest.raises(AlreadyRunning):
        lock(tmp_path / "data")
    os.close(lock(tmp_path / "data"))


def test_a_file_in_the_place_of_the_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(StoreUnavailable, match=r"data_dir: .*data cannot be used"):
        lock(tmp_path / "data")
