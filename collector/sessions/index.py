"""The open sessions, in memory: a few numbers each, in columns.

What a session consists of is in the journal; here is only where its newest row stands (rows chain backward), when it
began and was last seen, and how much there is. One row of the columns is a *slot*; slots are used again. A slot and
its generation make a `Ref`, so that a reference kept too long is noticed instead of reaching a stranger's session.

A million sessions may be open, so nothing here is an object for each of them but its key in one dict: the garbage
collector finds nothing to walk through.

Not thread-safe: it belongs to the event loop.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from enum import IntEnum
from typing import TypeAlias

from collector.journal.rows import NO_ROW
from collector.sessions.keys import DIGEST_BYTES, Digest, Kind
from collector.sessions.needed import RowsNeeded

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


_OPEN, _CLOSED = int(State.OPEN), int(State.CLOSED)


def seconds(ms: int) -> int:
    """Rounded up: nothing is to be older than it is."""
    return -(-ms // 1000)


class SessionIndex:
    """Columns by slot. Times are milliseconds by the book's clock."""

    def __init__(self) -> None:
        self.needed = RowsNeeded()
        self._slots: dict[Digest, int] = {}
        self._digests = bytearray()
        self._free = array("I")
        self._open = [0] * len(Kind)
        self._known = [0] * len(Kind)
        self.state = array("B")
        self.kind = array("B")
        self.ended = array("B")  # was an end marker seen?
        self.generation = array("I")
        self.last_row = array("Q")
        self.first_row = array("Q")
        self.first_s = array("I")  # when it began, in whole seconds, rounded up
        self.last_ms = array("Q")  # when telemetry came last, or when it was closed
        self.items = array("I")
        self.size = array("I")  # bytes: the configuration sees to it that they fit
        self.revision = array("H")
        self.link = array("I")  # for `TraceLinks`: the newest link of this session
        self.rules = array("H")  # for `IdleRules`

    def __len__(self) -> int:
        return len(self._slots)

    def find(self, digest: Digest) -> int | None:
        return self._slots.get(digest)

    def digest(self, slot: int) -> Digest:
        return bytes(self._digests[slot * DIGEST_BYTES : slot * DIGEST_BYTES + DIGEST_BYTES])

    def add(self, digest: Digest, kind: int, now_ms: int) -> int:
        """A new open session without rows; the digest must not be known yet."""
        if self._free:
            slot = self._free.pop()
            self._digests[slot * DIGEST_BYTES : slot * DIGEST_BYTES + DIGEST_BYTES] = digest
        else:
            slot = len(self.state)
            self._digests += digest
            self._grow()
        self._slots[digest] = slot
        self.kind[slot] = kind
        self.state[slot] = _OPEN
        self._open[kind] += 1
        self._known[kind] += 1
        self.last_row[slot] = NO_ROW
        self.first_row[slot] = NOTHING_NEEDED
        self.first_s[slot], self.last_ms[slot] = seconds(now_ms), now_ms
        self.ended[slot] = self.items[slot] = self.size[slot] = 0
        self.revision[slot] = self.link[slot] = self.rules[slot] = 0
        return slot

    def _grow(self) -> None:
        for small in (self.state, self.kind, self.ended, self.revision, self.rules):
            small.append(0)
        for large in (self.generation, self.items, self.size, self.link, self.first_s):
            large.append(0)
        for number in (self.last_row, self.first_row, self.last_ms):
            number.append(0)

    def free(self, slot: int) -> None:
        del self._slots[self.digest(slot)]
        self._known[self.kind[slot]] -= 1
        self.set_state(slot, State.FREE)
        self.begins_at(slot, NOTHING_NEEDED)
        self.generation[slot] = (self.generation[slot] + 1) & 0xFFFFFF
        self._free.append(slot)

    def set_state(self, slot: int, state: int) -> None:
        self._open[self.kind[slot]] += (state == _OPEN) - (self.state[slot] == _OPEN)
        self.state[slot] = state

    def reopen(self, slot: int, now_ms: int) -> bool:
        """Telemetry has come. Returns whether that is a new beginning."""
        if self.state[slot] == _OPEN:
            return False
        self.set_state(slot, _OPEN)
        self.first_s[slot] = seconds(now_ms)
        return True

    def close(self, slot: int, revision: int, now_ms: int) -> None:
        """Closed, and waiting for the verdicts of this revision. The end marker before it does not speak for what
        comes after; the size does, for every revision reads all that came before it."""
        self.revision[slot], self.last_ms[slot] = revision, now_ms
        self.set_state(slot, _CLOSED)
        self.ended[slot] = 0

    def judged(self, slot: int, revision: int) -> bool:
        """The verdicts of this revision are there. False when the session has gone on since."""
        if self.state[slot] != _CLOSED or self.revision[slot] != revision:
            return False
        self.set_state(slot, State.LINGERING)
        return True

    def open(self, kind: Kind) -> int:
        """How many of this kind are open."""
        return self._open[kind]

    def known(self, kind: Kind) -> int:
        """How many of this kind there are, open or not."""
        return self._known[kind]

    def append(self, slot: int, row: int, items: int, size: int, now_ms: int) -> tuple[int, int, int]:
        """Chain a new row to the session. Returns the row before it, and how many items and bytes that makes.

        NO_ROW before it goes into the row's key, and tells recovery that the session begins there, or begins anew: a
        copy's first row has it too, and what stood in rows before that counts no more.
        """
        before = self.last_row[slot]
        self.last_row[slot] = row
        if self.first_row[slot] == NOTHING_NEEDED:
            self.begins_at(slot, row)
        self.items[slot] = items = self.items[slot] + items
        self.size[slot] = size = self.size[slot] + size
        self.last_ms[slot] = now_ms
        return before, items, size

    def begins_at(self, slot: int, row: int) -> None:
        """The lowest row that is needed of this session; NOTHING_NEEDED for none."""
        former = self.first_row[slot]
        if former != NOTHING_NEEDED:
            self.needed.remove(former)
        if row != NOTHING_NEEDED:
            self.needed.add(row)
        self.first_row[slot] = row

    def ref(self, slot: int) -> Ref:
        return self.generation[slot] << _SLOT_BITS | slot

    def slot(self, ref: Ref) -> int | None:
        """The slot of a reference, or None when that session is gone."""
        slot = ref & _SLOT_MASK
        return slot if self.state[slot] != State.FREE and self.generation[slot] == ref >> _SLOT_BITS else None

    def slots(self) -> Iterator[int]:
        yield from self._slots.values()
