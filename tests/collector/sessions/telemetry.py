"""Short ways to write OTLP requests in tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span


def trace_id(number: int) -> bytes:
    return number.to_bytes(16, "big")


def span_id(number: int) -> bytes:
    return number.to_bytes(8, "big")


def span(trace: int, number: int, parent: int | None = None, *, start: int = 0, **attributes: str) -> Span:
    """A span; attributes are written with `__` for a dot, so that `session__id="s"` names a session."""
    made = Span(trace_id=trace_id(trace), span_id=span_id(number), name=f"span {number}")
    made.start_time_unix_nano = start or number
    made.end_time_unix_nano = made.start_time_unix_nano + 1
    if parent is not None:
        made.parent_span_id = span_id(parent)
    for key, value in attributes.items():
        made.attributes.add(key=key.replace("__", ".")).value.string_value = value
    return made


def record(trace: int | None, event: str = "", *, time: int = 1, **attributes: str) -> LogRecord:
    made = LogRecord(time_unix_nano=time, event_name=event)
    if trace is not None:
        made.trace_id = trace_id(trace)
    for key, value in attributes.items():
        made.attributes.add(key=key.replace("__", ".")).value.string_value = value
    return made


def trace_request(spans: Iterable[Span], *, resource: Mapping[str, str] | None = None, scope: str = "tests") -> bytes:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    for key, value in (resource or {"service.name": "shop"}).items():
        group.resource.attributes.add(key=key).value.string_value = value
    inner = group.scope_spans.add()
    inner.scope.name = scope
    inner.spans.extend(spans)
    return request.SerializeToString()


def log_request(
    records: Iterable[LogRecord], *, resource: Mapping[str, str] | None = None, scope: str = "tests"
) -> bytes:
    request = ExportLogsServiceRequest()
    group = request.resource_logs.add()
    for key, value in (resource or {"service.name": "shop"}).items():
        group.resource.attributes.add(key=key).value.string_value = value
    inner = group.scope_logs.add()
    inner.scope.name = scope
    inner.log_records.extend(records)
    return request.SerializeToString()
