"""The open sessions, in memory: a few numbers each, in columns.

What a session consists of is in the journal; here is only where its newest row stands (rows chain backward), when it
began and was last seen, and how much there is. One row of the columns is a *slot*; slots are used again. A slot and
its generation make a `Ref`, so that a reference kept too long is noticed instead of reaching a stranger's session.

Not thread-safe: it belongs to the event loop.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from enum import IntEnum
from typing import TypeAlias

from collector.journal.rows import NO_ROW
from collector.sessions.keys import Digest, Kind

NOTHING_NEEDED = 2**64 - 1
"""`first_row` of a session that has no row yet."""

Ref: TypeAlias = int
_SLOT_BITS = 40
_SLOT_MASK = (1 << _SLOT_BITS) - 1


class State(IntEnum):
    FREE = 0
    OPEN = 1
    """collecting telemetry"""
    CLOSED = 2
    """closed and waiting for its verdicts"""
    LINGERING = 3
    """judged; telemetry within the late window opens it again"""


class SessionIndex:
    """Columns by slot. Times are milliseconds since the Unix epoch, by our clock."""

    def __init__(self) -> None:
        self._slots: dict[Digest, int] = {}
        self._digests: list[Digest] = []
        self._free: list[int] = []
        self._open = {Kind.SESSION: 0, Kind.TRACE: 0}
        self.state = array("B")
        self.kind = array("B")
        self.generation = array("I")
        self.last_row = array("Q")
        self.first_row = array("Q")
        self.first_ms = array("Q")
        self.last_ms = array("Q")
        self.ended_ms = array("Q")  # when an end marker was seen; 0: none yet
        self.items = array("Q")
        self.size = array("Q")
        self.revision = array("H")
        self.closed_ms = array("Q")

    def __len__(self) -> int:
        return len(self._slots)

    def find(self, digest: Digest) -> int | None:
        return self._slots.get(digest)

    def digest(self, slot: int) -> Digest:
        return self._digests[slot]

    def add(self, digest: Digest, kind: int, now_ms: int) -> int:
        """A new open session without rows; the digest must not be known yet."""
        if self._free:
            slot = self._free.pop()
            self._digests[slot] = digest
        else:
            slot = len(self._digests)
            self._digests.append(digest)
            self.generation.append(0)
            for column in (self.state, self.kind, self.last_row, self.first_row, self.first_ms, self.last_ms):
                column.append(0)
            for column in (self.ended_ms, self.items, self.size, self.revision, self.closed_ms):
                column.append(0)
        self._slots[digest] = slot
        self.kind[slot] = kind
        self.set_state(slot, State.OPEN)
        self.last_row[slot] = NO_ROW
        self.first_row[slot] = NOTHING_NEEDED
        self.first_ms[slot] = self.last_ms[slot] = now_ms
        self.ended_ms[slot] = self.items[slot] = self.size[slot] = 0
        self.revision[slot] = self.closed_ms[slot] = 0
        return slot

    def free(self, slot: int) -> None:
        del self._slots[self._digests[slot]]
        self._digests[slot] = b""
        self.set_state(slot, State.FREE)
        self.first_row[slot] = NOTHING_NEEDED
        self.generation[slot] = (self.generation[slot] + 1) & 0xFFFFFF
        self._free.append(slot)

    def set_state(self, slot: int, state: State) -> None:
        kind = Kind(self.kind[slot])
        self._open[kind] += (state == State.OPEN) - (self.state[slot] == State.OPEN)
        self.state[slot] = state

    def reopen(self, slot: int, now_ms: int) -> bool:
        """Telemetry has come. Returns whether that is a new beginning."""
        if self.state[slot] == State.OPEN:
            return False
        self.set_state(slot, State.OPEN)
        self.first_ms[slot] = now_ms
        return True

    def close(self, slot: int, revision: int, now_ms: int) -> None:
        """Closed, and waiting for the verdicts of this revision. The end marker before it does not speak for what
        comes after; the size does, for every revision reads all that came before it."""
        self.revision[slot], self.closed_ms[slot] = revision, now_ms
        self.set_state(slot, State.CLOSED)
        self.ended_ms[slot] = 0

    def judged(self, slot: int, revision: int) -> bool:
        """The verdicts of this revision are there. False when the session has gone on since."""
        if self.state[slot] != State.CLOSED or self.revision[slot] != revision:
            return False
        self.set_state(slot, State.LINGERING)
        return True

    def open(self, kind: Kind) -> int:
        """How many of this kind are open."""
        return self._open[kind]

    def append(self, slot: int, row: int, items: int, size: int, now_ms: int) -> None:
        """Chain a new row to the session."""
        self.last_row[slot] = row
        self.first_row[slot] = min(self.first_row[slot], row)
        self.items[slot] += items
        self.size[slot] += size
        self.last_ms[slot] = now_ms

    def ref(self, slot: int) -> Ref:
        return self.generation[slot] << _SLOT_BITS | slot

    def slot(self, ref: Ref) -> int | None:
        """The slot of a reference, or None when that session is gone."""
        slot = ref & _SLOT_MASK
        return slot if self.state[slot] != State.FREE and self.generation[slot] == ref >> _SLOT_BITS else None

    def oldest_needed(self) -> int:
        """The lowest row number that any session still needs; `NOTHING_NEEDED` when none does."""
        return min(self.first_row, default=NOTHING_NEEDED)

    def slots(self) -> Iterator[int]:
        yield from self._slots.values()
