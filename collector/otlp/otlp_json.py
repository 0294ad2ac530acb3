"""OTLP/JSON to protobuf and back (pure).

OTLP/JSON is protobuf's JSON mapping with two exceptions: ids are hex text instead of base64, and enums are numbers.
Each span and record is converted by itself, so that one that is wrong is turned away alone, with its place named.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias, TypeVar

import orjson
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from collector.errors import Malformed, TooLarge
from collector.otlp.envelope import MOST_FIELDS

Signal: TypeAlias = Literal["traces", "logs"]
Object: TypeAlias = dict[str, Any]

MOST_VALUES = 5_000_000
"""Commas, braces and brackets in one body, but for those in texts: 64 MiB of small spans have two thirds as many. Each
value costs its sender two bytes or more, and us up to a hundred."""
MOST_LINKS = 10_000
"""Of one span; the SDKs' own limit is 128."""
_MOST_SURROGATES = 1_000_000
"""Escaped halves that are looked at when some stand alone."""

_M = TypeVar("_M", bound=Message)
_Group: TypeAlias = ResourceSpans | ResourceLogs
_ScopeGroup: TypeAlias = ScopeSpans | ScopeLogs

_LISTS = {"traces": ("resourceSpans", "scopeSpans", "spans"), "logs": ("resourceLogs", "scopeLogs", "logRecords")}
_ID_DIGITS = {"traceId": 32, "spanId": 16, "parentSpanId": 16}
_ID_FIELDS = {"traceId": "trace_id", "spanId": "span_id", "parentSpanId": "parent_span_id"}
_AS_IN_PROTOBUF = {
    "resourceSpans": "resource_spans",
    "scopeSpans": "scope_spans",
    "resourceLogs": "resource_logs",
    "scopeLogs": "scope_logs",
    "logRecords": "log_records",
    **_ID_FIELDS,
}
"""OTLP wants the names on the left. Some senders write the others, and the parser takes those of all other fields."""
_SPAN_IDS = ("traceId", "spanId", "parentSpanId")
_POINTER_IDS = ("traceId", "spanId")


@dataclass(frozen=True, slots=True)
class Converted:
    """A request as protobuf. `items` spans or records are in `payload`; `rejected` more are not, and `cause` tells
    people why the first of those was turned away (None when none was)."""

    payload: bytes
    rejected: int
    cause: str | None
    items: int


_SURROGATE = re.compile(rb"(?<!\\)(\\++)u[dD]([89a-fA-F])[0-9a-fA-F]{2}")
"""Half of a surrogate pair in JSON text, where the backslashes before it are odd in number."""
_HALF_BYTES = 6
_CHUNK = 1024 * 1024

_FIELDS_TO_IT = re.compile(r"(?:Failed to parse \w+ field: )+")


class _Rejected(Exception):
    """One span or record is wrong; the message says where and how."""


def to_protobuf(body: bytes, signal: Signal) -> Converted:
    """An OTLP/JSON request body as `ExportTraceServiceRequest` or `ExportLogsServiceRequest` bytes.

    Raises `Malformed` when the body is no JSON object or what surrounds the spans or records is wrong. Unknown
    fields are ignored, as the protocol asks. Raises `TooLarge` when it has more than `MOST_FIELDS` parts.
    """
    request = parsed(body)
    if not isinstance(request, dict):
        raise Malformed(f"the body is {_kind(request)}, an object expected")
    conversion = _Conversion(signal)
    return conversion.run(request)


def parsed(body: bytes) -> object:
    """JSON text as Python values; half of a surrogate pair reads as U+FFFD. Raises `Malformed`, or `TooLarge` for more
    than `MOST_VALUES`."""
    if _more_values(body, MOST_VALUES):
        raise TooLarge(f"the JSON has more than {MOST_VALUES} values; send it in smaller batches")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        try:
            return orjson.loads(_without_lone_surrogates(body))
        except orjson.JSONDecodeError:
            raise Malformed(f"the body is not JSON: {error}") from error


def _more_values(body: bytes, most: int) -> bool:
    """Counted before parsing, which would make them all. Texts may be code, or JSON: left out when it matters."""
    if _separators(body) <= most:
        return False
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # so that each quote begins or ends a text
    found = inside = 0
    for start in range(0, len(plain), _CHUNK):
        pieces = plain[start : start + _CHUNK].split(b'"')
        found += _separators(b"".join(pieces[inside::2]))
        if found > most:
            return True
        inside ^= (len(pieces) - 1) & 1
    return False


