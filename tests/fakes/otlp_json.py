"""Export requests as OTLP/JSON, from plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]


def any_value(value: object) -> Json:
    """A value as an OTLP `AnyValue`; None is an empty one."""
    match value:
        case None:
            return {}
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case Mapping():
            return {"kvlistValue": {"values": attributes(value)}}
        case Sequence():
            return {"arrayValue": {"values": [any_value(item) for item in value]}}
    raise TypeError(type(value).__name__)


def attributes(values: Mapping[str, object]) -> list[Json]:
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def spans_request(resource: Mapping[str, object], scope: Json, spans: Sequence[Json]) -> Json:
    inner = {"scope": scope, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {"attributes": attributes(resource)}, "scopeSpans": [inner]}]}


def logs_request(resource: Mapping[str, object], scope: Json, records: Sequence[Json]) -> Json:
    inner = {"scope": scope, "logRecords": list(records)}
    return {"resourceLogs": [{"resource": {"attributes": attributes(resource)}, "scopeLogs": [inner]}]}
