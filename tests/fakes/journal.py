"""The journal's rows in a dict: what `Segments` does, without a disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from collector.journal.rows import NO_ROW, Row, RowKey, RowType, decode_key


class MemoryRows:
    def __init__(self) -> None:
        self._rows: dict[int, tuple[RowKey, bytes]] = {}

    def append(self, rows: Sequence[Row]) -> None:
        for row in rows:
            assert row.key.row == len(self._rows) + 1
            self._rows[row.key.row] = (decode_key(row.key.encode()), b"".join(row.value))

    def chain(self, last_row: int) -> list[tuple[RowKey, bytes]]:
        found: list[tuple[RowKey, bytes]] = []
        row = last_row
        while row != NO_ROW:
            found.append(self._rows[row])
            row = self._rows[row][0].before
        return found[::-1]

    def entries(self) -> Iterator[tuple[RowKey, bytes]]:
        for key, value in self._rows.values():
            yield key, value if key.type in (RowType.LINK, RowType.CLOSED) else b""

    def last_row(self) -> int:
        return len(self._rows)
