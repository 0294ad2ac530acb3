"""Which rows of the journal does a request become? The hot path: span content is neither decoded nor copied here
unless it is kept.

For each item the session id is read exactly. Where the item's trace was seen before, that takes three looks: the key
of the attribute is found in the span's bytes, what stands around it is, byte for byte, how the trace's session is
spelled, and it is a field of the span itself. All else is parsed, with attribute values left alone (`naming`). Both
ways give the same answer for every valid span, whatever texts it holds: see tests/collector/sessions/test_agreement.py.

One thing the quick way does not see: a span that gives its trace id twice, of which the last counts, is taken for one
of the first. It goes to the session it names all the same; only its second trace learns no name from it.
"""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import DecodeError

from collector.errors import Malformed
from collector.journal.rows import Signal, names, signal_flags
from collector.otlp.envelope import ScopeGroup, walk
from collector.otlp.spelled import is_own_field
from collector.otlp.wire_pb2 import SpanHead
from collector.sessions.book import SessionBook
from collector.sessions.end_markers import EndMarkers, goes_on_from
from collector.sessions.hot import SAMPLED_OUT, hot
from collector.sessions.items import read_record, read_span, span_in
from collector.sessions.keys import Kind, Naming, Owner, name_fault
from collector.sessions.parts import Part, Parts, Routed
from collector.sessions.surroundings import Around, Marks, Surroundings

__all__ = ["Marks", "Routed", "Router"]

MOST_AT_ONCE = 5_000
"""Items routed before others have their turn: some 20 ms."""


class _Turn:
    """One request on its way. `tenant` is that of the group at hand."""

    __slots__ = ("now_ms", "parts", "request", "routed", "tenant", "view")

    def __init__(self, request: bytes, now_ms: int) -> None:
        self.request = request
        self.view = memoryview(request)
        self.now_ms = now_ms
        self.tenant = ""
        self.parts = Parts()
        self.routed = Routed()


