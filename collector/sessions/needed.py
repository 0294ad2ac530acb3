"""How far back does anybody need the journal? Counted in blocks of rows, so that asking costs next to nothing however
many sessions are open."""

from __future__ import annotations

from array import array

_BLOCK_BITS = 4
_BLOCK = 1 << _BLOCK_BITS
_TRIM = 65_536  # blocks that nobody needs, before their counters are given back


class RowsNeeded:
    """A multiset of row numbers that knows its lowest member, to the block of 16.

    There is a counter for each block from the lowest to the newest: as many as the journal has rows on disk, at most.
    """

    def __init__(self) -> None:
        self._counts = array("I")
        self._base = 0  # the block of the first counter
        self._first = 0  # the counter below which all are zero

    def add(self, row: int) -> None:
        block = row >> _BLOCK_BITS
        if not self._counts:
            self._base, self._first = block, 0
        elif block < self._base:
            self._counts[:0] = array("I", bytes(4 * (self._base - block)))
            self._base, self._first = block, 0
        at = block - self._base
        if at >= len(self._counts):
            self._counts.frombytes(bytes(4 * (at + 1 - len(self._counts))))
        self._counts[at] += 1
        self._first = min(self._first, at)

    def remove(self, row: int) -> None:
        """One that was added."""
        self._counts[(row >> _BLOCK_BITS) - self._base] -= 1

    def lowest(self) -> int | None:
        """At most the lowest row, and less than a block below it; None when there is none."""
        counts, at, end = self._counts, self._first, len(self._counts)
        while at < end and not counts[at]:
            at += 1
        self._first = at
        if at == end:
            self._counts, self._first = array("I"), 0
            return None
        if at > _TRIM:
            del counts[:at]
            self._base, self._first = self._base + at, 0
        return (self._base + self._first) << _BLOCK_BITS

    def below(self, row: int) -> int:
        """How many are in blocks that begin below this row."""
        return sum(self._counts[: max(0, (block_end(row) >> _BLOCK_BITS) - self._base)])


def block_end(row: int) -> int:
    """The first row from this one on that begins a block: what is needed below it keeps rows below `row`."""
    return (row + _BLOCK - 1) & ~(_BLOCK - 1)
