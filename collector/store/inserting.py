"""INSERT ... ON CONFLICT, which SQLite and PostgreSQL have alike and SQLAlchemy has once for each."""

from __future__ import annotations

from typing import TypeAlias

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

Insert: TypeAlias = sqlite.Insert | postgresql.Insert


def insert(connection: Connection, table: Table) -> Insert:
    """As the connection's database understands it."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
