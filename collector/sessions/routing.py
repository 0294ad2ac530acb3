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
from collector.otlp.spelled import MOST_HEAD, TRACE_ID_FIRST, attributes_at, is_own_field
from collector.otlp.wire_pb2 import SpanHead
from collector.sessions.book import SessionBook
from collector.sessions.end_markers import EndMarkers, goes_on_from
from collector.sessions.hot import SAMPLED_OUT, Hot, hot
from collector.sessions.items import NO_SPAN, NO_TRACE, read_record, read_span, span_in
from collector.sessions.keys import Kind, Naming, Owner, name_fault
from collector.sessions.parts import Parts, Routed, value_of
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
        book, routed, parts, now_ms = self._book, turn.routed, turn.parts, turn.now_ms
        for slot in book.drop_outside(now_ms):
            routed.sampled_out += parts.drop(slot)
        flags, heads, view, telemetry = signal_flags(signal), parts.heads, turn.view, book.telemetry
        anything_else = bool(parts.ended or parts.rules or parts.roots)
        for slot, placed in parts.placed.items():
            value, size = value_of(heads[slot], placed, view)
            count = len(placed)
            if not telemetry(slot, value, size, count, flags, now_ms):
                routed.full += count
                continue
            routed.kept += count
            if anything_else:
                self._tell(slot, parts, now_ms)
        routed.rows, routed.size = book.take_rows()

    def _tell(self, slot: int, parts: Parts, now_ms: int) -> None:
        """What else the book wants to know of telemetry that is kept."""
        for rule in parts.rules.get(slot, ()):
            self._book.served(slot, rule, now_ms)
        for tenant, trace in parts.roots.get(slot, ()):
            self._book.rooted(slot, tenant, trace, now_ms)
        if slot in parts.ended:
            self._book.ended(slot, now_ms)

    def _spans(self, turn: _Turn, group: ScopeGroup, around: Around) -> None:
        """The loop that everything depends on: each name in it is bound outside, each check is the cheapest left."""
        request, names, rule = turn.request, around.names, around.rule
        parts, placed_of, heads = turn.parts, turn.parts.placed, turn.parts.heads
        find, startswith, ends = request.find, request.startswith, self._ends.in_span
        generation, known_of = self._book.index.generation, self._book.hot.of(turn.tenant).get
        wants_roots, sampled_out, near_end = self._wants_roots, 0, len(request) - MOST_HEAD
        for item in group.items:
            start, body, end = item
            known = known_of(request[body : body + 18])
            if known is not None and known.names is names:
                wire = known.wire
                if (
                    # What is looked for begins far from the request's end: it is nowhere when its place is too near.
                    (
                        (body <= near_end and startswith(wire, at := attributes_at(request, body)))
                        or (
                            startswith(wire, at := find(known.key, body, end) - known.lead)
                            and is_own_field(request, body, at)
                        )
                    )
                    and at + len(wire) <= end
                    and (known.absent is None or find(known.absent, body, end) < 0)
                ):
                    slot = known.slot
                    if slot == SAMPLED_OUT:
                        sampled_out += 1
                        continue
                    if generation[slot] == known.generation:
                        placed = placed_of.get(slot)
                        if placed is None:
                            heads[slot], placed_of[slot] = known.head, [(group, start, end)]
                        else:
                            placed.append((group, start, end))
                        if rule is not None:
                            parts.under(slot, rule)
                        if ends(request, body, end):
                            parts.ended.add(slot)
                        if wants_roots and _is_root(request[body:end]):
                            parts.root(slot, (turn.tenant, request[body + 2 : body + 18]))
                        continue
            self._span(turn, group, around, item)
        turn.routed.sampled_out += sampled_out

    def _span(self, turn: _Turn, group: ScopeGroup, around: Around, item: tuple[int, int, int]) -> None:
        """A span that is not known to name the session of its trace."""
        start, body, end = item
        request, root = turn.request, False
        known = self._spelled(turn, around, body, end)
        if known is not None:
            trace, slot, head = request[body + 2 : body + 18], known.slot, known.head
            self._book.joined(slot, turn.tenant, trace, turn.now_ms)
            self._book.hot.put(turn.tenant, trace, known)
        else:
            if self._wants_roots:
                read = read_span(request[body:end], around.names)
            else:
                read = span_in(request, body, end, around.names)
            if isinstance(read, str):
                turn.routed.reject(read)
                return
            trace, naming, root = read
            slot, head = self._where(turn, around, trace, naming)
        if slot == SAMPLED_OUT:
            turn.routed.sampled_out += 1
            return
        turn.parts.place(slot, head, (group, start, end), around.rule)
        if self._ends.in_span(request, body, end):
            turn.parts.ended.add(slot)
        if root and self._wants_roots:
            turn.parts.root(slot, (turn.tenant, trace))

    def _spelled(self, turn: _Turn, around: Around, body: int, end: int) -> Hot | None:
        """The session that this span names, when one of another trace has named it in the same words, and with its
        first attribute; None when the span has to be read."""
        request = turn.request
        if self._wants_roots or body + MOST_HEAD > len(request) or not request.startswith(TRACE_ID_FIRST, body):
            return None
        at = attributes_at(request, body)
        if at + 2 > end:
            return None
        known = self._book.hot.spelled(turn.tenant, request[at : at + 2 + request[at + 1]])
        if (
            known is None
            or known.names is not around.names
            or at + len(known.wire) > end
            or (known.absent is not None and request.find(known.absent, body, end) >= 0)
            or request[body + 2 : body + 18] == NO_TRACE
            or request[body + 20 : body + 28] == NO_SPAN
            or (known.slot != SAMPLED_OUT and self._book.index.generation[known.slot] != known.generation)
        ):
            return None
        return known

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
            slot, head = self._where(turn, around, trace, naming)
            if slot == SAMPLED_OUT:
                routed.sampled_out += 1
                continue
            turn.parts.place(slot, head, (group, start, end), around.rule)
            if self._ends.in_record(record):
                turn.parts.ended.add(slot)
            if (previous := goes_on_from(record)) is not None:
                self._end(previous, turn)

    def _where(self, turn: _Turn, around: Around, trace: bytes, naming: Naming | None) -> tuple[int, bytes]:
        """Where an item goes that is of this trace (b"" for none) and names this session (or none): a slot, or
        SAMPLED_OUT, and how the rows there begin."""
        book, tenant = self._book, turn.tenant
        if naming is None:
            slot = book.unnamed(tenant, trace, around.session, turn.now_ms)
            return slot, b"" if slot == SAMPLED_OUT else names(Owner(Kind.TRACE, trace.hex(), tenant))
        known = book.hot.get(tenant, trace) if trace else None
        if (
            known is not None
            and known.name == naming.session
            and (known.slot == SAMPLED_OUT or book.index.generation[known.slot] == known.generation)
        ):
            return known.slot, known.head
        owner = Owner(Kind.SESSION, naming.session, tenant)
        slot = book.named(owner, trace, turn.now_ms)
        inside = slot != SAMPLED_OUT
        head, generation = (names(owner), book.index.generation[slot]) if inside else (b"", 0)
        if trace:
            book.hot.put(tenant, trace, hot(naming, around.names, slot, generation, head))
        return slot, head

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
