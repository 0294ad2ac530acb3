"""The verdict store in a PostgreSQL database that several processes share.

What one process may do at a time (counting what may be spent, adding revisions of one session) is locked in the
database; questions, exports and batches are shared out by leases.
"""

from __future__ import annotations

from functools import partial

import structlog
from sqlalchemy import URL

from collector.concluding import Concluding
from collector.errors import StoreUnavailable
from collector.store.database import Database, translated
from collector.store.leases import Leases
from collector.store.locks import alone, let_writers_finish
from collector.store.migrations import POSTGRESQL_MIGRATIONS
from collector.store.postgres_server import (
    Limits,
    commit_proven,
    fault,
    reading_engine,
    require_utf8,
    unavailable,
    writing_engine,
)
from collector.store.postgres_size import size
from collector.store.reading_rows import Damage
from collector.store.sql_store import SqlStore, no_one
from collector.store.tables import Steps, create_tables, require_version

log = structlog.get_logger(__name__)

_USUAL = Limits()


class PostgresStore(SqlStore):
    """Made by `open`."""

    @classmethod
    def open(
        cls,
        url: URL,
        *,
        holder: str,
        lease_s: float = 600.0,
        read_only: bool = False,
        migrate: bool = True,
        limits: Limits = _USUAL,
        concluding: Concluding | None = None,
        damage: Damage = no_one,
        steps: Steps = POSTGRESQL_MIGRATIONS,
    ) -> PostgresStore:
        """Connect, and make the tables in an empty database. Blocks. `url` is one of `postgres_url`, `holder` a name
        that no other process has; what it takes to work on is nobody else's for `lease_s`.

        With `read_only` the tables must be there. Without `migrate` those of an older version are left as they are.
        Raises `StoreUnavailable` where there is no such database or a newer SpanJudge wrote it, `StoreOutdated` where
        an older one did.
        """
        name = url.render_as_string(hide_password=True)
        explained = partial(unavailable, name)
        reading, writing = reading_engine(url, limits), None
        if read_only:
            with translated(explained), reading.begin() as connection:
                require_version(name, connection)
        else:
            writing = writing_engine(url, limits)
            with translated(explained), writing.begin() as connection:
                require_utf8(name, connection)
                alone(connection, "schema")  # several processes may start at once
                create_tables(name, connection, steps if migrate else None)
        database = Database(
            name,
            reading,
            writing,
            explained,
            fault,
            commit_proven,
            size,
            let_others_finish=let_writers_finish,
            leases=None if read_only else Leases(holder, round(lease_s * 1e9)),
        )
        return cls(database, concluding, damage)

    async def close(self) -> None:
        """What this process took is free for others at once."""
        leases, self._open = self._database.leases if self._open else None, False
        if leases is not None:
            try:
                await self._write(leases.let_go)
            except StoreUnavailable as error:  # the leases end by themselves
                log.warning("store_unavailable", error=str(error))
        await super().close()
