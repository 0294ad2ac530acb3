"""How an attribute that holds a text stands in the bytes of its span, and whether what looks like one really is (pure).

An attribute is `KeyValue {key = 1, value = 2}` in field 9 of a span and field 6 of a log record, a text is field 1 of
`AnyValue` (opentelemetry-proto, {trace,logs,common}/v1). Encoders write that in one way, which `attribute` gives. Other
ways are allowed; whoever meets them reads the whole item.
"""

from __future__ import annotations

from struct import Struct

from collector.otlp.envelope import encode_varint

SPAN_ATTRIBUTE, RECORD_ATTRIBUTE = 9, 6

TRACE_ID_FIRST = b"\x0a\x10"
"""Field 1, 16 bytes: how every known encoder begins a span."""

_HEAD = Struct(">18xH8xH8xBB")
"""Behind the trace id, if every field comes in order: span id and parent with their lengths, name, its length."""
_TIMES = Struct(">BBB8xB")
"""Kind, when it began, when it ended."""
_TIMES_BYTES = 20
MOST_HEAD = _HEAD.size + 0x7F + _TIMES_BYTES
"""So far does `attributes_at` look."""
_HEAD_BYTES, _head, _times = _HEAD.size, _HEAD.unpack_from, _TIMES.unpack_from
_SPAN_ID_FIELD, _PARENT_FIELD = 0x1208, 0x2208
_TRACE_ID_ENDS, _SPAN_ID_ENDS = 18, 28
_SPAN_ID, _PARENT, _NAME, _KIND, _START, _END = 0x12, 0x22, 0x2A, 0x30, 0x39, 0x41
_LENGTH_DELIMITED = frozenset((0x1A, _PARENT, _NAME, 0x4A))  # tags before and of attributes, trace state too
_FIXED64 = frozenset((_START, _END))
_NEAR = 1024
_MOST_FIELDS = 16
"""Walked one by one. An attribute behind more of them is cheaper to read with the whole span."""


def attribute(number: int, key: bytes, text: str) -> bytes:
    """The attribute as encoders write it, tag and lengths of field `number` included."""
    raw = text.encode()
    long, wide = len(raw), len(key)
    if long + wide + 6 < 0x80:  # nearly always: every length takes one byte
        head = bytes((number << 3 | 2, long + wide + 6, 0x0A, wide))
        return head + key + bytes((0x12, long + 2, 0x0A, long)) + raw
    value = b"\x0a" + encode_varint(long) + raw
    pair = b"\x0a" + encode_varint(wide) + key + b"\x12" + encode_varint(len(value)) + value
    return bytes((number << 3 | 2,)) + encode_varint(len(pair)) + pair


def said_once(item: bytes, number: int, key: bytes, text: str) -> bool:
    """Does the item spell this attribute as encoders do, and the key nowhere else?"""
    wire = attribute(number, key, text)
    at = item.find(key)
    start = at - wire.index(key)
    return start >= 0 and item.startswith(wire, start) and item.find(key, at + len(key)) < 0


def own_text(request: bytes, body: int, end: int, key: bytes) -> bytes | None:
    """The text that the span between `body` and `end` gives for this attribute, where it stands near the beginning and
    as encoders write it; None when the span has to be read to know. The span begins with `TRACE_ID_FIRST`."""
    at = request.find(key, body, min(end, body + _NEAR))
    wide = len(key)
    behind = at + wide
    if at - 4 < body or behind + 4 > end:
        return None
    long = request[behind + 3]
    if (
        request[at - 4] != SPAN_ATTRIBUTE << 3 | 2
        or request[at - 3] != wide + long + 6
        or wide + long + 6 > 0x7F
        or request[at - 2] != 0x0A
        or request[at - 1] != wide
        or request[behind] != 0x12
        or request[behind + 1] != long + 2
        or request[behind + 2] != 0x0A
        or behind + 4 + long > end
        or not is_own_field(request, body, at - 4)
    ):
        return None
    return request[behind + 4 : behind + 4 + long]


def attributes_at(request: bytes, body: int) -> int:
    """Where the attributes begin of a span that is written as most are: both ids, its parent's, a name below 128
    bytes, kind and both times in front of them. The end of the request for any other.

    The span begins at `body`, with `TRACE_ID_FIRST`; at least `MOST_HEAD` bytes of the request stand from there on,
    though perhaps not of the span.
    """
    own, parent, name, size = _head(request, body)
    if own == _SPAN_ID_FIELD and parent == _PARENT_FIELD and name == _NAME and size < 0x80:
        place = body + _HEAD_BYTES + size
        kind, value, start, ended = _times(request, place)
        if kind == _KIND and value < 0x80 and start == _START and ended == _END:
            attributes: int = place + _TIMES_BYTES
            return attributes
    return len(request)


def is_own_field(request: bytes, body: int, at: int) -> bool:
    """Does a field of the span itself begin at `at`? Not one of its events, nor text that looks like a field.

    The span begins at `body`, with `TRACE_ID_FIRST`; at least 10 bytes of it stand behind `at`. False also where it
    would take long to tell: where many fields come before, or such as no known encoder writes there.
    """
    place = body + _SPAN_ID_ENDS
    if at < place or request[body + _TRACE_ID_ENDS] != _SPAN_ID or request[body + _TRACE_ID_ENDS + 1] != 8:
        return False
    # The usual head, step by step and without a loop: most exporters put what names the session first.
    if request[place] == _PARENT and request[place + 1] == 8:
        place += 10
    if request[place] == _NAME and (size := request[place + 1]) < 0x80:
        place += size + 2
        if (
            place + 20 <= at
            and request[place] == _KIND
            and request[place + 1] < 0x80
            and request[place + 2] == _START
            and request[place + 11] == _END
        ):
            place += 20
    if place == at:
        return True
    for _ in range(_MOST_FIELDS):
        if place >= at:
            break
        place = _after(request, place)
    return place == at


def _after(request: bytes, place: int) -> int:
    """Where the field ends that begins at `place`; far behind everything when that is not easily said."""
    tag, size = request[place], request[place + 1]
    if tag in _LENGTH_DELIMITED:
        if size < 0x80:
            return place + 2 + size
        second = request[place + 2]
        if second < 0x80:
            return place + 3 + (size & 0x7F | second << 7)
        third = request[place + 3]
        if third < 0x80:
            return place + 4 + (size & 0x7F | (second & 0x7F) << 7 | third << 14)
    elif tag in _FIXED64:
        return place + 9
    elif tag == _KIND and size < 0x80:
        return place + 2
    return len(request)
