"""A request, cut into messages that hold one trace each, for topics keyed by trace id (pure).

What the spans and records hold is carried over byte for byte, with the resource and the scope that stood around it.
The key is the trace id as 32 lowercase hex digits, as the Collector's kafkaexporter writes it with
`partition_traces_by_id`. Records of no trace have no key: they name their session themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from collector.errors import Malformed
from collector.journal.rows import Signal
from collector.kafka.bundles import Bundle, Bundles, alone
from collector.otlp.envelope import ScopeGroup, walk
from collector.sessions.items import read_record, read_span
from collector.sessions.keys import name_fault
from collector.sessions.surroundings import Around, Marks, Surroundings


@dataclass(frozen=True, slots=True)
class Portion:
    """One message: `value` is an Export{Trace,Logs}ServiceRequest with `items` spans or records of one trace."""

    key: bytes | None
    value: bytes
    items: int


@dataclass(slots=True)
class Split:
    """What became of a request's items: received = kept + own + no_session + oversized + rejected.

    `oversized` holds, each in a portion of its own, items that no message has room for."""

    portions: list[Portion] = field(default_factory=list)
    oversized: list[Portion] = field(default_factory=list)
    received: int = 0
    own: int = 0
    no_session: int = 0
    rejected: int = 0
    cause: str = ""

    @property
    def kept(self) -> int:
        return sum(portion.items for portion in self.portions)

    def reject(self, cause: str, count: int = 1) -> None:
        self.rejected += count
        self.cause = self.cause or cause


class Splitter:
    """Knows the resources and scopes it saw last."""

    def __init__(self, marks: Marks, most_bytes: int) -> None:
        """`most_bytes` is the size of the largest value that a message may have."""
        self._surroundings = Surroundings(marks, None)
        self._most = most_bytes

    def split(self, signal: Signal, request: bytes, tenant: str = "") -> Split:
        """`request` is an uncompressed Export{Trace,Logs}ServiceRequest, `tenant` what its sender said of all of it.

        Raises `Malformed` or `TooLarge`, nothing taken, when the envelope is broken; a bad item in a good envelope is
        rejected alone.
        """
        if (fault := name_fault(tenant)) is not None:
            raise Malformed(fault)
        groups = [(group, self._surroundings.of(group)) for group in walk(request)]
        split = Split()
        cutting = _Cutting(signal, request, split, self._most)
        for group, around in groups:
            count = len(group.items)
            split.received += count
            if around.own:
                split.own += count
            elif around.fault is not None:
                split.reject(around.fault, count)
            else:
                cutting.take(group, around)
        cutting.finish()
        return split


class _Cutting:
    """One request on its way."""

    def __init__(self, signal: Signal, request: bytes, split: Split, most: int) -> None:
        self._signal = signal
        self._read = read_span if signal == "traces" else read_record
        self._request = request
        self._view = memoryview(request)
        self._split = split
        self._bundles = Bundles(most)

    def take(self, group: ScopeGroup, around: Around) -> None:
        for start, body, end in group.items:
            read = self._read(self._request[body:end], around.names)
            if isinstance(read, str):
                self._split.reject(read)
            elif not read.trace and read.naming is None and around.session is None:
                self._split.no_session += 1
            else:
                self._place(read.trace, group, self._view[start:end])

    def _place(self, trace: bytes, group: ScopeGroup, item: memoryview) -> None:
        if not self._bundles.add(trace, self._signal, group, item):
            self._split.oversized.append(_portion(alone(trace, self._signal, group, item)))

    def finish(self) -> None:
        self._split.portions += map(_portion, self._bundles.take())


def _portion(bundle: Bundle) -> Portion:
    return Portion(bundle.key.hex().encode() or None, bundle.value, bundle.items)
