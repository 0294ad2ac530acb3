"""Finding a session in the verdict store, which a running server may be writing."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from collector.commands.files import config_of, fail
from collector.commands.terminal import safe, short
from collector.config import Config
from collector.data_directory import STORE_FILE, AlreadyRunning, locked
from collector.errors import StoreOutdated, StoreUnavailable
from collector.store import opening
from collector.store.sql_store import SqlStore
from collector.store.store import ClosedSession, SessionFilter, SessionSummary, Store

_T = TypeVar("_T")
_NEAR = 5
_SEARCHED = 500


@dataclass(frozen=True, slots=True)
class Chosen:
    """One closing of one session, and the numbers of all its closings, newest first."""

    session: ClosedSession
    revisions: tuple[int, ...]


def open_store(config_file: Path | None, data_dir: Path | None) -> SqlStore:
    """The store of the configuration, to read. Exits with 1 and what to do when there is none."""
    config = config_of(config_file, data_dir)
    _require(config)
    try:
        return opening.open_store(config.store, config.data_dir / STORE_FILE, read_only=True)
    except StoreUnavailable as error:
        raise fail(str(error)) from error


def _is_there(config: Config) -> bool:
    """A database is taken to be there: what it is not shows when it is opened."""
    return config.store.url is not None or (config.data_dir / STORE_FILE).is_file()


def _require(config: Config) -> None:
    if not _is_there(config):
        raise fail(
            f"there is no verdict store in {config.data_dir}; name the server's configuration with -c, or its data "
            "directory with --data-dir"
        )


def open_to_write(config_file: Path | None, data_dir: Path | None) -> SqlStore:
    """The store of the configuration, beside a running server too: SQLite lets one write after the other. It is made
    where there is none. One of an older version is brought up to date only while no server uses it.

    Exits with 1 and what to do when it is not to be had.
    """
    return _to_write(config_of(config_file, data_dir))


def open_existing_to_write(config_file: Path | None, data_dir: Path | None) -> SqlStore:
    """As `open_to_write`, but a store that there is not is not made. Exits with 1 then."""
    config = config_of(config_file, data_dir)
    _require(config)
    return _to_write(config)


def open_if_there(config: Config) -> SqlStore | None:
    """As `open_to_write`, but None where there is no store."""
    return _to_write(config) if _is_there(config) else None


def _to_write(config: Config) -> SqlStore:
    directory = config.data_dir
    path = directory / STORE_FILE
    try:
        if config.store.url is None:
            directory.mkdir(parents=True, exist_ok=True)
        return opening.open_store(config.store, path, migrate=False)
    except StoreOutdated as outdated:
        if config.store.url is not None:
            raise fail(f"{outdated}: start a server with this SpanJudge first, which brings it up to date") from None
        try:
            with locked(directory):
                return opening.open_store(config.store, path)
        except AlreadyRunning:
            raise fail(f"{outdated}: a server uses it, so restart that server with this SpanJudge first") from None
        except StoreUnavailable as error:
            raise fail(str(error)) from error
    except (StoreUnavailable, OSError) as error:
        raise fail(str(error)) from error


def run_with(store: SqlStore | None, work: Callable[[], Awaitable[_T]]) -> _T:
    """Do the work and close the store, if there is one. Exits with 1 when the store is not to be had."""

    async def run() -> _T:
        try:
            return await work()
        except StoreUnavailable as error:
            raise fail(str(error)) from error
        finally:
            if store is not None:
                await store.close()

    return asyncio.run(run())


async def choose(store: Store, wanted: str, tenant: str | None, revision: int | None) -> Chosen:
    """The session with this id, or the only one whose id begins with it; its newest closing unless `revision` is
    given. Exits with 1, naming near matches, when there is none or more than one."""
    closings = await store.session(wanted, tenant)
    if not closings:
        closings = await _by_prefix(store, wanted, tenant)
    tenants = sorted({closing.ref.tenant for closing in closings})
    if len(tenants) > 1:
        raise fail(f"session {safe(wanted)} exists for several tenants: choose with --tenant {_listed(tenants)}")
    revisions = tuple(closing.ref.revision for closing in closings)
    if revision is None:
        return Chosen(closings[0], revisions)
    for closing in closings:
        if closing.ref.revision == revision:
            return Chosen(closing, revisions)
    raise fail(f"session {safe(wanted)} has no revision {revision}; it has {_listed([str(one) for one in revisions])}")


async def _by_prefix(store: Store, wanted: str, tenant: str | None) -> list[ClosedSession]:
    known = [one for one in await store.sessions(SessionFilter(text=wanted, limit=_SEARCHED)) if _is_of(one, tenant)]
    ids = list(dict.fromkeys(one.ref.session_id for one in known if one.ref.session_id.startswith(wanted)))
    if len(ids) == 1:
        return await store.session(ids[0], tenant)
    if ids:
        raise fail(f"{safe(wanted)} begins the ids of {len(ids)} sessions: {_listed(ids)}")
    newest = [one for one in await store.sessions(SessionFilter(limit=_SEARCHED)) if _is_of(one, tenant)]
    everyone = list(dict.fromkeys(one.ref.session_id for one in (*known, *newest)))
    near = list(dict.fromkeys([one.ref.session_id for one in known]))
    near += [one for one in difflib.get_close_matches(wanted, everyone, n=_NEAR, cutoff=0.5) if one not in near]
    hint = f"did you mean {_listed(near[:_NEAR])}?" if near else "spanjudge sessions lists what there is"
    raise fail(f"no session {safe(wanted)} in the store; {hint}")


def _is_of(summary: SessionSummary, tenant: str | None) -> bool:
    return tenant is None or summary.ref.tenant == tenant


def _listed(names: list[str]) -> str:
    shown = ", ".join(short(name, 100) or '""' for name in names[:_NEAR])
    return shown if len(names) <= _NEAR else f"{shown}, and {len(names) - _NEAR} more"