class Router:
    """Turns requests into rows, keeping the book as it goes."""

    def __init__(self, book: SessionBook, marks: Marks) -> None:
        self._book = book
        self._wants_roots = book.policy.roots_end
        self._ends = EndMarkers(marks)
        self.surroundings = Surroundings(marks, book.idle_rules.of if book.policy.rules else None)

    def route(self, signal: Signal, request: bytes, tenant: str, now_ms: int) -> Routed:
        """`request` is an uncompressed Export{Trace,Logs}ServiceRequest; `tenant` is what its sender said of all of
        it, "" for nothing: then each resource may. Raises `Malformed`, nothing kept, when its envelope is broken; a
        bad item in a good envelope is rejected alone."""
        return self._route(signal, request, tenant, now_ms, self._walked(request, tenant))

    def turns(
        self, signal: Signal, request: bytes, tenant: str, now_ms: int, most: int = MOST_AT_ONCE
    ) -> Iterator[Routed]:
        """`route` in turns of at most so many items, for whoever lets others have theirs in between. The rows of one
        turn must be on their way to the journal before the next is taken."""
        groups = self._walked(request, tenant)
        return (self._route(signal, request, tenant, now_ms, some) for some in _in_turns(groups, most))

    def _walked(self, request: bytes, tenant: str) -> list[tuple[ScopeGroup, Around]]:
        if (fault := name_fault(tenant)) is not None:
            raise Malformed(fault)
        return [(group, self.surroundings.of(group)) for group in walk(request)]

    def _route(
        self, signal: Signal, request: bytes, tenant: str, now_ms: int, groups: list[tuple[ScopeGroup, Around]]
    ) -> Routed:
        turn = _Turn(request, now_ms)
        routed = turn.routed
        place = self._spans if signal == "traces" else self._records
        for group, around in groups:
            count = len(group.items)
            routed.received += count
            if around.own:
                routed.own += count
            elif around.fault is not None:
                routed.reject(around.fault, count)
            else:
                turn.tenant = tenant or around.tenant
                place(turn, group, around)
        self._write(turn, signal)
        return routed

    def _write(self, turn: _Turn, signal: Signal) -> None:
        """Every part into the book, and the book's rows out."""
        book, routed, parts, now_ms = self._book, turn.routed, turn.parts.by_slot, turn.now_ms
        for part in parts.values():
            part.finish()
        for slot in book.drop_outside(now_ms):
            outside = parts.pop(slot, None)
            routed.sampled_out += outside.count if outside else 0
        flags = signal_flags(signal)
        for slot, part in parts.items():
            if book.full(slot):
                routed.full += part.count
                continue
            routed.kept += part.count
            book.telemetry(slot, part.value, part.size, part.count, flags, now_ms)
            if part.ended or part.rules or part.roots:
                self._tell(slot, part, now_ms)
        routed.rows, routed.size = book.take_rows()

    def _tell(self, slot: int, part: Part, now_ms: int) -> None:
        """What else the book wants to know of telemetry that is kept."""
        for rule in part.rules:
            self._book.served(slot, rule, now_ms)
        for tenant, trace in part.roots:
            self._book.rooted(slot, tenant, trace, now_ms)
        if part.ended:
            self._book.ended(slot, now_ms)

    def _spans(self, turn: _Turn, group: ScopeGroup, around: Around) -> None:
        """The loop that everything depends on: each name in it is bound outside, each check is the cheapest left."""
        request, view, parts, names = turn.request, turn.view, turn.parts.by_slot, around.names
        find, startswith, ends = request.find, request.startswith, self._ends.in_span
        generation, known_of = self._book.index.generation, self._book.hot.of(turn.tenant).get
        wants_roots, sampled_out = self._wants_roots, 0
        for item in group.items:
            start, body, end = item
            known = known_of(request[body : body + 18])
            if known is not None and known.names is names:
                at = find(known.key, body, end) - known.lead
                if (
                    startswith(known.wire, at)  # never where nothing was found: that is too near the request's end
                    and is_own_field(request, body, at)
                    and at + len(known.wire) <= end
                    and (known.absent is None or find(known.absent, body, end) < 0)
                ):
                    slot = known.slot
                    if slot == SAMPLED_OUT:
                        sampled_out += 1
                        continue
                    if generation[slot] == known.generation:
                        part = parts.get(slot)
                        if part is None:
                            part = parts[slot] = Part(known.head)
                        if part.group is not group:
                            part.begin(group, around.rule)
                        part.items.append(view[start:end])
                        part.items_size += end - start
                        if ends(request, body, end):
                            part.ended = True
                        if wants_roots and _is_root(request[body:end]):
                            part.roots += ((turn.tenant, request[body + 2 : body + 18]),)
                        continue
            self._span(turn, group, around, item)
        turn.routed.sampled_out += sampled_out

    def _span(self, turn: _Turn, group: ScopeGroup, around: Around, item: tuple[int, int, int]) -> None:
        """A span that is not known to name the session of its trace."""
        start, body, end = item
        request = turn.request
        if self._wants_roots:
            read = read_span(request[body:end], around.names)
        else:
            read = span_in(request, body, end, around.names)
        if isinstance(read, str):
            turn.routed.reject(read)
            return
        trace, naming, root = read
        part = self._part(turn, around, trace, naming)
        if part is None:
            turn.routed.sampled_out += 1
            return
        part.add(group, around.rule, turn.view[start:end])
        part.ended |= self._ends.in_span(request, body, end)
        if root and self._wants_roots:
            part.roots += ((turn.tenant, trace),)

    def _records(self, turn: _Turn, group: ScopeGroup, around: Around) -> None:
        routed = turn.routed
        for start, body, end in group.items:
            read = read_record(turn.request[body:end], around.names)
            if isinstance(read, str):
                routed.reject(read)
                continue
            trace, naming, record = read
            if naming is None and not trace:
                if around.session is None:
                    routed.no_session += 1
                    continue
                naming = Naming(around.session, 0)
            part = self._part(turn, around, trace, naming)
            if part is None:
                routed.sampled_out += 1
                continue
            part.add(group, around.rule, turn.view[start:end])
            part.ended |= self._ends.in_record(record)
            if (previous := goes_on_from(record)) is not None:
                self._end(previous, turn)

    def _part(self, turn: _Turn, around: Around, trace: bytes, naming: Naming | None) -> Part | None:
        """Where an item goes that names this session (or none); None when that session is not in the sample."""
        book, tenant, now_ms = self._book, turn.tenant, turn.now_ms
        if naming is None:
            slot = book.unnamed(tenant, trace, around.session, now_ms)
            return None if slot == SAMPLED_OUT else turn.parts.of(slot, names(Owner(Kind.TRACE, trace.hex(), tenant)))
        known = book.hot.get(tenant, trace) if trace else None
        if known is not None and known.name == naming.session:
            if known.slot == SAMPLED_OUT:
                return None
            if book.index.generation[known.slot] == known.generation:
                return turn.parts.of(known.slot, known.head)
        owner = Owner(Kind.SESSION, naming.session, tenant)
        slot = book.named(owner, trace, now_ms)
        inside = slot != SAMPLED_OUT
        head, generation = (names(owner), book.index.generation[slot]) if inside else (b"", 0)
        if trace:
            book.hot.put(tenant, trace, hot(naming, around.names, slot, generation, head))
        return turn.parts.of(slot, head) if inside else None

    def _end(self, session: str, turn: _Turn) -> None:
        slot = self._book.index.find(Owner(Kind.SESSION, session, turn.tenant).digest)
        if slot is not None:
            self._book.ended(slot, turn.now_ms)


def _in_turns(groups: list[tuple[ScopeGroup, Around]], most: int) -> Iterator[list[tuple[ScopeGroup, Around]]]:
    """The groups, cut where there are more than `most` items; at least one list of them, as most requests are."""
    turn: list[tuple[ScopeGroup, Around]] = []
    room = most
    for whole, around in groups:
        group = whole
        while len(group.items) > room:
            turn.append((ScopeGroup(group.resource, group.scope, group.items[:room]), around))
            yield turn
            group = ScopeGroup(group.resource, group.scope, group.items[room:])
            turn, room = [], most
        turn.append((group, around))
        room -= len(group.items)
    yield turn


def _is_root(span: bytes) -> bool:
    """Of a span whose trace and session are known. A damaged one is no root."""
    try:
        return not SpanHead.FromString(span).parent_span_id
    except DecodeError:
        return False
