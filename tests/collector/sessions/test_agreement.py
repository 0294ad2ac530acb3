"""However a span is written, and whatever is known of its trace, it goes to the session that a full parse finds.

The full parse is that of the published protocol (opentelemetry-proto); what it is compared with is the row that each
span ended up in, and the name that assembly reads from the decoded span.
"""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from collector.journal.rows import split_names
from collector.otlp.decode import decode_session
from collector.otlp.envelope import encode_varint
from collector.otlp.spelled import attribute
from collector.sessions.assembly import own_name
from collector.sessions.keys import Kind
from tests.collector.sessions.desk import NAMES, Desk
from tests.collector.sessions.telemetry import span_id, trace_id

SESSIONS = ("ann", "bob", "a" * 130)
KEYS = ("session.id", "gen_ai.conversation.id", "conversation.id", "my.session.id", "note")


def _varint(value: int, extra: int) -> bytes:
    """With `extra` bytes more than it needs, which protobuf allows."""
    short = encode_varint(value)
    if not extra:
        return short
    return short[:-1] + bytes((short[-1] | 0x80,)) + b"\x80" * (extra - 1) + b"\x00"


_EXTRA = st.sampled_from((0, 0, 0, 1, 3))


@st.composite
def _field(draw: st.DrawFn, number: int, body: st.SearchStrategy[bytes]) -> bytes:
    """A length-delimited field, lengths and tags as short as can be or longer."""
    content = draw(body)
    return _varint(number << 3 | 2, draw(st.sampled_from((0, 0, 1)))) + _varint(len(content), draw(_EXTRA)) + content


def _utf8(texts: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    return texts.map(str.encode)


_NAMED = st.sampled_from((*SESSIONS, ""))
_FORGED = st.builds(
    lambda before, key, name, after: before + attribute(9, key.encode(), name) + after,
    st.sampled_from((b"", b"so he wrote ")),
    st.sampled_from(KEYS[:2]),
    st.sampled_from(SESSIONS[:2]),
    st.sampled_from((b"", b" and left", b"session.id")),
)
"""Texts that look like an attribute; all bytes are ASCII, so they are valid in any text."""

_TEXT = _utf8(_NAMED) | _utf8(st.just("session.id")) | _FORGED
_SCALAR = st.sampled_from((b"", b"\x10\x01", b"\x18\x07", b"\x18\x00", b"\x3a\x03ann"))  # nothing, bool, int, bytes


def _values(depth: int = 2) -> st.SearchStrategy[bytes]:
    """Serialized `AnyValue`s."""
    plain = _field(1, _TEXT) | _SCALAR
    if depth == 0:
        return plain
    inner = st.lists(_pairs(depth - 1), max_size=2).map(b"".join)
    return plain | _field(6, inner) | _field(5, _field(1, _values(depth - 1)))


@st.composite
def _pair(draw: st.DrawFn, depth: int) -> bytes:
    """A serialized `KeyValue`: key and value in any order, missing, or said twice."""
    key = _field(1, _utf8(st.sampled_from(KEYS)))
    value = _field(2, _values(depth))
    parts = draw(st.sampled_from(((key, value),) * 6 + ((value, key), (key,), (key, value, value), (key, key, value))))
    return b"".join(draw(part) for part in parts)


def _pairs(depth: int) -> st.SearchStrategy[bytes]:
    return _field(1, _pair(depth))


_ATTRIBUTE = _field(9, _pair(2))
_USUAL = st.builds(
    lambda key, name: attribute(9, key.encode(), name), st.sampled_from(KEYS[:3]), st.sampled_from(SESSIONS)
)
_EVENT = _field(11, st.builds(lambda name, pair: name + pair, _field(2, _TEXT), _field(3, _pair(1))))
_LINK = _field(13, _field(4, _pair(1)))
_UNKNOWN = st.sampled_from((b"\xa0\x06\x07", b"\xa5\x06abcd", b"\xa1\x06abcdefgh")) | _field(100, _TEXT)
_PARENT, _STATE, _NAME = st.just(b"\x22\x08parentid"), _field(3, _TEXT), _field(5, _TEXT)
_TIMES = st.just(b"\x39\x01\x00\x00\x00\x00\x00\x00\x00\x41\x02\x00\x00\x00\x00\x00\x00\x00")
_KIND = st.sampled_from((b"\x30\x03", b"\x30\x83\x00"))


_HEAD = (_PARENT, _NAME, _KIND, _TIMES)
"""As most encoders write it. What is behind it is looked at first."""
_BEHIND = b"\x1a\xac\x02" + b"-" * 300
"""A schema URL. The quick ways keep away from the end of a request, which no test should begin with."""


@st.composite
def _spans(draw: st.DrawFn) -> tuple[int, bytes]:
    """Trace number, and the span without its ids: the usual head or any fields in any order, then the like again, as
    when two messages are merged by concatenation."""
    usual = [draw(part) for part in _HEAD] if draw(st.booleans()) else []
    usual = usual or [draw(part) for part in (_STATE, *_HEAD) if draw(st.booleans())]
    any_field = _USUAL | _ATTRIBUTE | _EVENT | _LINK | _UNKNOWN | _NAME | _PARENT
    attributes = draw(st.lists(_USUAL | _ATTRIBUTE, max_size=4))
    rest = draw(st.lists(any_field, max_size=3))
    return draw(st.integers(1, 3)), b"".join((*usual, *attributes, *rest))


_BATCHES = st.lists(st.lists(_spans(), min_size=1, max_size=4), min_size=1, max_size=5)


def _request(spans: list[bytes]) -> bytes:
    items = b"".join(b"\x12" + encode_varint(len(body)) + body for body in spans)
    return b"\x0a" + encode_varint(len(_group(items))) + _group(items)


def _group(items: bytes) -> bytes:
    inside = items + _BEHIND
    return b"\x12" + encode_varint(len(inside)) + inside


def _by_full_parse(span: Span) -> str | None:
    first: dict[str, str] = {}
    for pair in span.attributes:
        first.setdefault(pair.key, pair.value.string_value)
    return next((first[name] for name in NAMES.names if first.get(name)), None)


def _rows(desk: Desk) -> Iterator[tuple[str | None, Span]]:
    """Each span that was kept, with the session that owns its row; None for the row of a trace."""
    for key, value in desk.rows.telemetry():
        owner, body = split_names(value, key.kind)
        named = owner.name if owner.kind == Kind.SESSION else None
        for resource in TracesData.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                yield from ((named, span) for span in scope.spans)


@settings(max_examples=300)
@given(_BATCHES)
def test_a_span_goes_where_a_full_parse_says_whatever_was_known_of_its_trace(
    batches: list[list[tuple[int, bytes]]],
) -> None:
    desk = Desk()
    sent = 0
    for batch in batches:
        spans = []
        for trace, rest in batch:
            sent += 1
            spans.append(b"\x0a\x10" + trace_id(trace) + b"\x12\x08" + span_id(sent) + rest)
        assert desk.send("traces", _request(spans)).kept == len(spans)
    found = list(_rows(desk))
    assert len(found) == sent
    for named, span in found:
        assert named == _by_full_parse(span)


@given(_spans())
def test_assembly_reads_the_name_that_ingest_read(made: tuple[int, bytes]) -> None:
    trace, rest = made
    raw = b"\x0a\x10" + trace_id(trace) + b"\x12\x08" + span_id(1) + rest
    (decoded,) = decode_session("any", [_request([raw])], []).spans
    assert own_name(decoded, NAMES) == _by_full_parse(Span.FromString(raw))
