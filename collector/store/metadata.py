"""What all tables are registered with, and the types they share."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, MetaData

metadata = MetaData()

Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself under this type only
Instant = BigInteger  # nanoseconds
