"""What one span or log record says of where it belongs: its trace, the session it names, or why it cannot be taken
(pure). Everything that takes telemetry reads items here: the router of one process, and the roles that use Kafka."""

from __future__ import annotations

from typing import NamedTuple

from google.protobuf.message import DecodeError

from collector.otlp.spelled import TRACE_ID_FIRST
from collector.otlp.wire_pb2 import RecordHead, SpanHead
from collector.sessions.keys import Naming, name_fault
from collector.sessions.naming import named_at_sight, named_by_record, named_by_span

NO_TRACE = bytes(16)
NO_SPAN = bytes(8)


class SpanItem(NamedTuple):
    """`trace` has 16 bytes, not all zero."""

    trace: bytes
    naming: Naming | None
    root: bool


class RecordItem(NamedTuple):
    """`trace` is empty where the record is not tied to one."""

    trace: bytes
    naming: Naming | None
    head: RecordHead


def read_span(raw: bytes, names: tuple[str, ...]) -> SpanItem | str:
    """`raw` is a serialized Span, `names` are the attributes that may name its session, strongest first. A text says
    why the span cannot be taken, in words for its sender."""
    try:
        span = SpanHead.FromString(raw)
    except DecodeError:
        return f"a span of {len(raw)} bytes cannot be decoded"
    if (fault := _fault_of(span)) is not None:
        return fault
    naming = named_by_span(raw, span, names)
    if naming is not None and (fault := name_fault(naming.session)) is not None:
        return fault
    return SpanItem(span.trace_id, naming, not span.parent_span_id)


def span_in(request: bytes, body: int, end: int, names: tuple[str, ...]) -> SpanItem | str:
    """As `read_span`, of the span between `body` and `end` of a request, which is parsed only where it must be. Of a
    span that names its session at sight `root` is not looked at, and False."""
    if request.startswith(TRACE_ID_FIRST, body):
        trace, number = request[body + 2 : body + 18], request[body + 20 : body + 28]
        if trace != NO_TRACE and number != NO_SPAN:
            naming = named_at_sight(request, body, end, names)
            if naming is not None:
                return SpanItem(trace, naming, False)
    return read_span(request[body:end], names)


def read_record(raw: bytes, names: tuple[str, ...]) -> RecordItem | str:
    """As `read_span`, of a serialized LogRecord."""
    try:
        record = RecordHead.FromString(raw)
    except DecodeError:
        return f"a log record of {len(raw)} bytes cannot be decoded"
    naming = named_by_record(raw, record, names)
    if naming is not None and (fault := name_fault(naming.session)) is not None:
        return fault
    trace = record.trace_id if len(record.trace_id) == 16 and record.trace_id != NO_TRACE else b""
    return RecordItem(trace, naming, record)


def _fault_of(span: SpanHead) -> str | None:
    """Why a span that could be parsed cannot be kept; None when it can."""
    trace, number = span.trace_id, span.span_id
    if len(trace) != 16 or trace == NO_TRACE:
        return f"a span has a trace id of {len(trace)} bytes, 16 that are not all zero expected"
    if len(number) != 8 or number == NO_SPAN:
        return f"a span has a span id of {len(number)} bytes, 8 that are not all zero expected"
    return None
