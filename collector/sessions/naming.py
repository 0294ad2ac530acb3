"""Which session does one span or log record name itself, exactly (pure)?

There are three ways, each right where the one before cannot tell. The strongest name is read from the span's bytes
where it stands. A parse that takes attributes as a map is right unless the item repeats one, or gives it in pieces.
Such an item is read as it will be when its session is closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from google.protobuf.message import DecodeError

from collector.otlp import telemetry_pb2 as pb
from collector.otlp.spelled import RECORD_ATTRIBUTE, SPAN_ATTRIBUTE, own_text, said_once
from collector.otlp.values import text
from collector.otlp.wire_pb2 import RecordHead, SpanHead
from collector.sessions.keys import Naming, RawAttributes, named_by, text_of

_Names: TypeAlias = tuple[str, ...]


def named_at_sight(request: bytes, body: int, end: int, names: _Names) -> Naming | None:
    """By a span that was not parsed, when its strongest name stands where names usually do; None when it, or what else
    the span holds, has to be read. The span begins with `TRACE_ID_FIRST`."""
    raw = own_text(request, body, end, names[0].encode()) if names else None
    return Naming(raw.decode("utf-8", "replace"), 0) if raw else None


def named_by_span(raw: bytes, head: SpanHead, names: _Names) -> Naming | None:
    """`head` is the quick parse of the span in `raw`, `names` are what may name a session, strongest first."""
    named, sure = _by_map(raw, SPAN_ATTRIBUTE, head.attributes, names)
    return named if sure else _in_order(pb.Span, raw, head.attributes, names)


def named_by_record(raw: bytes, head: RecordHead, names: _Names) -> Naming | None:
    named, sure = _by_map(raw, RECORD_ATTRIBUTE, head.attributes, names)
    return named if sure else _in_order(pb.LogRecord, raw, head.attributes, names)


def _by_map(raw: bytes, number: int, attributes: RawAttributes, names: _Names) -> tuple[Naming | None, bool]:
    """What the quick parse says, and whether that is sure."""
    for place, name in enumerate(names):
        if name in attributes:
            session = text_of(attributes[name])
            if session is None or not said_once(raw, number, name.encode(), session):
                return None, False
            return Naming(session, place), True
    return None, True


def _in_order(
    kind: type[pb.Span] | type[pb.LogRecord], raw: bytes, attributes: RawAttributes, names: _Names
) -> Naming | None:
    try:
        pairs = kind.FromString(raw).attributes
    except DecodeError:  # will be lost when its session is read, and counted there
        return named_by(attributes, names)
    return _first_named(pairs, names)


def _first_named(pairs: Iterable[pb.KeyValue], names: _Names) -> Naming | None:
    first: dict[str, pb.AnyValue] = {}
    for pair in pairs:
        first.setdefault(text(pair.key), pair.value)
    for place, name in enumerate(names):
        if name in first and (session := text(first[name].string_value)):
            return Naming(session, place)
    return None
