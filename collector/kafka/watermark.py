"""From rows of a journal back to offsets of the topic they came from (pure).

What a worker commits is the offset of the oldest message that anybody still needs, never what it read last: whoever
takes the partition over begins there, and finds all that is open.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

_TRIM = 4096


class ReadOffsets:
    """Of one partition, as it is read. `next_offset` is the first that was not read; `low` only ever rises."""

    def __init__(self, next_offset: int) -> None:
        self.next_offset = next_offset
        self._low = next_offset
        self._rows = array("Q")
        self._offsets = array("Q")

    def read(self, offset: int) -> None:
        """The message at this offset was looked at, whatever came of it."""
        self.next_offset = max(self.next_offset, offset + 1)

    def filed(self, offset: int, first_row: int) -> None:
        """It became rows from this number on. Numbers and offsets rise from call to call."""
        self._rows.append(first_row)
        self._offsets.append(offset)

    def of(self, row: int) -> int:
        """The offset of the message that this row came of, or of one before it where it came of none: rows that say
        what became of a session stand in between. Raises LookupError for a row before the first."""
        at = bisect_right(self._rows, row)
        if not at:
            raise LookupError(f"row {row} is not known to come from any message")
        return self._offsets[at - 1]

    def low(self, needed: int | None) -> int:
        """The offset to commit, when `needed` is the lowest row that anybody needs; None when nobody needs any."""
        if needed is None:
            self._low = max(self._low, self.next_offset)
            return self._low
        at = max(bisect_right(self._rows, needed) - 1, 0)  # a row before the first: numbers come in blocks
        self._low = max(self._low, self._offsets[at] if self._offsets else self.next_offset)
        if at > _TRIM:
            del self._rows[:at], self._offsets[:at]
        return self._low
