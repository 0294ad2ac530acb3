"""Short ways to write journal rows in tests."""

from __future__ import annotations

from collector.journal.rows import NO_ROW, Row, RowKey, RowType, names
from collector.sessions.keys import Kind, Owner


def row(number: int, before: int = NO_ROW, content: bytes = b"telemetry", session: str = "ann") -> Row:
    owner = Owner(Kind.SESSION, session)
    key = RowKey(number, before, owner.digest, 1000 + number, Kind.SESSION, RowType.TELEMETRY, items=1)
    return key.encode(), (names(owner), content)
