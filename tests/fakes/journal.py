"""The journal's rows in a dict: what `Segments` does, without a disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from collector.journal.rows import NO_ROW, RECOVERED, Row, RowKey, RowType, decode_key
from collector.journal.segments import ChainTooLarge, MissingRow


class MemoryRows:
    def __init__(self) -> None:
        self._rows: dict[int, tuple[RowKey, bytes]] = {}

    def append(self, rows: Sequence[Row]) -> None:
        for encoded, value in rows:
            key = decode_key(encoded)
            assert key.row > self.last_row()
            self._rows[key.row] = (key, b"".join(value))

    def chain(self, last_row: int, most_bytes: int | None = None) -> list[tuple[RowKey, bytes]]:
        found: list[tuple[RowKey, bytes]] = []
        row = last_row
        while row != NO_ROW:
            if row not in self._rows:
                raise MissingRow(row)
            found.append(self._rows[row])
            row = self._rows[row][0].before
        if most_bytes is not None and sum(key.size for key, _ in found) > most_bytes:
            raise ChainTooLarge([key for key, _ in found])
        return found[::-1]

    def entries(self) -> Iterator[tuple[RowKey, bytes]]:
        for key, value in self._rows.values():
            yield key, value if key.type in RECOVERED else b""

    def telemetry(self) -> Iterator[tuple[RowKey, bytes]]:
        """The rows that hold spans and records, with their values."""
        yield from (row for row in self._rows.values() if row[0].type == RowType.TELEMETRY)

    def last_row(self) -> int:
        return max(self._rows, default=0)

    def drop_before(self, row: int) -> None:
        """All but the newest, as `Segments` does with its files."""
        self._rows = {number: kept for number, kept in self._rows.items() if number >= min(row, self.last_row())}

    def forget_all_but(self, row: int) -> None:
        """What damage to the disk may do."""
        self._rows = {number: kept for number, kept in self._rows.items() if number == row}
