"""Opening the verdict store of the configuration, beside a running server or without one."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from sqlalchemy import URL, create_engine, update

from collector.commands.stored import open_existing_to_write, open_store, open_to_write
from collector.data_directory import STORE_FILE, locked
from collector.errors import StoreOutdated
from collector.store.schema import schema_version
from collector.store.sqlite import SqliteStore
from tests.fakes.old_stores import make_of_the_first_version
from tests.fakes.verdicts import closed, judged


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


@pytest.mark.integration("postgres")
async def test_a_shared_database_is_opened_whatever_is_in_the_data_directory(tmp_path: Path, database: URL) -> None:
    url = database.render_as_string(hide_password=False)
    file = tmp_path / "spanjudge.yaml"
    file.write_text(f"store:\n  url: {url}\n")
    server = open_to_write(file, None)
    await server.finish(closed(), [judged()], [], [])
    await server.close()
    for opening in (open_store, open_existing_to_write):
        store = opening(file, None)
        assert await store.verdicts(closed().ref) == [judged()]
        await store.close()
    assert not (tmp_path / "data").exists()


@pytest.mark.integration("postgres")
async def test_an_older_database_is_left_to_a_server_to_bring_up_to_date(
    tmp_path: Path, database: URL, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "spanjudge.yaml"
    file.write_text(f"store:\n  url: {database.render_as_string(hide_password=False)}\n")
    await open_to_write(file, None).close()
    engine = create_engine(database)
    with engine.begin() as connection:
        connection.execute(update(schema_version).values(version=1))
    engine.dispose()
    with pytest.raises(typer.Exit):
        open_to_write(file, None)
    assert "start a server with this SpanJudge first" in capsys.readouterr().err


def test_a_database_that_is_away_is_told_without_its_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "spanjudge.yaml"
    file.write_text("store:\n  url: postgresql://me:secret@127.0.0.1:1/verdicts\n")
    for opening in (open_store, open_to_write):
        with pytest.raises(typer.Exit):
            opening(file, None)
        said = capsys.readouterr().err
        assert "127.0.0.1:1/verdicts" in said
        assert "secret" not in said
