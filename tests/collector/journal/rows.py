"""Short ways to write journal rows in tests."""

from __future__ import annotations

from collector.journal.rows import NO_ROW, Row, RowKey, RowType, names
from collector.sessions.keys import Kind, Owner


def row(number: int, before: int = NO_ROW, content: bytes = b"telemetry", session: str = "ann") -> Row:
    owner = Owner(Kind.SESSION, session)
    head = names(owner)
    size = len(head) + len(content)
    key = RowKey(number, before, owner.digest, 1000 + number, Kind.SESSION, RowType.TELEMETRY, items=1, size=size)
    return key.encode(), (head, content)
