"""One process keeps its data in a directory."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from collector.data_directory import AlreadyRunning, StillEnding, lock, locked
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


HOLDS_ON = """
import os, subprocess, sys
from pathlib import Path
from collector.data_directory import lock
descriptor = lock(Path(sys.argv[1]))
child = subprocess.Popen([sys.executable, "-c", "input()"], pass_fds=[descriptor])
print(child.pid, flush=True)
os._exit(0)
"""


def test_a_process_that_outlives_the_one_that_started_it_is_waited_for(tmp_path: Path) -> None:
    """It has inherited the lock, and ends with its standard input."""
    command = [sys.executable, "-c", HOLDS_ON, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        child = int(process.stdout.readline())
        process.wait()
        with pytest.raises(StillEnding, match="an earlier SpanJudge started"):
            lock(tmp_path)
        descriptor = os.pidfd_open(child)
        process.stdin.close()
        select.select([descriptor], [], [], 20)
        os.close(descriptor)
        os.close(lock(tmp_path))
