"""Which rows of the journal does a request become? The hot path: span content is neither decoded nor copied here
unless it is kept.

For each item the session id is read exactly: from a parse that leaves attribute values alone (`wire.proto`), or, when
the item's trace was seen before, by finding the attribute's key and comparing what follows, byte for byte, with how
the trace's session is spelled there. Text inside a prompt can look like an attribute; all it can ever do is to agree
with the session its trace already has, so it cannot move telemetry into another session.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from google.protobuf.message import DecodeError

from collector.errors import Malformed
from collector.journal.rows import Row, Signal, names, signal_flags
from collector.otlp.envelope import Piece, ScopeGroup, embedded, encode_varint, walk, wrap
from collector.otlp.wire_pb2 import RecordHead, ResourceHead, ScopeHead, SpanHead
from collector.sessions.book import SessionBook
from collector.sessions.hot import SAMPLED_OUT
from collector.sessions.keys import (
    SESSION_ID,
    Kind,
    Owner,
    RawAttributes,
    SessionNames,
    is_set,
    name_fault,
    named_by,
    text_of,
)

_NO_TRACE = bytes(16)
_NO_SPAN = bytes(8)
_SESSION_KEY = SESSION_ID.encode()
_TRACE_ID_FIRST = b"\x0a\x10"  # field 1, 16 bytes: how every known encoder begins a span
_EVENT_NAME = "event.name"
_SESSION_START = "session.start"
_PREVIOUS_ID = "session.previous_id"
_CACHED_RESOURCES = 10_000
_CACHED_BYTES = 32 * 1024**2


@dataclass(frozen=True, slots=True)
class Marks:
    """What in the telemetry means more than telemetry. `own_scope`: ours, never to be judged."""

    own_scope: str = "spanjudge"
    own_service: str = "spanjudge"
    names: SessionNames = field(default_factory=SessionNames)
    end_events: tuple[str, ...] = ("session.end",)
    end_attributes: tuple[str, ...] = ()


@dataclass(slots=True)
class Routed:
    """What became of a request's items: received = kept + sampled_out + own + no_session + full + rejected."""

    rows: list[Row] = field(default_factory=list)
    size: int = 0
    received: int = 0
    kept: int = 0
    sampled_out: int = 0
    own: int = 0
    no_session: int = 0
    full: int = 0
    rejected: int = 0
    cause: str = ""

    def reject(self, cause: str, count: int = 1) -> None:
        self.rejected += count
        self.cause = self.cause or cause


@dataclass(frozen=True, slots=True)
class _Around:
    """What resource and scope say of the items in them: `session` is the one the resource names, `names` the
    attributes by which an item may name its own, `fault` why none of them can be taken, `rule` the idle rule of the
    service (None where there are no such rules)."""

    session: str | None
    own: bool
    names: tuple[str, ...]
    fault: str | None = None
    rule: str | None = None


@dataclass(slots=True)
class _Part:
    """What of one request goes to one session or trace: the row it will become."""

    value: list[Piece]
    """the head of the row, then finished groups"""
    size: int
    count: int = 0
    group: ScopeGroup | None = None
    """the one that `items` are of"""
    items: list[Piece] = field(default_factory=list)
    """views into the request"""
    items_size: int = 0
    ended: bool = False
    rules: set[str] = field(default_factory=set)
    """of the services that it is from"""
    roots: list[bytes] = field(default_factory=list)
    """traces whose root span is in it, where anybody wants to know"""

    def add(self, group: ScopeGroup, rule: str | None, item: memoryview) -> None:
        if group is not self.group:
            self.begin(group, rule)
        self.items.append(item)
        self.items_size += len(item)

    def begin(self, group: ScopeGroup, rule: str | None) -> None:
        """What comes now is of this group. Each part turns its own page: a request may have as many groups as parts,
        and going through all parts for each group would take the square of them."""
        self.finish()
        self.group = group
        if rule is not None:
            self.rules.add(rule)

    def finish(self) -> None:
        if self.group is None or not self.items:
            return
        pieces = wrap(self.group.resource, self.group.scope, self.items, self.items_size)
        self.size += len(pieces[0]) + self.items_size
        self.count += len(self.items)
        self.value += pieces
        self.items, self.items_size = [], 0


