"""Telemetry as received: one session's spans and log records, decoded and never changed.

Instants are integer nanoseconds since the Unix epoch and end in `_ns`. Ids are lower-case hex text
(32 digits for a trace, 16 for a span), as OTLP/JSON writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from typing_extensions import TypeAliasType

Value = TypeAliasType("Value", "str | bool | int | float | bytes | Sequence[Value] | Mapping[str, Value] | None")
"""An OTLP `AnyValue`. Since OTLP 1.9 any attribute may hold any of these, nested."""

Attributes: TypeAlias = Mapping[str, Value]


class StatusCode(IntEnum):
    """`opentelemetry.proto.trace.v1.Status.StatusCode`. Success is usually UNSET, so OK is no test of success."""

    UNSET = 0
    OK = 1
    ERROR = 2


@dataclass(frozen=True, slots=True)
class Resource:
    """The process that emitted the telemetry."""

    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scope:
    """The instrumentation scope: which library recorded it. Users rarely set it, so it tells harnesses apart."""

    name: str = ""
    version: str = ""
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """A timed note inside a span; older GenAI instrumentations put message content here."""

    name: str
    time_ns: int
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A reference from one span to another, perhaps in another trace."""

    trace_id: str
    span_id: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Span:
    """One span. `parent_id` is None for a root; the parent itself may never have arrived."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: Attributes
    events: tuple[SpanEvent, ...]
    links: tuple[SpanLink, ...]
    status: StatusCode
    status_message: str
    resource: Resource
    scope: Scope
    dropped_attributes: int = 0
    dropped_events: int = 0


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One log record. `trace_id` and `span_id` are None when the record is not tied to a span.

    `event_name` is the OTLP field, or the older `event.name` attribute; None for a plain log line.
    `position` counts the session's records in arrival order, from 0: records have no id of their own.
    """

    trace_id: str | None
    span_id: str | None
    time_ns: int
    observed_ns: int
    event_name: str | None
    severity: int
    body: Value
    attributes: Attributes
    resource: Resource
    scope: Scope
    position: int = 0
    dropped_attributes: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """All telemetry of one conversation, closed. A session usually has several traces, one per prompt.

    `spans` are unique by (trace id, span id) and sorted by start, then span id; `records` by time, then arrival.
    `notes` says what could not be decoded, or was too much, for people; `lost_spans` and `lost_records` count it.
    `scopes` are the names of all instrumentation scopes: most harnesses are told apart by these alone.
    """

    session_id: str
    spans: tuple[Span, ...] = ()
    records: tuple[LogRecord, ...] = ()
    tenant: str = ""
    notes: tuple[str, ...] = ()
    lost_spans: int = 0
    lost_records: int = 0
    scopes: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {span.scope.name for span in self.spans}
        names.update(record.scope.name for record in self.records)
        object.__setattr__(self, "scopes", frozenset(names))