def _separators(text: bytes) -> int:
    return text.count(b",") + text.count(b"{") + text.count(b"[")


def _without_lone_surrogates(body: bytes) -> bytes:
    """Senders in JavaScript cut text in the middle of an emoji; their whole batch must not be lost for half of one."""
    mended = bytearray(body)
    low_half = -1  # where the second half of a pair begins
    for found in islice(_SURROGATE.finditer(body), _MOST_SURROGATES):
        start, high = found.end() - _HALF_BYTES, found[2] in b"89abAB"
        if len(found[1]) % 2 == 0 or start == low_half:
            continue
        if high and (after := _SURROGATE.match(body, found.end())) and after[1] == b"\\" and after[2] in b"cdefCDEF":
            low_half = found.end()
        else:
            mended[start : found.end()] = b"\\ufffd"
    return bytes(mended)


def to_json(payload: bytes, signal: Signal) -> Object:
    """An `Export*ServiceRequest` as OTLP/JSON, ids in hex. Raises `Malformed` when the bytes are not one."""
    request_type = ExportTraceServiceRequest if signal == "traces" else ExportLogsServiceRequest
    try:
        request = request_type.FromString(payload)
        document = json_format.MessageToDict(request, use_integers_for_enums=True)
    except (DecodeError, json_format.SerializeToJsonError, ValueError) as error:
        raise Malformed(f"not an OTLP request for {signal}: {error}") from error
    for item in _items_of(document, signal):
        _write_hex(item, _SPAN_IDS)
        for link in item.get("links", ()):
            _write_hex(link, _POINTER_IDS)
    return document


class _Conversion:
    """Builds one request; keeps count of what was turned away."""

    def __init__(self, signal: Signal) -> None:
        self._signal: Signal = signal
        self._items = 0
        self._rejected = 0
        self._cause: str | None = None
        self._left = MOST_FIELDS

    def run(self, request: Object) -> Converted:
        groups_key, scope_groups_key, items_key = _LISTS[self._signal]
        message = ExportTraceServiceRequest() if self._signal == "traces" else ExportLogsServiceRequest()
        for place, group in _objects(request, groups_key, ""):
            self._count()
            target = self._add_group(message)
            _parse_envelope(group, ("resource", "schemaUrl", "schema_url"), target, place)
            for scope_place, scope_group in _objects(group, scope_groups_key, f"{place}."):
                self._count()
                scope_target = self._add_scope_group(target)
                _parse_envelope(scope_group, ("scope", "schemaUrl", "schema_url"), scope_target, scope_place)
                for index, item in enumerate(_list(scope_group, items_key, f"{scope_place}.")):
                    self._count()
                    self._take(item, f"{scope_place}.{items_key}[{index}]", scope_target)
        return Converted(message.SerializeToString(), self._rejected, self._cause, self._items)

    def _count(self) -> None:
        """One more group, span or record: an empty one costs its sender three bytes, and us a hundred times that."""
        self._left -= 1
        if self._left < 0:
            raise TooLarge(f"the request has more than {MOST_FIELDS} spans or records; send them in smaller batches")

    @staticmethod
    def _add_group(message: ExportTraceServiceRequest | ExportLogsServiceRequest) -> _Group:
        if isinstance(message, ExportTraceServiceRequest):
            return message.resource_spans.add()
        return message.resource_logs.add()

    @staticmethod
    def _add_scope_group(group: _Group) -> _ScopeGroup:
        return group.scope_spans.add() if isinstance(group, ResourceSpans) else group.scope_logs.add()

    def _take(self, item: object, place: str, target: _ScopeGroup) -> None:
        try:
            if isinstance(target, ScopeSpans):
                target.spans.append(_span(item, place))
            else:
                target.log_records.append(_record(item, place))
            self._items += 1
        except _Rejected as error:
            self._rejected += 1
            self._cause = self._cause or str(error)


def _span(item: object, place: str) -> Span:
    fields = _object(item, place)
    links = _links(fields, place)
    span = _parse({**_without_ids(fields), "links": [_without_ids(link) for link in links]}, Span(), place)
    for name, raw in _ids(fields, _SPAN_IDS, place, required=_POINTER_IDS):
        setattr(span, _ID_FIELDS[name], raw)
    for index, (link, message) in enumerate(zip(links, span.links, strict=True)):
        for name, raw in _ids(link, _POINTER_IDS, f"{place}.links[{index}]", required=_POINTER_IDS):
            setattr(message, _ID_FIELDS[name], raw)
    return span


