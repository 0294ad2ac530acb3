"""Whether a database is a verdict store of this version, and making it one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, insert, inspect, select, update

from collector.errors import StoreOutdated, StoreUnavailable
from collector.store.metadata import metadata
from collector.store.schema import SCHEMA_VERSION, schema_version

Steps = Mapping[int, Callable[[Connection], None]]
"""Version of the tables → how they become those of the next version."""


def create_tables(name: str, connection: Connection, steps: Steps | None) -> None:
    """Make the tables in an empty database; by `steps`, if given, bring those of an older version up to this one, all
    in the caller's transaction; raise as `require_version` does for another version. `name` is for messages."""
    if inspect(connection).has_table(schema_version.name):
        _migrate(connection, steps or {})
        require_version(name, connection)
        return
    metadata.create_all(connection)
    connection.execute(insert(schema_version).values(version=SCHEMA_VERSION))


def _migrate(connection: Connection, steps: Steps) -> None:
    version = connection.scalar(select(schema_version.c.version))
    while version is not None and (step := steps.get(version)):
        step(connection)
        version += 1
        connection.execute(update(schema_version).values(version=version))


def require_version(name: str, connection: Connection) -> None:
    """Raises `StoreUnavailable` for none of ours and one that a newer SpanJudge wrote, `StoreOutdated` for one that an
    older one wrote."""
    if not inspect(connection).has_table(schema_version.name):
        raise StoreUnavailable(f"{name} is not a verdict store: it has no schema version")
    version = connection.scalar(select(schema_version.c.version))
    if version != SCHEMA_VERSION:
        older = version is not None and version < SCHEMA_VERSION
        writer, kind = ("an older", StoreOutdated) if older else ("a newer", StoreUnavailable)
        raise kind(
            f"the verdict store {name} was written by {writer} SpanJudge (schema {version}; this one reads "
            f"{SCHEMA_VERSION})"
        )