class Router:
    """Turns requests into rows, keeping the book as it goes."""

    def __init__(self, book: SessionBook, marks: Marks) -> None:
        self._book = book
        self._marks = marks
        self._wants_roots, self._wants_rules = book.policy.roots_end, bool(book.policy.rules)
        self._end_events = frozenset(marks.end_events)
        self._needles = tuple(name.encode() for name in (*marks.end_events, *marks.end_attributes))
        self._around_cache: dict[tuple[bytes, bytes], _Around] = {}
        self._around_bytes = 0

    def route(self, signal: Signal, request: bytes, tenant: str, now_ms: int) -> Routed:
        """`request` is an uncompressed Export{Trace,Logs}ServiceRequest. Raises `Malformed`, nothing kept, when its
        envelope is broken; a bad item in a good envelope is rejected alone."""
        if (fault := name_fault(tenant)) is not None:
            raise Malformed(fault)
        groups = [(group, self._around(group)) for group in walk(request)]
        routed = Routed()
        parts: dict[int, _Part] = {}
        place = self._spans if signal == "traces" else self._records
        for group, around in groups:
            routed.received += len(group.items)
            if around.own:
                routed.own += len(group.items)
                continue
            if around.fault is not None:
                routed.reject(around.fault, len(group.items))
                continue
            place(request, group, around, tenant, parts, routed, now_ms)
        for part in parts.values():
            part.finish()
        for slot in self._book.drop_outside(now_ms):
            outside = parts.pop(slot, None)
            routed.sampled_out += outside.count if outside else 0
        flags = signal_flags(signal)
        for slot, part in parts.items():
            if self._book.full(slot):
                routed.full += part.count
                continue
            routed.kept += part.count
            self._book.telemetry(slot, part.value, part.size, part.count, flags, now_ms)
            self._tell(slot, part, tenant, now_ms)
        routed.rows, routed.size = self._book.take_rows()
        return routed

    def _tell(self, slot: int, part: _Part, tenant: str, now_ms: int) -> None:
        """What else the book wants to know of telemetry that is kept."""
        for rule in part.rules:
            self._book.served(slot, rule, now_ms)
        for trace in part.roots:
            self._book.rooted(slot, tenant, trace, now_ms)
        if part.ended:
            self._book.ended(slot, now_ms)

    def _spans(
        self,
        request: bytes,
        group: ScopeGroup,
        around: _Around,
        tenant: str,
        parts: dict[int, _Part],
        routed: Routed,
        now_ms: int,
    ) -> None:
        view = memoryview(request)
        generation = self._book.index.generation
        find, startswith, known_of = request.find, request.startswith, self._book.hot.of(tenant).get
        wants_roots, sampled_out = self._wants_roots, 0
        for start, body, end in group.items:
            if startswith(_TRACE_ID_FIRST, body):
                known = known_of(request[body + 2 : body + 18])
                if known is not None:
                    at = find(_SESSION_KEY, body, end)
                    if at >= 0 and startswith(known.wire, at) and at + len(known.wire) <= end:
                        slot = known.slot
                        if slot == SAMPLED_OUT:
                            sampled_out += 1
                            continue
                        if generation[slot] == known.generation:
                            part = parts.get(slot)
                            if part is None:
                                part = parts[slot] = _Part([known.head], len(known.head))
                            if part.group is not group:  # `part.add`, without the call
                                part.begin(group, around.rule)
                            part.items.append(view[start:end])
                            part.items_size += end - start
                            if self._may_end(request, body, end):
                                part.ended |= self._ends_unread(request[body:end])
                            if wants_roots and _is_root(request[body:end]):
                                part.roots.append(request[body + 2 : body + 18])
                            continue
            self._span_exactly(request, group, (start, body, end), around, tenant, parts, routed, now_ms)
        routed.sampled_out += sampled_out

    def _span_exactly(
        self,
        request: bytes,
        group: ScopeGroup,
        item: tuple[int, int, int],
        around: _Around,
        tenant: str,
        parts: dict[int, _Part],
        routed: Routed,
        now_ms: int,
    ) -> None:
        start, body, end = item
        try:
            span = SpanHead.FromString(request[body:end])
        except DecodeError:
            routed.reject(f"a span of {end - body} bytes cannot be decoded")
            return
        trace = span.trace_id
        if len(trace) != 16 or trace == _NO_TRACE:
            routed.reject(f"a span has a trace id of {len(trace)} bytes, 16 that are not all zero expected")
            return
        if len(span.span_id) != 8 or span.span_id == _NO_SPAN:
            routed.reject(f"a span has a span id of {len(span.span_id)} bytes, 8 that are not all zero expected")
            return
        name = named_by(span.attributes, around.names)
        if (fault := name_fault(name)) is not None:
            routed.reject(fault)
            return
        part = self._part(name, trace, around, tenant, parts, now_ms)
        if part is None:
            routed.sampled_out += 1
            return
        part.add(group, around.rule, memoryview(request)[start:end])
        if self._may_end(request, body, end):
            part.ended |= self._span_ends(span)
        if self._wants_roots and not span.parent_span_id:
            part.roots.append(trace)

    def _records(
        self,
        request: bytes,
        group: ScopeGroup,
        around: _Around,
        tenant: str,
        parts: dict[int, _Part],
        routed: Routed,
        now_ms: int,
    ) -> None:
        for start, body, end in group.items:
            try:
                record = RecordHead.FromString(request[body:end])
            except DecodeError:
                routed.reject(f"a log record of {end - body} bytes cannot be decoded")
                continue
            trace = record.trace_id if len(record.trace_id) == 16 and record.trace_id != _NO_TRACE else b""
            name = named_by(record.attributes, around.names)
            if (fault := name_fault(name)) is not None:
                routed.reject(fault)
                continue
            if name is None and not trace:
                name = around.session
                if name is None:
                    routed.no_session += 1
                    continue
            part = self._part(name, trace, around, tenant, parts, now_ms)
            if part is None:
                routed.sampled_out += 1
                continue
            part.add(group, around.rule, memoryview(request)[start:end])
            event = record.event_name.decode("utf-8", "replace") or _text(record.attributes, _EVENT_NAME)
            part.ended |= event in self._end_events or self._has_end_attribute(record.attributes)
            if event == _SESSION_START and (previous := _text(record.attributes, _PREVIOUS_ID)):
                self._end_previous(previous, tenant, now_ms)

    def _part(
        self,
        name: str | None,
        trace: bytes,
        around: _Around,
        tenant: str,
        parts: dict[int, _Part],
        now_ms: int,
    ) -> _Part | None:
        """Where an item goes that names this session (or none); None when that session is not in the sample."""
        known = self._book.hot.of(tenant).get(trace)
        if known is not None and known.name == name:
            if known.slot == SAMPLED_OUT:
                return None
            if self._book.index.generation[known.slot] == known.generation:
                return _part_of(parts, known.slot, known.head)
        if name is not None:
            owner = Owner(Kind.SESSION, name, tenant)
            head = names(owner)
            slot = self._book.named(owner, trace, head, _spelled(name), now_ms)
        else:
            head = names(Owner(Kind.TRACE, trace.hex(), tenant))
            slot = self._book.unnamed(tenant, trace, around.session, now_ms)
        if slot == SAMPLED_OUT:
            return None
        return _part_of(parts, slot, head)

    def _around(self, group: ScopeGroup) -> _Around:
        """What resource and scope say. The same few come again and again, so they are remembered by their bytes."""
        key = (group.resource, group.scope)
        known = self._around_cache.get(key)
        if known is None:
            try:
                attributes = ResourceHead.FromString(embedded(group.resource, 1)).attributes
                scope = ScopeHead.FromString(embedded(group.scope, 1)).name.decode("utf-8", "replace")
            except DecodeError as error:
                raise Malformed(f"a resource or scope cannot be decoded: {error}") from error
            service = _text(attributes, "service.name")
            own = scope == self._marks.own_scope or service == self._marks.own_service
            rule = self._book.idle_rules.of(service or "") if self._wants_rules else None
            names_here = self._marks.names.of(scope)
            session = named_by(attributes, names_here)
            known = _Around(session, own, names_here, name_fault(session), rule)
            self._remember(key, known)
        return known

    def _remember(self, key: tuple[bytes, bytes], around: _Around) -> None:
        size = len(key[0]) + len(key[1])
        if len(self._around_cache) >= _CACHED_RESOURCES or self._around_bytes + size > _CACHED_BYTES:
            self._around_cache.clear()
            self._around_bytes = 0
        if size <= _CACHED_BYTES:
            self._around_cache[key] = around
            self._around_bytes += size

    def _may_end(self, request: bytes, body: int, end: int) -> bool:
        for needle in self._needles:  # noqa: SIM110 - any() costs as much again, for every span that is kept
            if request.find(needle, body, end) >= 0:
                return True
        return False

    def _ends_unread(self, span: bytes) -> bool:
        """`_span_ends` of a span not yet looked at. A damaged one ends nothing; it is told when the session is read."""
        try:
            return self._span_ends(SpanHead.FromString(span))
        except DecodeError:
            return False

    def _span_ends(self, span: SpanHead) -> bool:
        """A cheap look has found the text of an end marker somewhere in the span: is it really one?"""
        events = (event.name.decode("utf-8", "replace") for event in span.events)
        return any(event in self._end_events for event in events) or self._has_end_attribute(span.attributes)

    def _has_end_attribute(self, attributes: RawAttributes) -> bool:
        return any(name in attributes and is_set(attributes[name]) for name in self._marks.end_attributes)

    def _end_previous(self, session: str, tenant: str, now_ms: int) -> None:
        slot = self._book.index.find(Owner(Kind.SESSION, session, tenant).digest)
        if slot is not None:
            self._book.ended(slot, now_ms)


def _is_root(span: bytes) -> bool:
    """Of a span whose trace and session are known. A damaged one is no root."""
    try:
        return not SpanHead.FromString(span).parent_span_id
    except DecodeError:
        return False


def _part_of(parts: dict[int, _Part], slot: int, head: bytes) -> _Part:
    part = parts.get(slot)
    if part is None:
        part = parts[slot] = _Part([head], len(head))
    return part


def _spelled(name: str) -> bytes:
    """`session.id` = `name` as encoders write it, from the key's text on. An encoder that writes it otherwise loses
    nothing but speed."""
    text = name.encode()
    value = b"\x0a" + encode_varint(len(text)) + text
    return _SESSION_KEY + b"\x12" + encode_varint(len(value)) + value


def _text(attributes: RawAttributes, name: str) -> str | None:
    return text_of(attributes[name]) if name in attributes else None
