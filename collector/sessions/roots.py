"""Which traces have their root span? A session all of whose traces have is over, for those who close by that."""

from __future__ import annotations

from collections.abc import Iterable

from collector.sessions.index import SessionIndex
from collector.sessions.keys import Digest, Kind
from collector.sessions.links import TraceLinks


class Roots:
    """Traces are known by the digest under which their telemetry would be parked."""

    def __init__(self, index: SessionIndex, links: TraceLinks) -> None:
        self._index = index
        self._links = links
        self._arrived: set[Digest] = set()

    def __contains__(self, trace: Digest) -> bool:
        return trace in self._arrived

    def arrived(self, trace: Digest) -> bool:
        """Returns whether that is news."""
        if trace in self._arrived:
            return False
        self._arrived.add(trace)
        return True

    def complete(self, slot: int) -> bool:
        """Has each trace of this session, or the trace itself, its root? False for a session without traces."""
        if self._index.kind[slot] == Kind.TRACE:
            return self._index.digest(slot) in self._arrived
        any_trace = False
        for trace, _ in self._links.traces(slot):
            if trace not in self._arrived:
                return False
            any_trace = True
        return any_trace

    def forget(self, traces: Iterable[Digest]) -> None:
        self._arrived.difference_update(traces)
