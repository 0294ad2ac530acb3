"""A short way to write OTLP: spans and log records of one process, on a clock that is moved by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.recordings import Recorded

Facts: TypeAlias = Mapping[str, Any]
Event: TypeAlias = tuple[str, int, Facts]
"""Name, time, attributes."""

_MS = 1_000_000


class Recorder:
    """Writes down what one process emits. Ids are hashes of `seed`, so the same play gives the same ids; times
    count from 0, to be moved to now when the play is over."""

    def __init__(self, seed: str, resource: Facts, scope: str, scope_version: str = "") -> None:
        self.now_ns = 1_000 * _MS
        self._seed = seed
        self._count = 0
        self._resource = resource
        self._scope = (scope, scope_version)
        self._spans: list[Span] = []
        self._records: list[LogRecord] = []
        self.trace_id = self.new_id(16)

    def wait(self, milliseconds: int) -> int:
        """Let time pass; returns the new time."""
        self.now_ns += milliseconds * _MS
        return self.now_ns

    def new_id(self, size: int = 8) -> bytes:
        self._count += 1
        return hashlib.sha256(f"{self._seed}/{self._count}".encode()).digest()[:size]

    def new_trace(self) -> None:
        self.trace_id = self.new_id(16)

    def span(
        self,
        name: str,
        span_id: bytes,
        parent: bytes | None,
        start_ns: int,
        facts: Facts,
        *,
        kind: int = 1,
        events: Sequence[Event] = (),
        error: str | None = None,
        ok: bool = False,
    ) -> None:
        """A span that ends now. `error` is its status message; `ok` sets the status that some harnesses set."""
        code = Status.STATUS_CODE_ERROR if error is not None else Status.STATUS_CODE_OK if ok else 0
        span = Span(
            trace_id=self.trace_id,
            span_id=span_id,
            parent_span_id=parent or b"",
            name=name,
            kind=kind,  # type: ignore[arg-type]  # an enum's number
            start_time_unix_nano=start_ns,
            end_time_unix_nano=self.now_ns,
            attributes=attributes(facts),
            status=Status(code=code, message=error or ""),  # type: ignore[arg-type]  # as above
        )
        for event, at_ns, more in events:
            span.events.add(name=event, time_unix_nano=at_ns, attributes=attributes(more))
        self._spans.append(span)

    def record(self, body: str, span_id: bytes, facts: Facts) -> None:
        """A log record, now, tied to a span."""
        self._records.append(
            LogRecord(
                time_unix_nano=self.now_ns,
                observed_time_unix_nano=self.now_ns,
                body=AnyValue(string_value=body),
                trace_id=self.trace_id,
                span_id=span_id,
                attributes=attributes(facts),
            )
        )

    def requests(self, logs_scope: tuple[str, str] = ("", "")) -> list[Recorded]:
        """What was written down, as export requests: first the records, then the spans in two batches, as they end,
        so that the roots, which often name the session, come last."""
        middle = len(self._spans) // 2
        batches = [batch for batch in (self._spans[:middle], self._spans[middle:]) if batch]
        found = [self._logs_request(logs_scope)] if self._records else []
        return found + [self._traces_request(batch) for batch in batches]

    def _traces_request(self, spans: Sequence[Span]) -> Recorded:
        request = ExportTraceServiceRequest()
        group = request.resource_spans.add()
        group.resource.attributes.extend(attributes(self._resource))
        scope = group.scope_spans.add()
        scope.scope.name, scope.scope.version = self._scope
        scope.spans.extend(spans)
        return Recorded("traces", request.SerializeToString(), len(spans), self._seed)

    def _logs_request(self, named: tuple[str, str]) -> Recorded:
        request = ExportLogsServiceRequest()
        group = request.resource_logs.add()
        group.resource.attributes.extend(attributes(self._resource))
        scope = group.scope_logs.add()
        scope.scope.name, scope.scope.version = named
        scope.log_records.extend(self._records)
        return Recorded("logs", request.SerializeToString(), len(self._records), self._seed)


def attributes(facts: Facts) -> list[KeyValue]:
    """None leaves an attribute out."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in facts.items() if value is not None]


def any_value(value: Any) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case list() | tuple():
            made = AnyValue()
            made.array_value.values.extend(any_value(item) for item in value)
            return made
        case _:
            return AnyValue(string_value=str(value))


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
