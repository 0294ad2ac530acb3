"""What the journal has acknowledged is on disk, whatever fails; and behind a failure nothing is written."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from collector.errors import StoreUnavailable
from collector.journal.journal import Journal, JournalSettings
from collector.journal.rows import RowType
from collector.journal.segments import Segments
from tests.collector.journal.rows import row

SETTINGS = JournalSettings(segment_bytes=1024**2, segment_ms=60_000, min_free_bytes=0)


@asynccontextmanager
async def _journal(directory: Path, settings: JournalSettings = SETTINGS, now_ms: int = 0) -> AsyncIterator[Journal]:
    journal = Journal(directory, settings, lambda: now_ms)
    journal.start()
    try:
        yield journal
    finally:
        await journal.stop()


def _on_disk(directory: Path) -> list[int]:
    segments = Segments(directory, SETTINGS.segment_bytes)
    try:
        return [key.row for key, _ in segments.entries((RowType.LINK,))]
    finally:
        segments.close()


async def test_rows_are_on_disk_once_the_future_is_done(tmp_path: Path) -> None:
    async with _journal(tmp_path) as journal:
        await journal.append([row(1), row(2, 1)], 20)
        # Another process reads what this one has committed and not closed.
        code = "import lmdb, sys; print(lmdb.open(sys.argv[1], readonly=True, lock=False).stat()['entries'])"
        seen = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", code, str(tmp_path / f"{1:020d}")],
            capture_output=True,
            text=True,
            check=True,
        )
    assert seen.stdout.strip() == "2"


async def test_rows_survive_stopping_and_starting(tmp_path: Path) -> None:
    async with _journal(tmp_path) as journal:
        await journal.append([row(1)], 9)
    async with _journal(tmp_path) as journal:
        assert journal.last_row() == 1
        await journal.append([row(2, 1)], 9)
        assert [key.row for key, _ in journal.chain(2)] == [1, 2]


async def test_whoever_comes_during_a_commit_shares_the_next_one(tmp_path: Path) -> None:
    commits: list[float] = []
    journal = Journal(tmp_path, SETTINGS, lambda: 0, commits.append)
    journal.start()
    await asyncio.gather(*(journal.append([row(number)], 9) for number in range(1, 201)))
    await journal.stop()
    assert 1 <= len(commits) < 100
    assert journal.pending_bytes == 0
    assert _on_disk(tmp_path) == list(range(1, 201))


async def test_rows_are_acknowledged_though_counting_them_fails(tmp_path: Path) -> None:
    def count(_seconds: float) -> None:
        raise RuntimeError("no counter")

    journal = Journal(tmp_path, SETTINGS, lambda: 0, count)
    journal.start()
    for number in (1, 2):
        await asyncio.wait_for(journal.append([row(number)], 9), 10)
    await journal.stop()
    assert _on_disk(tmp_path) == [1, 2]


@pytest.mark.parametrize("damage", [Path.unlink, partial(os.truncate, length=0)], ids=["deleted", "emptied"])
async def test_a_file_that_lost_all_it_had_is_told_and_the_others_are_read(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    async with _journal(tmp_path, JournalSettings(segment_bytes=1, min_free_bytes=0)) as journal:
        for number in (1, 2):
            await journal.append([row(number)], 1)
        assert journal.segments == 2
    damage(tmp_path / f"{2:020d}" / "data.mdb")
    emptied: list[int] = []
    with capture_logs() as logs:
        journal = Journal(tmp_path, SETTINGS, lambda: 0, on_emptied=emptied.append)
    assert (emptied, [line["event"] for line in logs]) == ([1], ["journal_file_empty"])
    assert [key.row for key, _ in journal.entries()] == [1]
    await journal.stop()
    again = Journal(tmp_path, SETTINGS, lambda: 0, on_emptied=emptied.append)
    await again.stop()
    assert emptied == [1, 0]


async def test_what_waits_is_written_before_stopping(tmp_path: Path) -> None:
    journal = Journal(tmp_path, SETTINGS, lambda: 0)
    journal.start()
    done = [journal.append([row(number)], 9) for number in range(1, 50)]
    await journal.stop()
    await asyncio.gather(*done)
    assert _on_disk(tmp_path) == list(range(1, 50))


async def test_a_sender_that_has_gone_away_keeps_nobody_waiting(tmp_path: Path) -> None:
    async with _journal(tmp_path) as journal:
        journal.append([row(1)], 9).cancel()
        await journal.append([row(2)], 9)
    assert _on_disk(tmp_path) == [1, 2]


async def test_a_full_file_is_followed_by_a_new_one(tmp_path: Path) -> None:
    async with _journal(tmp_path) as journal:
        for number in range(1, 6):
            await journal.append([row(number, number - 1, bytes(700_000))], 700_000)
        assert journal.segments == 3
        assert [key.row for key, _ in journal.chain(5)] == [1, 2, 3, 4, 5]


async def test_an_old_file_is_followed_by_a_new_one(tmp_path: Path) -> None:
    async with _journal(tmp_path) as journal:
        await journal.append([row(1)], 9)
    async with _journal(tmp_path, JournalSettings(segment_ms=0), now_ms=1) as journal:
        await journal.append([row(2, 1)], 9)
        assert journal.segments == 2


async def test_a_commit_too_large_for_what_is_left_of_a_file_goes_to_the_next(tmp_path: Path) -> None:
    async with _journal(tmp_path) as journal:
        await journal.append([row(1, content=bytes(900_000))], 900_000)
        large = bytes(300 * 1024**2)
        await journal.append([row(2, 1, large), row(3, 2, large[: 200 * 1024**2])], 500 * 1024**2)
        assert [key.row for key, _ in journal.chain(3)] == [1, 2, 3]


async def test_files_are_dropped_only_below_what_is_needed(tmp_path: Path) -> None:
    async with _journal(tmp_path) as journal:
        for number in range(1, 6):
            await journal.append([row(number, content=bytes(1_100_000))], 1_100_000)
        journal.drop_before(3)
        await journal.append([row(6)], 9)
        await _until(lambda: journal.segments == 4)
    assert _on_disk(tmp_path) == [3, 4, 5, 6]


async def test_a_failed_commit_fails_everyone_who_waits_and_leaves_no_hole(tmp_path: Path) -> None:
    async with _journal(tmp_path) as journal:
        await journal.append([row(1)], 9)
        # Row 1 again is out of order, as if the disk had refused; the others wait behind it.
        waiting = [journal.append([row(number)], 9) for number in (1, 2, 3)]
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes)
        assert journal.failure is not None
        assert "cannot be written" in journal.failure
        with pytest.raises(StoreUnavailable):
            await journal.append([row(4)], 9)
        assert (journal.last_row(), journal.pending_bytes) == (1, 0)
        journal.restart()
        await journal.append([row(2)], 9)
    assert _on_disk(tmp_path) == [1, 2]


async def test_rows_that_cannot_be_written_at_all_fail_the_commit_and_not_the_writer(tmp_path: Path) -> None:
    async with _journal(tmp_path) as journal:
        key, _ = row(1)
        with pytest.raises(StoreUnavailable, match="cannot be written: TypeError"):
            await journal.append([(key, ("no bytes",))], 9)  # type: ignore[list-item]
        journal.restart()
        await journal.append([row(1)], 9)
    assert _on_disk(tmp_path) == [1]


async def test_a_batch_without_rows_is_on_disk_at_once_and_begins_no_file(tmp_path: Path) -> None:
    async with _journal(tmp_path) as journal:
        await journal.append([], 0)
        assert journal.segments == 0
        await journal.append([row(1)], 9)
    assert _on_disk(tmp_path) == [1]


async def test_a_file_that_cannot_be_removed_stops_nobody(tmp_path: Path) -> None:
    settings = JournalSettings(segment_bytes=1, segment_ms=60_000, min_free_bytes=0)  # a file for each commit
    async with _journal(tmp_path, settings) as journal:
        await journal.append([row(1)], 9)
        await journal.append([row(2)], 9)
        (tmp_path / f"{1:020d}").rename(tmp_path / "elsewhere")
        journal.drop_before(2)
        await journal.append([row(3)], 9)
        await journal.append([row(4)], 9)
        assert (journal.failure, journal.segments) == (None, 3)


async def test_a_directory_that_cannot_be_written_fails_the_commit_and_heals(tmp_path: Path) -> None:
    directory = tmp_path / "journal"
    async with _journal(directory) as journal:
        directory.rename(tmp_path / "elsewhere")
        directory.write_text("in the way")
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            await journal.append([row(1)], 9)
        directory.unlink()
        directory.mkdir()
        journal.restart()
        await journal.append([row(1)], 9)
    assert _on_disk(directory) == [1]


async def test_a_deleted_directory_acknowledges_nothing_and_heals(tmp_path: Path) -> None:
    """Its files take rows all the same: they are in no directory any more, and nobody would find them."""
    directory = tmp_path / "journal"
    async with _journal(directory) as journal:
        await journal.append([row(1)], 9)
        shutil.rmtree(directory)
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            await journal.append([row(2, 1)], 9)
        journal.reopen()
        journal.restart()
        await journal.append([row(3)], 9)
        assert [key.row for key, _ in journal.chain(3)] == [3]
    assert _on_disk(directory) == [3]


async def test_a_directory_in_the_place_of_another_acknowledges_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "journal"
    async with _journal(directory) as journal:
        await journal.append([row(1)], 9)
        shutil.copytree(directory, tmp_path / "copy")
        directory.rename(tmp_path / "elsewhere")
        (tmp_path / "copy").rename(directory)
        with pytest.raises(StoreUnavailable, match="another directory"):
            await journal.append([row(2, 1)], 9)


async def test_a_read_only_directory_acknowledges_nothing_and_heals(tmp_path: Path) -> None:
    """In a process of its own, which is not allowed to write where others may."""
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "tests.collector.journal.read_only", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(ended.stdout) == {"refused": True, "still_refused": True, "after_restart": 2}
    assert _on_disk(tmp_path / "journal") == [1, 2]


async def test_a_disk_that_does_not_answer_does_not_hold_up_the_end(tmp_path: Path) -> None:
    answering = threading.Event()

    def hang(_seconds: float) -> None:
        answering.wait(30)

    journal = Journal(tmp_path, SETTINGS, lambda: 0, hang)
    journal.start()
    waiting = journal.append([row(1)], 9)
    assert not await journal.stop(within_s=0.01)
    assert not waiting.done()
    answering.set()
    await waiting
    assert await journal.stop()


@given(st.lists(st.one_of(st.integers(1, 5), st.just("fail")), max_size=12))
@settings(max_examples=25, deadline=None)
def test_acknowledged_rows_are_the_rows_on_disk(
    tmp_path_factory: pytest.TempPathFactory, batches: list[int | str]
) -> None:
    directory = tmp_path_factory.mktemp("journal")

    async def live() -> list[int]:
        acknowledged: list[int] = []
        async with _journal(directory) as journal:
            for batch in batches:
                first = journal.last_row() + 1
                if isinstance(batch, str):
                    if first == 1:
                        continue
                    with pytest.raises(StoreUnavailable):
                        await journal.append([row(first), row(first - 1)], 9)
                    journal.restart()
                    continue
                numbers = list(range(first, first + batch))
                await journal.append([row(number) for number in numbers], 9)
                acknowledged += numbers
        return acknowledged

    acknowledged = asyncio.run(live())
    assert _on_disk(directory) == acknowledged


async def test_too_little_room_and_too_large_a_journal_are_said(tmp_path: Path) -> None:
    async with _journal(tmp_path, JournalSettings(min_free_bytes=2**62)) as journal:
        assert "free where the journal is" in (journal.room() or "")
        assert journal.room_bytes() < 0
    async with _journal(tmp_path, JournalSettings(min_free_bytes=0, max_bytes=1)) as journal:
        await journal.append([row(1, content=bytes(1_200_000))], 1_200_000)
        assert "has grown to" in (journal.room() or "")
        assert journal.room_bytes() == 1 - journal.size()
    async with _journal(tmp_path) as journal:
        assert journal.room() is None
        assert journal.room_bytes() > 0


def test_a_file_size_limit_fails_the_commit_and_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    """As a full disk does: in a process of its own, which may write no file beyond 3 MB."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.collector.journal.limited_writer", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    report = json.loads(ended.stdout)
    assert 1 <= len(report["acknowledged"]) < 20
    assert report["failed"] == list(range(len(report["acknowledged"]) + 1, 21))
    assert report["after_restart"] == len(report["acknowledged"]) + 1
    assert _on_disk(tmp_path) == [*report["acknowledged"], report["after_restart"]]


async def _until(condition: Callable[[], bool], within_s: float = 10) -> None:
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 - the journal has no event for it
            await asyncio.sleep(0.01)
