"""Which sessions does a trace belong to? As far as its items, or else its resources, have said by now.

A link is strong when an item of the trace names the session, weak when only a resource does; a strong one replaces a
weak one. Whatever is parked under the trace is read by the sessions it is linked to. Links are references, so those
to sessions that are gone mean nothing, and are swept out now and then.
"""

from __future__ import annotations

from typing import TypeAlias

from collector.sessions.index import Ref, SessionIndex
from collector.sessions.keys import Digest, Kind, Owner
from collector.sessions.parking import Parking

TraceKey: TypeAlias = tuple[str, bytes]
"""Tenant and trace id."""

_SWEEP_AFTER = 1000
MOST_SESSIONS = 100
"""That one trace is linked to, while they are open. A broken tracer gives every conversation the same trace id; each
session would read what all others have there. What names its session itself is not affected."""


def parked_owner(key: TraceKey) -> Owner:
    """The owner of what is parked under a trace."""
    return Owner(Kind.TRACE, key[1].hex(), key[0])


class TraceLinks:
    """Sessions and parked traces are given as slots of the index."""

    def __init__(self, index: SessionIndex) -> None:
        self._index = index
        self.parking = Parking(index)
        self._strong: dict[TraceKey, tuple[Ref, ...]] = {}
        self._weak: dict[TraceKey, Ref] = {}
        self._gone = 0

    def sessions(self, key: TraceKey) -> list[int]:
        """The open sessions that items of this trace have named."""
        refs = self._strong.get(key)
        return [] if refs is None else self._alive(refs)

    def link(self, key: TraceKey, session: int) -> bool:
        """An item of the trace names the session. Returns whether that is news, and there is room for it."""
        ref = self._index.ref(session)
        refs = self._strong.get(key, ())
        if ref in refs:
            return False
        if len(refs) >= MOST_SESSIONS:
            refs = tuple(old for old in refs if self._index.slot(old) is not None)
            if len(refs) >= MOST_SESSIONS:
                return False
        self._strong[key] = (*refs, ref)
        parked = self._index.find(parked_owner(key).digest)
        if parked is not None:
            former = self._weak_session(key)
            if former is not None and former != session:
                self.parking.detach(former, parked)
            self.parking.attach(session, parked)
        self._weak.pop(key, None)
        return True

    def link_weakly(self, key: TraceKey, session: int) -> bool:
        """Only a resource names the session. Of two such names the smaller digest wins, whoever came last.

        Returns whether that changes anything.
        """
        parked = self._index.find(parked_owner(key).digest)
        if parked is None or self.sessions(key):
            return False
        former = self._weak_session(key)
        if former is not None:
            if self._index.digest(former) <= self._index.digest(session):
                return False
            self.parking.detach(former, parked)
        self._weak[key] = self._index.ref(session)
        self.parking.attach(session, parked)
        return True

    def restore(self, links: dict[Digest, list[tuple[TraceKey, bool]]]) -> None:
        """Links read from the journal: by session, (trace, weak?)."""
        for digest, traces in links.items():
            session = self._index.find(digest)
            if session is None:
                continue
            for key, weak in traces:
                if weak:
                    self.link_weakly(key, session)
                else:
                    self.link(key, session)

    def forget(self, session: int) -> list[int]:
        """Before a session is freed. Returns the parked traces that nobody reads any more."""
        self._gone += 1
        if self._gone > _SWEEP_AFTER and self._gone * 2 > len(self._index):
            self._sweep()
        return self.parking.forget(session)

    def _weak_session(self, key: TraceKey) -> int | None:
        ref = self._weak.get(key)
        return None if ref is None else self._index.slot(ref)

    def _alive(self, refs: tuple[Ref, ...]) -> list[int]:
        return [slot for ref in refs if (slot := self._index.slot(ref)) is not None]

    def _sweep(self) -> None:
        alive = self._index.slot
        self._strong = {
            key: live for key, refs in self._strong.items() if (live := tuple(r for r in refs if alive(r) is not None))
        }
        self._weak = {key: ref for key, ref in self._weak.items() if alive(ref) is not None}
        self._gone = 0
