"""What is known of the traces of one partition: the sessions they name, where their unnamed items stand (pure)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from typing import TypeAlias

from collector.kafka.message_items import Item
from collector.kafka.trace_facts import TraceFact
from collector.sessions.keys import Kind, Owner
from collector.sessions.links import TraceKey

Home: TypeAlias = str | None
"""A session by its id; None is the trace itself, as a session of its own."""

MOST_PLACES = 20_000
"""Messages with unnamed items that are remembered of one trace. A trace with more is given out, and what comes behind
them is not given to sessions that it names later."""

_MOST_LOOKS = 5_000  # at once, at traces that may be due


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for what, in milliseconds: `name_ms` for a name since the last item, `root_ms` since the root
    span came without one, `most_ms` since the first item. A trace that is given out is remembered for `remember_ms`
    since its last item. Of `most_traces` at most."""

    name_ms: int = 300_000
    root_ms: int = 30_000
    most_ms: int = 14_400_000
    remember_ms: int = 900_000
    most_traces: int = 250_000


class Trace:
    """`places` is flat: a place, the number of unnamed items there. `parked` holds those items by place, while nothing
    says where they go; None when they are to be read again."""

    __slots__ = ("by_resource", "first_ms", "given", "last_ms", "names", "parked", "places", "renewed_ms", "root_ms")

    def __init__(self, now_ms: int) -> None:
        self.names: tuple[str, ...] = ()
        self.by_resource: str | None = None
        self.places = array("q")
        self.given = False
        self.first_ms = self.last_ms = now_ms
        self.root_ms: int | None = None
        self.renewed_ms = -1
        self.parked: dict[int, list[Item]] | None = None

    def homes(self) -> tuple[Home, ...]:
        """Where its unnamed telemetry goes; empty while it waits for a name."""
        return self.names or ((self.by_resource,) if self.given else ())

    @property
    def full(self) -> bool:
        return len(self.places) >= 2 * MOST_PLACES


class Traces:
    """By tenant and trace id, the one that came first in front."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self._traces: dict[TraceKey, Trace] = {}
        self._due: list[tuple[int, TraceKey]] = []

    def __len__(self) -> int:
        return len(self._traces)

    def get(self, key: TraceKey) -> Trace | None:
        return self._traces.get(key)

    def touch(self, key: TraceKey, now_ms: int) -> Trace:
        """The trace, of which something has come."""
        trace = self._traces.get(key)
        if trace is None:
            trace = self._traces[key] = Trace(now_ms)
            self._file(key, trace)
        trace.last_ms = now_ms
        return trace

    def rooted(self, key: TraceKey, trace: Trace, now_ms: int) -> None:
        """Its root span came, and names no session."""
        if trace.root_ms is None:
            trace.root_ms = now_ms
            self._file(key, trace)

    def learn(self, facts: Iterable[TraceFact], now_ms: int) -> None:
        """All that somebody before us has written down. Times begin anew: telemetry may have been waiting."""
        places: dict[TraceKey, dict[int, int]] = {}
        for fact in facts:
            trace = self.touch(fact.key, now_ms)
            trace.names = tuple(dict.fromkeys((*trace.names, *fact.names)))
            trace.by_resource = fact.by_resource or trace.by_resource
            trace.given |= fact.given
            places.setdefault(fact.key, {}).update(zip(fact.places[::2], fact.places[1::2], strict=True))
        for key, counts in places.items():
            self._traces[key].places = array("q", (number for pair in counts.items() for number in pair))

    def due(self, read_ms: int) -> Iterator[tuple[TraceKey, Trace]]:
        """Traces that have waited long enough by `read_ms`, the time up to which all is read (see `Progress`): those
        with homes are to be forgotten, the others given out, before the next is asked for."""
        keys: dict[TraceKey, None] = {}
        while self._due and self._due[0][0] <= read_ms and len(keys) < _MOST_LOOKS:
            keys[heappop(self._due)[1]] = None
        for key in keys:
            trace = self._traces.get(key)
            if trace is None:
                continue
            if self._due_ms(trace) <= read_ms:
                yield key, trace
            if key in self._traces:
                self._file(key, trace)

    def surplus(self) -> Iterator[tuple[TraceKey, Trace]]:
        """Those that came first of what is too many; to be dealt with as those that are due."""
        too_many = max(0, len(self._traces) - self.patience.most_traces)
        for key in list(islice(self._traces, too_many)):
            yield key, self._traces[key]

    def forget(self, key: TraceKey) -> None:
        del self._traces[key]

    def _file(self, key: TraceKey, trace: Trace) -> None:
        heappush(self._due, (self._due_ms(trace), key))

    def _due_ms(self, trace: Trace) -> int:
        patience = self.patience
        if trace.homes():
            return trace.last_ms + patience.remember_ms
        due_ms = min(trace.last_ms + patience.name_ms, trace.first_ms + patience.most_ms)
        return due_ms if trace.root_ms is None else min(due_ms, trace.root_ms + patience.root_ms)


def stronger(name: str, than: str | None, tenant: str) -> bool:
    """Of two sessions that resources of one trace name, which one counts: the same as for one process."""
    if than is None or name == than:
        return than is None
    digests: Mapping[str, bytes] = {each: Owner(Kind.SESSION, each, tenant).digest for each in (name, than)}
    return digests[name] < digests[than]


def whole(key: TraceKey, trace: Trace) -> TraceFact:
    """All that there is to be written down of a trace."""
    return TraceFact(key, trace.names, trace.by_resource, trace.places, trace.given)
