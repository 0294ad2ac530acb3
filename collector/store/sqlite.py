"""The verdict store in one SQLite file, for one process and the commands beside it.

WAL, so that readers never wait for the writer; synchronous=FULL, so that a commit is on disk and not only with the
kernel.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from collector.concluding import Concluding
from collector.store.database import Database, translated
from collector.store.migrations import MIGRATIONS
from collector.store.reading_rows import Damage
from collector.store.sql_store import SqlStore, no_one
from collector.store.sqlite_file import commit_proven, engine, fault, give_space_back, size, unavailable
from collector.store.tables import create_tables, require_version


class SqliteStore(SqlStore):
    """Made by `open`."""

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        read_only: bool = False,
        migrate: bool = True,
        busy_timeout_s: float = 5.0,
        concluding: Concluding | None = None,
        damage: Damage = no_one,
    ) -> SqliteStore:
        """Open the file, making it when it is missing. Blocks; its directory must exist.

        With `read_only` the file must exist and may be in use by a running server. Without `migrate` a file of an
        older version is left as it is: whoever brings one up to date must hold the directory's lock, or it would
        change under a running server. Raises `StoreUnavailable` for a missing directory, a file that is none of ours,
        or one that a newer SpanJudge wrote, `StoreOutdated` for one that an older one wrote.
        """
        reading, writing = engine(path, "ro", busy_timeout_s), None
        explained = partial(unavailable, path)
        if read_only:
            with translated(explained), reading.begin() as connection:
                require_version(str(path), connection)
        else:
            writing = engine(path, "rw", busy_timeout_s)
            with translated(explained), writing.begin() as connection:
                create_tables(str(path), connection, MIGRATIONS if migrate else None)
        measured = partial(size, path)
        database = Database(str(path), reading, writing, explained, fault, commit_proven, measured, give_space_back)
        return cls(database, concluding, damage)
