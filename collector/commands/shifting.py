"""Moving recorded telemetry in time, all of it by the same amount (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.recordings import Recorded


def latest_ns(recordings: Iterable[Recorded]) -> int:
    """When the last thing in the recordings happened; 0 when nothing has a time."""
    return max((time_ns for recorded in recordings for time_ns in _times(recorded)), default=0)


def shifted(recorded: Recorded, by_ns: int) -> Recorded:
    """The same request later by so many nanoseconds. Times that are not set stay so; what cannot be decoded stays
    as it is."""
    try:
        if recorded.signal == "traces":
            spans = ExportTraceServiceRequest.FromString(recorded.payload)
            for group in spans.resource_spans:
                for scope in group.scope_spans:
                    for span in scope.spans:
                        span.start_time_unix_nano = _moved(span.start_time_unix_nano, by_ns)
                        span.end_time_unix_nano = _moved(span.end_time_unix_nano, by_ns)
                        for event in span.events:
                            event.time_unix_nano = _moved(event.time_unix_nano, by_ns)
            return replace(recorded, payload=spans.SerializeToString())
        logs = ExportLogsServiceRequest.FromString(recorded.payload)
    except DecodeError:
        return recorded
    for log_group in logs.resource_logs:
        for log_scope in log_group.scope_logs:
            for record in log_scope.log_records:
                record.time_unix_nano = _moved(record.time_unix_nano, by_ns)
                record.observed_time_unix_nano = _moved(record.observed_time_unix_nano, by_ns)
    return replace(recorded, payload=logs.SerializeToString())


def _moved(time_ns: int, by_ns: int) -> int:
    return min(max(0, time_ns + by_ns), 2**64 - 1) if time_ns else 0


def _times(recorded: Recorded) -> Iterable[int]:
    try:
        if recorded.signal == "traces":
            spans = ExportTraceServiceRequest.FromString(recorded.payload)
            groups = [scope for group in spans.resource_spans for scope in group.scope_spans]
            return [span.end_time_unix_nano for scope in groups for span in scope.spans]
        logs = ExportLogsServiceRequest.FromString(recorded.payload)
        scopes = [scope for log_group in logs.resource_logs for scope in log_group.scope_logs]
        return [record.time_unix_nano or record.observed_time_unix_nano for s in scopes for record in s.log_records]
    except DecodeError:
        return []
