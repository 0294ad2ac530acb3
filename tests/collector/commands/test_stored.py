"""Opening the verdict store of the configuration, beside a running server or without one."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from collector.commands.stored import open_existing_to_write, open_store, open_to_write
from collector.data_directory import STORE_FILE, locked
from collector.errors import StoreOutdated
from collector.store.sqlite import SqliteStore
from tests.fakes.old_stores import make_of_the_first_version


async def made(directory: Path, *, old: bool = False) -> None:
    await SqliteStore.open(directory / STORE_FILE).close()
    if old:
        make_of_the_first_version(directory / STORE_FILE)


async def test_a_store_is_made_to_write_to_and_never_to_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for opening in (open_store, open_existing_to_write):
        with pytest.raises(typer.Exit):
            opening(None, tmp_path)
        assert "there is no verdict store in" in capsys.readouterr().err
    await open_to_write(None, tmp_path / "new").close()
    await open_store(None, tmp_path / "new").close()


async def test_a_running_server_does_not_keep_others_from_writing(tmp_path: Path) -> None:
    await made(tmp_path)
    with locked(tmp_path):
        await open_to_write(None, tmp_path).close()


async def test_an_older_store_is_not_brought_up_to_date_under_a_running_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await made(tmp_path, old=True)
    with locked(tmp_path):
        with pytest.raises(typer.Exit):
            open_to_write(None, tmp_path)
        assert "restart that server with this SpanJudge first" in capsys.readouterr().err
        with pytest.raises(StoreOutdated):
            SqliteStore.open(tmp_path / STORE_FILE, read_only=True)
    await open_to_write(None, tmp_path).close()
    with locked(tmp_path):  # and lets go of the directory
        await open_store(None, tmp_path).close()
