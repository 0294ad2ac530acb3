"""How far back does anybody need the journal? Counted in blocks of rows, so that asking costs the same however many
sessions are open."""

from __future__ import annotations

_BLOCK_BITS = 8
"""Of 256 rows: a file of the journal holds thousands."""


class RowsNeeded:
    """A multiset of row numbers that knows its lowest member, to the block."""

    def __init__(self) -> None:
        self._blocks: dict[int, int] = {}

    def add(self, row: int) -> None:
        block = row >> _BLOCK_BITS
        self._blocks[block] = self._blocks.get(block, 0) + 1

    def remove(self, row: int) -> None:
        """One that was added."""
        block = row >> _BLOCK_BITS
        left = self._blocks[block] - 1
        if left:
            self._blocks[block] = left
        else:
            del self._blocks[block]

    def lowest(self) -> int | None:
        """At most the lowest row, and less than a block below it; None when there is none."""
        block = min(self._blocks, default=None)
        return None if block is None else block << _BLOCK_BITS

    def below(self, row: int) -> int:
        """How many are in blocks that begin below this row."""
        return sum(count for block, count in self._blocks.items() if block << _BLOCK_BITS < row)
