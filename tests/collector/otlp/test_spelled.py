"""What looks like an attribute in a span's bytes is one only where a field of the span itself begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.otlp.spelled import (
    RECORD_ATTRIBUTE,
    SPAN_ATTRIBUTE,
    attribute,
    attributes_at,
    is_own_field,
    own_text,
    said_once,
)
from tests.collector.sessions.telemetry import record, span

KEY = b"session.id"


@given(st.text(max_size=300), st.text(min_size=1, max_size=200))
def test_an_attribute_is_spelled_as_the_published_protocol_spells_it(text: str, key: str) -> None:
    pair = KeyValue(key=key, value=AnyValue(string_value=text))
    if text:  # protobuf leaves an empty text out of its message only where nobody asked for it
        assert attribute(SPAN_ATTRIBUTE, key.encode(), text) == Span(attributes=[pair]).SerializeToString()
        assert attribute(RECORD_ATTRIBUTE, key.encode(), text) == LogRecord(attributes=[pair]).SerializeToString()


def _span(*, parent: bool, name: str, before: int, padding: int) -> bytes:
    made = span(1, 2, parent=3 if parent else None)
    made.name = name
    made.kind = Span.SPAN_KIND_CLIENT
    for number in range(before):
        made.attributes.add(key=f"note {number}").value.string_value = "x" * padding
    made.attributes.add(key="session.id").value.string_value = "ann"
    return made.SerializeToString()


@given(
    st.booleans(),
    st.text(max_size=200),
    st.integers(0, 8),
    st.sampled_from((0, 10, 200, 20_000)),
    st.binary(max_size=9),
)
def test_every_field_near_the_beginning_is_recognised_wherever_the_span_stands(
    parent: bool, name: str, before: int, padding: int, ahead: bytes
) -> None:
    request = ahead + _span(parent=parent, name=name, before=before, padding=padding)
    at = request.rindex(attribute(SPAN_ATTRIBUTE, KEY, "ann"))
    assert is_own_field(request, len(ahead), at)
    assert not any(is_own_field(request, len(ahead), at + shift) for shift in (-2, -1, 1, 2))


_BEHIND = b"x" * 300


@given(st.text(max_size=30), st.integers(0, 5), st.binary(max_size=9))
def test_behind_the_usual_head_of_a_span_its_attributes_begin(name: str, kind: int, ahead: bytes) -> None:
    made = span(1, 2, parent=3, session__id="ann")
    made.name, made.kind = name or "n", kind or Span.SPAN_KIND_SERVER  # type: ignore[assignment]
    request = ahead + made.SerializeToString() + _BEHIND
    assert attributes_at(request, len(ahead)) == request.index(attribute(SPAN_ATTRIBUTE, KEY, "ann"))


_IDS = b"\x0a\x10" + b"t" * 16 + b"\x12\x08" + b"s" * 8
_PARENT, _NAME, _KIND = b"\x22\x08" + b"p" * 8, b"\x2a\x04chat", b"\x30\x03"
_START, _END = b"\x39" + bytes(8), b"\x41" + bytes(8)


@pytest.mark.parametrize(
    "head",
    [
        _IDS + _NAME + _KIND + _START + _END,
        _IDS + b"\x1a\x03a=1" + _PARENT + _NAME + _KIND + _START + _END,
        _IDS + _PARENT + b"\x2a\x84\x00chat" + _KIND + _START + _END,
        _IDS + _PARENT + _NAME + b"\x30\x83\x00" + _START + _END,
        _IDS + _PARENT + _NAME + _START + _END,
        _IDS + _PARENT + _NAME + _KIND + _END + _START,
        _IDS + _PARENT + _NAME + b"\x4a\x12" + b"-" * 18,  # as long as kind and times
        _IDS[:18] + _PARENT + _IDS[18:] + _NAME + _KIND + _START + _END,
        _IDS[:18] + b"\x12\x07" + b"s" * 7 + b"\x22\x09" + b"p" * 9 + _NAME + _KIND + _START + _END,
    ],
)
def test_behind_any_other_head_nothing_is_said_of_attributes(head: bytes) -> None:
    request = head + attribute(SPAN_ATTRIBUTE, KEY, "ann") + _BEHIND
    assert attributes_at(request, 0) == len(request)


def test_a_field_behind_many_others_has_to_be_read() -> None:
    request = _span(parent=True, name="chat", before=40, padding=3)
    assert not is_own_field(request, 0, request.rindex(attribute(SPAN_ATTRIBUTE, KEY, "ann")))


@pytest.mark.parametrize("where", ["name", "text", "event"])
def test_text_that_spells_an_attribute_is_none(where: str) -> None:
    forged = attribute(SPAN_ATTRIBUTE, KEY, "bob").decode()
    made = span(1, 2)
    if where == "name":
        made.name = forged
    elif where == "text":
        made.attributes.add(key="note").value.string_value = forged
    else:
        made.events.add(name=forged)
    raw = made.SerializeToString()
    assert not is_own_field(raw, 0, raw.index(forged.encode()))
    assert own_text(raw, 0, len(raw), KEY) is None


def test_the_text_of_an_attribute_is_read_where_it_stands() -> None:
    raw = span(1, 2, agent="desk", session__id="ann").SerializeToString()
    assert own_text(raw, 0, len(raw), KEY) == b"ann"
    assert own_text(raw, 0, len(raw), b"agent") == b"desk"
    assert own_text(raw, 0, len(raw), b"user.id") is None


@given(st.integers(0, 60))
def test_a_span_that_is_cut_short_has_no_text_to_read(size: int) -> None:
    raw = span(1, 2, session__id="ann").SerializeToString()
    short = raw[: min(size, len(raw) - 1)]
    assert own_text(short, 0, len(short), KEY) is None


def test_an_attribute_that_comes_twice_or_is_mentioned_elsewhere_is_not_said_once() -> None:
    once = record(1, session__id="ann").SerializeToString()
    assert said_once(once, RECORD_ATTRIBUTE, KEY, "ann")
    assert not said_once(once, RECORD_ATTRIBUTE, KEY, "bob")
    assert not said_once(once + once, RECORD_ATTRIBUTE, KEY, "ann")
    assert not said_once(b"", RECORD_ATTRIBUTE, KEY, "ann")