def _links(fields: Object, place: str) -> list[Object]:
    try:
        links = _list(fields, "links", f"{place}.")
    except Malformed as error:
        raise _Rejected(str(error)) from error
    if len(links) > MOST_LINKS:
        raise _Rejected(f"{place}.links: {len(links)} links, {MOST_LINKS} allowed")
    return [_object(link, f"{place}.links[{index}]") for index, link in enumerate(links)]


def _record(item: object, place: str) -> LogRecord:
    fields = _object(item, place)
    record = _parse(_without_ids(fields), LogRecord(), place)
    for name, raw in _ids(fields, _POINTER_IDS, place, required=()):
        setattr(record, _ID_FIELDS[name], raw)
    return record


def _without_ids(fields: Object) -> Object:
    """The rest of a message: the parser would read ids as base64."""
    return {key: value for key, value in fields.items() if key not in _ID_FIELDS and key not in _ID_FIELDS.values()}


def _ids(fields: Object, names: tuple[str, ...], place: str, required: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """The ids that are there. An id of zeros is one that is absent."""
    for name in names:
        digits = _field(fields, name)
        raw = _id_bytes(digits, _ID_DIGITS[name], f"{place}.{name}") if digits not in (None, "") else b""
        if any(raw):
            yield name, raw
        elif name in required:
            raise _Rejected(f"{place}.{name}: {'all zeros' if raw else 'missing'}")


def _id_bytes(digits: object, expected: int, place: str) -> bytes:
    if not isinstance(digits, str):
        raise _Rejected(f"{place}: {_kind(digits)}, hex text expected")
    if len(digits) != expected:
        raise _Rejected(f"{place}: {len(digits)} hex digits, {expected} expected")
    try:
        raw = bytes.fromhex(digits)
    except ValueError as error:
        raise _Rejected(f"{place}: not hex digits") from error
    if len(raw) * 2 != expected:  # fromhex skips blanks
        raise _Rejected(f"{place}: not hex digits")
    return raw


def _parse(fields: Object, message: _M, place: str) -> _M:
    try:
        return json_format.ParseDict(fields, message, ignore_unknown_fields=True)
    # ParseDict lets a few Python errors through for values of the wrong type.
    except (json_format.ParseError, TypeError, ValueError, AttributeError, RecursionError) as error:
        # What follows quotes the value, which is content, and the cause is logged.
        fields_to_it = _FIELDS_TO_IT.match(str(error))
        path = _shortened(fields_to_it.group()) if fields_to_it else ""
        raise _Rejected(f"{place}: {path}the value is not what OTLP has there") from None


def _shortened(path: str) -> str:
    """The parser names each level of nesting; the ends tell the story."""
    return path if len(path) <= 300 else f"{path[:120]} ... {path[-120:]}"


def _parse_envelope(group: Object, keys: tuple[str, ...], message: Message, place: str) -> None:
    try:
        _parse({key: group[key] for key in keys if key in group}, message, place)
    except _Rejected as error:
        raise Malformed(str(error)) from error


def _objects(parent: Object, key: str, prefix: str) -> Iterator[tuple[str, Object]]:
    """Each object in the list `parent[key]`, with its place. Raises `Malformed` on anything else in there."""
    for index, item in enumerate(_list(parent, key, prefix)):
        place = f"{prefix}{key}[{index}]"
        if not isinstance(item, dict):
            raise Malformed(f"{place}: {_kind(item)}, an object expected")
        yield place, item


def _list(parent: Object, key: str, prefix: str) -> list[Any]:
    found = _field(parent, key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise Malformed(f"{prefix}{key}: {_kind(found)}, an array expected")
    return found


def _field(fields: Object, name: str) -> object:
    found = fields.get(name)
    return fields.get(_AS_IN_PROTOBUF[name]) if found is None and name in _AS_IN_PROTOBUF else found


def _object(item: object, place: str) -> Object:
    if not isinstance(item, dict):
        raise _Rejected(f"{place}: {_kind(item)}, an object expected")
    return item


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _items_of(document: Object, signal: Signal) -> Iterator[Object]:
    groups_key, scope_groups_key, items_key = _LISTS[signal]
    for group in document.get(groups_key, ()):
        for scope_group in group.get(scope_groups_key, ()):
            yield from scope_group.get(items_key, ())


def _write_hex(item: Object, names: tuple[str, ...]) -> None:
    for name in names:
        if name in item:
            item[name] = b64decode(item[name]).hex()
