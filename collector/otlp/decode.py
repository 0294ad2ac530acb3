"""Stored OTLP bytes of one session to `Session` (pure).

Lenient: a span or record that cannot be read loses only itself and leaves a note for people. The result depends on
the set of rows, never on the order in which they came or on how often one came: senders retry whole requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple, TypeVar

from google.protobuf.message import DecodeError, Message

from collector.errors import Malformed, TooLarge
from collector.otlp import telemetry_pb2 as pb
from collector.otlp.envelope import embedded, walk
from collector.otlp.values import attributes, text, value
from extractors.spans import LogRecord, Resource, Scope, Session, Span, SpanEvent, SpanLink, StatusCode

_M = TypeVar("_M", bound=Message)

_BEGINNING = 64
"""Bytes of a span or record that with its length tell it apart from most others: ids and times come first. Only what
is alike in these is compared, and hashed, as a whole."""

_NO_TRACE_ID, _NO_SPAN_ID = bytes(16), bytes(8)
_STATUS = {1: StatusCode.OK, 2: StatusCode.ERROR}


class _Item(NamedTuple):
    """A span or record still as bytes, with what it came in. `place` counts the items of its resource, from 0."""

    resource: bytes
    scope: bytes
    raw: bytes
    place: int

    @property
    def content(self) -> tuple[bytes, bytes, bytes]:
        return self.raw, self.scope, self.resource


def decode_session(session_id: str, traces: Sequence[bytes], logs: Sequence[bytes], tenant: str = "") -> Session:
    """One session from its stored rows: `TracesData` messages in `traces`, `LogsData` messages in `logs`.

    Never raises on content. A span that came in several versions is kept in the one that ended last; among equals
    the one with more attributes and events, then the greater bytes. Records are put in the order of their time
    (observed time where none is given), observed time, place within the request, bytes; `position` counts that order.
    """
    reader = _Reader()
    spans = reader.spans(traces)
    records = reader.records(logs)
    notes = tuple(sorted(reader.notes))
    return Session(session_id, spans, records, tenant, notes, reader.lost_spans, reader.lost_records)


class _Reader:
    """Decodes items and gathers what was lost. Equal resources and scopes, met again and again, are built once."""

    def __init__(self) -> None:
        self.notes: set[str] = set()
        self.lost_spans = self.lost_records = 0
        self._resources: dict[bytes, Resource] = {}
        self._scopes: dict[bytes, Scope] = {}

    def spans(self, rows: Sequence[bytes]) -> tuple[Span, ...]:
        best: dict[tuple[str, str], tuple[_Item, Span]] = {}
        for item in _distinct(self._items(rows, "traces")):
            span = self._span(item)
            if span is None:
                self.lost_spans += 1
                continue
            key = (span.trace_id, span.span_id)
            if key not in best or _completeness(item, span) > _completeness(*best[key]):
                best[key] = (item, span)
        found = [span for _, span in best.values()]
        return tuple(sorted(found, key=lambda span: (span.start_ns, span.span_id, span.trace_id)))

    def records(self, rows: Sequence[bytes]) -> tuple[LogRecord, ...]:
        found = []
        for item in _distinct(self._items(rows, "logs")):
            record = self._record(item)
            if record is None:
                self.lost_records += 1
                continue
            found.append(((record.time_ns, record.observed_ns, item.place, item.content), record))
        found.sort(key=lambda pair: pair[0])
        return tuple(replace(record, position=position) for position, (_, record) in enumerate(found))

    def _items(self, rows: Sequence[bytes], signal: str) -> Iterator[_Item]:
        for row in rows:
            try:
                groups = walk(row)
            except (Malformed, TooLarge):
                yield from self._items_as_far_as_possible(row, signal)
                continue
            around: bytes | None = None
            resource, index = b"", 0
            for group in groups:
                if group.resource is not around:  # the scopes of one resource share it, and its count of items
                    around, index = group.resource, 0
                    resource = embedded(around, 1)
                scope = embedded(group.scope, 1)
                for _, start, end in group.items:
                    yield _Item(resource, scope, row[start:end], index)
                    index += 1

    def _items_as_far_as_possible(self, row: bytes, signal: str) -> Iterator[_Item]:
        """Of a row whose envelope is damaged somewhere: each level parsed by itself."""
        for raw_group in self._resource_groups(row, signal):
            group = self._parse(pb.ResourceGroup, raw_group, f"{signal} of one resource")
            if group is None:
                continue
            resource, index = group.resource, 0
            for raw_scope_group in group.scope_groups:
                scope_group = self._parse(pb.ScopeGroup, raw_scope_group, f"{signal} of one scope")
                if scope_group is None:
                    continue
                scope = scope_group.scope
                for raw in scope_group.items:
                    yield _Item(resource, scope, raw, index)
                    index += 1

    def _resource_groups(self, row: bytes, signal: str) -> Sequence[bytes]:
        if signal == "traces":
            traces = self._parse(pb.TracesData, row, "a stored row of traces")
            return traces.resource_spans if traces else ()
        logs = self._parse(pb.LogsData, row, "a stored row of logs")
        return logs.resource_logs if logs else ()

    def _span(self, item: _Item) -> Span | None:
        raw = self._parse(pb.Span, item.raw, "a span")
        if raw is None:
            return None
        trace_id, span_id = _hex(raw.trace_id, _NO_TRACE_ID), _hex(raw.span_id, _NO_SPAN_ID)
        if trace_id is None or span_id is None:
            self.notes.add(f"a span ({_name(item.raw)}) was left out: its trace id or span id is not valid")
            return None
        events, links, status = raw.events, raw.links, raw.status
        return Span(  # by position: names of sixteen fields cost a third more
            trace_id,
            span_id,
            _hex(raw.parent_span_id, _NO_SPAN_ID),
            text(raw.name),
            raw.kind,
            raw.start_time_unix_nano,
            raw.end_time_unix_nano,
            attributes(raw.attributes, self.notes),
            tuple(map(self._event, events)) if events else (),
            tuple(self._links(links)) if links else (),
            _STATUS.get(status.code, StatusCode.UNSET),
            text(status.message),
            self._resource(item.resource),
            self._scope(item.scope),
            raw.dropped_attributes_count,
            raw.dropped_events_count,
        )

    def _event(self, raw: pb.Span.Event) -> SpanEvent:
        return SpanEvent(text(raw.name), raw.time_unix_nano, attributes(raw.attributes, self.notes))

    def _links(self, links: Iterable[pb.Span.Link]) -> Iterator[SpanLink]:
        for link in links:
            trace_id, span_id = _hex(link.trace_id, _NO_TRACE_ID), _hex(link.span_id, _NO_SPAN_ID)
            if trace_id is None or span_id is None:
                self.notes.add("a span link was left out: its trace id or span id is not valid")
                continue
            yield SpanLink(trace_id, span_id, attributes(link.attributes, self.notes))

    def _record(self, item: _Item) -> LogRecord | None:
        raw = self._parse(pb.LogRecord, item.raw, "a log record")
        if raw is None:
            return None
        attrs = attributes(raw.attributes, self.notes)
        named = attrs.get("event.name")
        return LogRecord(
            trace_id=_hex(raw.trace_id, _NO_TRACE_ID),
            span_id=_hex(raw.span_id, _NO_SPAN_ID),
            # OTLP leaves the time out where only the observed time is known.
            time_ns=raw.time_unix_nano or raw.observed_time_unix_nano,
            observed_ns=raw.observed_time_unix_nano,
            event_name=text(raw.event_name) or (named if isinstance(named, str) and named else None),
            severity=raw.severity_number,
            body=value(raw.body, self.notes),
            attributes=attrs,
            resource=self._resource(item.resource),
            scope=self._scope(item.scope),
            dropped_attributes=raw.dropped_attributes_count,
        )

    def _resource(self, raw: bytes) -> Resource:
        known = self._resources.get(raw)
        if known is None:
            message = self._parse(pb.Resource, raw, "a resource")
            known = Resource(attributes(message.attributes, self.notes)) if message else Resource()
            self._resources[raw] = known
        return known

    def _scope(self, raw: bytes) -> Scope:
        known = self._scopes.get(raw)
        if known is None:
            message = self._parse(pb.Scope, raw, "an instrumentation scope")
            known = Scope() if message is None else self._told_scope(message)
            self._scopes[raw] = known
        return known

    def _told_scope(self, raw: pb.Scope) -> Scope:
        return Scope(text(raw.name), text(raw.version), attributes(raw.attributes, self.notes))

    def _parse(self, kind: type[_M], raw: bytes, what: str) -> _M | None:
        try:
            return kind.FromString(raw)
        except DecodeError as error:
            self.notes.add(f"{what} ({_name(raw)}) could not be decoded: {error}")
            return None


def _distinct(items: Iterator[_Item]) -> list[_Item]:
    """Items of different content. Of equal ones the earliest place in a request counts, whichever row came first."""
    alike: dict[tuple[int, bytes], list[_Item]] = {}
    for item in items:
        alike.setdefault((len(item.raw), item.raw[:_BEGINNING]), []).append(item)
    return [one for group in alike.values() for one in (group if len(group) == 1 else _earliest(group))]


def _earliest(items: list[_Item]) -> Iterable[_Item]:
    found: dict[tuple[bytes, bytes, bytes], _Item] = {}
    for item in items:
        content = item.content
        known = found.get(content)
        if known is None or item.place < known.place:
            found[content] = item
    return found.values()


def _completeness(item: _Item, span: Span) -> tuple[int, int, tuple[bytes, bytes, bytes]]:
    return span.end_ns, len(span.attributes) + len(span.events), item.content


def _hex(raw: bytes, absent: bytes) -> str | None:
    """An id as lower-case hex; None when it is absent, all zeros (`absent`) or of another length."""
    return raw.hex() if len(raw) == len(absent) and raw != absent else None


def _name(raw: bytes) -> str:
    """Tells damaged pieces apart in notes without quoting their content."""
    return f"{len(raw)} bytes, sha256 {sha256(raw).hexdigest()[:8]}"
