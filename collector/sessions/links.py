"""Which sessions does a trace belong to? As far as its items, or else its resources, have said by now.

A link is strong when an item of the trace names the session, weak when only a resource does; a strong one replaces a
weak one. Whatever is parked under the trace is read by the sessions it is linked to, its *readers*. A weak link counts
as an item of its session, which may have none of its own: a resource that names one session for ever would keep traces
without end.

Traces are known by the digest under which their telemetry would be parked, sessions by their slots. Both directions
are kept without an object for each link: a dict says whose a trace is (a number; a tuple for the few that several
sessions share), and a list through arrays which traces a session has.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TypeAlias

from collector.sessions.index import SessionIndex
from collector.sessions.keys import DIGEST_BYTES, Digest, Kind, Owner

TraceKey: TypeAlias = tuple[str, bytes]
"""Tenant and trace id."""

MOST_SESSIONS = 100
"""That one trace is linked to, while they are open. A broken tracer gives every conversation the same trace id; each
session would read what all others have there. What names its session itself is not affected."""


def parked_owner(key: TraceKey) -> Owner:
    """The owner of what is parked under a trace."""
    return Owner(Kind.TRACE, key[1].hex(), key[0])


class TraceLinks:
    """`forget` must be told of every session before its slot is freed."""

    def __init__(self, index: SessionIndex) -> None:
        self._index = index
        self._strong: dict[Digest, int | tuple[int, ...]] = {}
        self._weak: dict[Digest, int] = {}
        # Link number n: the n-th digest here, and the number of the session's link before it. There is no number 0.
        self._digests = bytearray(DIGEST_BYTES)
        self._before = array("I", [0])
        self._free = array("I")

    def sessions(self, trace: Digest) -> tuple[int, ...]:
        """The sessions that items of this trace have named."""
        found = self._strong.get(trace, ())
        return (found,) if isinstance(found, int) else found

    def readers(self, trace: Digest) -> tuple[int, ...]:
        """The sessions that read what is parked under this trace."""
        strong = self.sessions(trace)
        if strong or trace not in self._weak:
            return strong
        return (self._weak[trace],)

    def traces(self, session: int) -> Iterator[tuple[Digest, bool]]:
        """The traces that this session reads, with whether the link is weak; in no order that means anything."""
        seen: set[Digest] = set()  # a weak link that was taken away leaves its number behind, and may come back strong
        number = self._index.link[session]
        while number:
            trace = self._digest(number)
            number = self._before[number]
            if trace in seen:
                continue
            seen.add(trace)
            if session in self.sessions(trace):
                yield trace, False
            elif self._weak.get(trace) == session:
                yield trace, True

    def parked(self, session: int) -> list[int]:
        """Slots of the traces with telemetry that this session reads."""
        find = self._index.find
        return [slot for trace, _ in self.traces(session) if (slot := find(trace)) is not None]

    def neighbours(self, session: int) -> set[int]:
        """Slots of the other sessions that the traces of this one belong to."""
        return {other for trace, _ in self.traces(session) for other in self.sessions(trace)} - {session}

    def link(self, trace: Digest, session: int) -> bool:
        """An item of the trace names the session. Returns whether that is news, and there is room for it."""
        sessions = self.sessions(trace)
        if session in sessions or len(sessions) >= MOST_SESSIONS:
            return False
        self._strong[trace] = (*sessions, session) if sessions else session
        former = self._weak.pop(trace, None)
        if former is not None:
            self._index.items[former] -= 1
        if former != session:
            self._chain(trace, session)
        return True

    def link_weakly(self, trace: Digest, session: int) -> bool:
        """Only a resource names the session. Of two such names the smaller digest wins, whoever came last.

        Returns whether that changes anything.
        """
        if trace in self._strong:
            return False
        former = self._weak.get(trace)
        if former is not None and self._index.digest(former) <= self._index.digest(session):
            return False
        if former is not None:
            self._index.items[former] -= 1
        self._weak[trace] = session
        self._index.items[session] += 1
        self._chain(trace, session)
        return True

    def forget(self, session: int) -> list[Digest]:
        """Before a session is freed. Returns the traces that nobody reads any more."""
        orphans: list[Digest] = []
        number, self._index.link[session] = self._index.link[session], 0
        while number:
            trace = self._digest(number)
            if self._unlink(trace, session):
                orphans.append(trace)
            self._free.append(number)
            number = self._before[number]
        return orphans

    def _unlink(self, trace: Digest, session: int) -> bool:
        """Returns whether that was the last link of the trace."""
        sessions = self.sessions(trace)
        if session in sessions:
            rest = tuple(other for other in sessions if other != session)
            if rest:
                self._strong[trace] = rest[0] if len(rest) == 1 else rest
            else:
                del self._strong[trace]
            return not rest
        if self._weak.get(trace) == session:
            del self._weak[trace]
            return True
        return False

    def _chain(self, trace: Digest, session: int) -> None:
        before = self._index.link[session]
        if self._free:
            number = self._free.pop()
            self._digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES] = trace
            self._before[number] = before
        else:
            number = len(self._before)
            self._digests += trace
            self._before.append(before)
        self._index.link[session] = number

    def _digest(self, number: int) -> Digest:
        return bytes(self._digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES])
