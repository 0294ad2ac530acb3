"""The book of sessions as the journal tells it: what `SessionBook` wrote, row by row, read back after a crash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from collector.journal.rows import NO_ROW, RowKey, RowType, split_closing, split_names
from collector.sessions.index import SessionIndex, State
from collector.sessions.keys import Digest, Kind
from collector.sessions.links import TraceKey, TraceLinks


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A closing whose verdicts are not known to be durable; `upto` is the number of its CLOSED row."""

    revision: int
    reason: str
    closed_ms: int
    probability: float
    upto: int


@dataclass(frozen=True, slots=True)
class Recovered:
    """`unjudged` are closings with the slots of their sessions, in the order in which they were closed."""

    index: SessionIndex
    links: TraceLinks
    unjudged: list[tuple[int, Unjudged]]


def recover(rows: Iterable[tuple[RowKey, bytes]], now_ms: int) -> Recovered:
    """From the journal's rows in order; values are needed of LINK and CLOSED rows only. Open sessions were last seen
    `now_ms`."""
    recovery = _Recovery()
    for key, value in rows:
        recovery.take(key, value)
    return recovery.finish(now_ms)


class _Recovery:
    def __init__(self) -> None:
        self._index = SessionIndex()
        self._links: dict[Digest, list[tuple[TraceKey, bool]]] = {}
        self._unjudged: dict[Digest, dict[int, Unjudged]] = {}
        self._closed_by: dict[int, int] = {}  # slot → number of its newest CLOSED row

    def take(self, key: RowKey, value: bytes) -> None:
        index = self._index
        if key.type == RowType.FORGOTTEN:
            self._forget(key.digest)
            return
        slot = index.find(key.digest)
        if slot is None:
            slot = index.add(key.digest, key.kind, key.at_ms)
        match key.type:
            case RowType.TELEMETRY:
                index.reopen(slot, key.at_ms)
                index.append(slot, key.row, key.items, key.size, key.at_ms)
            case RowType.LINK:
                index.first_row[slot] = min(index.first_row[slot], key.row)
                trace, _ = split_names(value, Kind.TRACE)
                of_trace = (trace.tenant, bytes.fromhex(trace.name))
                self._links.setdefault(key.digest, []).append((of_trace, bool(key.flags)))
            case RowType.ENDED:
                index.ended_ms[slot] = key.at_ms
            case RowType.CLOSED:
                self._close(slot, key, value)
            case RowType.DONE:
                self._unjudged.get(key.digest, {}).pop(key.flags, None)
                index.judged(slot, key.flags)

    def _close(self, slot: int, key: RowKey, value: bytes) -> None:
        revision, probability, reason = split_closing(value)
        self._index.close(slot, revision, key.at_ms)
        self._closed_by[slot] = key.row
        closing = Unjudged(revision, reason, key.at_ms, probability, key.row)
        self._unjudged.setdefault(key.digest, {})[revision] = closing

    def _forget(self, digest: Digest) -> None:
        self._links.pop(digest, None)
        self._unjudged.pop(digest, None)
        slot = self._index.find(digest)
        if slot is not None:
            self._index.free(slot)
            self._closed_by.pop(slot, None)

    def finish(self, now_ms: int) -> Recovered:
        index = self._index
        links = TraceLinks(index)
        links.restore(self._links)
        self._reopen_readers(links, now_ms)
        for known in index.slots():
            if index.state[known] == State.OPEN:
                index.last_ms[known] = now_ms
        unjudged = [
            (slot, closing)
            for digest, closings in self._unjudged.items()
            if (slot := index.find(digest)) is not None
            for closing in closings.values()
        ]
        return Recovered(index, links, sorted(unjudged, key=lambda found: found[1].upto))

    def _reopen_readers(self, links: TraceLinks, now_ms: int) -> None:
        """Telemetry in a trace's rows, behind the closing of a session that reads them, has opened it again."""
        for slot, row in self._closed_by.items():
            newest = max((self._index.last_row[trace] for trace in links.parking.traces(slot)), default=NO_ROW)
            if newest > row:
                self._index.reopen(slot, now_ms)
