"""Walk the envelope of an OTLP request without touching what the spans hold, and cut it into new envelopes.

A request is `repeated ResourceSpans = 1`, each `{Resource = 1, repeated ScopeSpans = 2, ...}`, each of those
`{InstrumentationScope = 1, repeated Span = 2, ...}`; the log messages use the same numbers
(opentelemetry-proto, collector/{trace,logs}/v1 and {trace,logs}/v1). Only lengths are read. Whatever else stands in
an envelope (schema URL, fields newer than this file) is carried along byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from collector.errors import Malformed, TooLarge

Piece: TypeAlias = bytes | memoryview

_SCOPE_GROUP = _ITEM = 2  # ScopeSpans in ResourceSpans, Span in ScopeSpans
_LENGTH_DELIMITED = 2
MOST_FIELDS = 100_000
"""Of one envelope. An empty span takes two bytes, and compressed nearly none: without a bound 64 KiB would hold
everyone up for a minute. Full batches of the Collector have 8192 spans."""


@dataclass(slots=True)
class ScopeGroup:
    """The items of one scope of one resource.

    `resource` and `scope` are the fields that stand around the items, verbatim. `items` holds, for each span or
    record, where its field starts (tag included), where its body starts, and where it ends.
    """

    resource: bytes
    scope: bytes
    items: list[tuple[int, int, int]]


def varint(buffer: bytes, at: int, end: int) -> tuple[int, int]:
    """The varint at `at` and the position behind it; raises `Malformed` when it runs past `end` or 10 bytes."""
    value = shift = 0
    while at < end:
        byte = buffer[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise Malformed(f"a varint is longer than 10 bytes at byte {at}")
    raise Malformed(f"the message ends inside a varint at byte {at}")


def _field(buffer: bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """The field at `at`: its number, wire type, where its content starts and where it ends."""
    tag, content = varint(buffer, at, end)
    number, kind = tag >> 3, tag & 7
    if number == 0:
        raise Malformed(f"field number 0 at byte {at}")
    if kind == _LENGTH_DELIMITED:
        size, content = varint(buffer, content, end)
        after = content + size
    elif kind == 0:
        _, after = varint(buffer, content, end)
    elif kind == 1:
        after = content + 8
    elif kind == 5:
        after = content + 4
    else:
        raise Malformed(f"wire type {kind} at byte {at} is not used by OTLP")
    if after > end:
        raise Malformed(f"field {number} at byte {at} runs {after - end} bytes past its message")
    return number, kind, content, after


def _split(
    buffer: bytes, start: int, end: int, member: int, most: int
) -> tuple[bytes, list[tuple[int, int, int]], int]:
    """Of the message between `start` and `end`: all other fields verbatim, where each `member` stands, and how many of
    `most` fields are left. Raises `TooLarge` when there are more."""
    around: list[bytes] = []
    members: list[tuple[int, int, int]] = []
    at = start
    member_tag = member << 3 | _LENGTH_DELIMITED
    for left in range(most, -1, -1):  # counts without costing anything
        if at >= end:
            return b"".join(around), members, left
        # The common case, a member with a length below 2 MiB, read without function calls.
        if buffer[at] == member_tag and at + 4 <= end:
            body = at + 2
            size = buffer[at + 1]
            if size > 0x7F:
                second = buffer[at + 2]
                size = size & 0x7F | (second & 0x7F) << 7
                body = at + 3
                if second > 0x7F:
                    third = buffer[at + 3]
                    size |= third << 14
                    body = at + 4
                    if third > 0x7F:
                        size = end  # too long for this path; the general one below reads it again
            after = body + size
            if after <= end:
                members.append((at, body, after))
                at = after
                continue
        number, kind, content, after = _field(buffer, at, end)
        if number == member:
            if kind != _LENGTH_DELIMITED:
                raise Malformed(f"field {number} at byte {at} has wire type {kind}, a message was expected")
            members.append((at, content, after))
        else:
            around.append(buffer[at:after])
        at = after
    raise _too_many()


def _too_many() -> TooLarge:
    return TooLarge(f"the request has more than {MOST_FIELDS} spans or records; send them in smaller batches")


def walk(request: bytes) -> list[ScopeGroup]:
    """Every group of spans or records in a request, in order.

    Takes the uncompressed body of an Export{Trace,Logs}ServiceRequest. Raises `Malformed`, naming the byte, when the
    envelope is broken, and `TooLarge` when it has more than `MOST_FIELDS` parts; what the items hold is not looked at.
    """
    groups: list[ScopeGroup] = []
    at, end, left = 0, len(request), MOST_FIELDS
    while at < end:
        if left <= 0:
            raise _too_many()
        left -= 1
        number, kind, content, after = _field(request, at, end)
        if number == 1 and kind == _LENGTH_DELIMITED:
            resource, scopes, left = _split(request, content, after, _SCOPE_GROUP, left)
            for _, scope_start, scope_end in scopes:
                scope, items, left = _split(request, scope_start, scope_end, _ITEM, left)
                groups.append(ScopeGroup(resource, scope, items))
        elif number == 1:
            raise Malformed(f"field 1 at byte {at} has wire type {kind}, a message was expected")
        at = after
    return groups


def embedded(around: bytes, number: int) -> bytes:
    """The (merged) message in field `number` of the fields in `around`; b"" when there is none."""
    parts: list[bytes] = []
    at, end = 0, len(around)
    while at < end:
        found, kind, content, after = _field(around, at, end)
        if found == number and kind == _LENGTH_DELIMITED:
            parts.append(around[content:after])
        at = after
    return b"".join(parts)  # concatenation is how protobuf merges a message


_SHORT = (
    *(bytes((value,)) for value in range(0x80)),
    *(bytes((value & 0x7F | 0x80, value >> 7)) for value in range(0x80, 0x4000)),
)
"""All of one byte and of two, 0.7 MB: two are looked up for every row of the journal."""


def encode_varint(value: int) -> bytes:
    """`value` (not negative) as a protobuf varint."""
    if value < 0x4000:
        return _SHORT[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def wrap(resource: bytes, scope: bytes, items: Sequence[Piece], size: int) -> list[Piece]:
    """One `ResourceSpans` (or `ResourceLogs`) field holding these item fields, each with its tag in front, in pieces.

    `size` is that of all items together. Several such fields, one after the other, are a valid `TracesData` (or
    `LogsData`).
    """
    return [opening(resource, scope, size), *items]


def opening(resource: bytes, scope: bytes, size: int) -> bytes:
    """What stands in front of the items in such a field."""
    inside = len(scope) + size
    length = encode_varint(inside)
    whole = encode_varint(len(resource) + 1 + len(length) + inside)
    return b"".join((b"\x0a", whole, resource, b"\x12", length, scope))
