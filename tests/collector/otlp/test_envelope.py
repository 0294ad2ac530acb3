"""Envelopes are walked and cut without loss, and broken ones are told from whole ones."""

from __future__ import annotations

import re

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.errors import Malformed, TooLarge
from collector.otlp.envelope import MOST_FIELDS, Piece, embedded, encode_varint, varint, walk, wrap

_UNKNOWN = b"\xf8\x3f\x2a"  # field 1023, varint 42: newer than this reader


@st.composite
def _requests(draw: st.DrawFn) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    for _ in range(draw(st.integers(0, 3))):
        group = request.resource_spans.add(schema_url=draw(st.text(max_size=4)))
        if draw(st.booleans()):
            group.resource.attributes.add(key="service.name").value.string_value = draw(st.text(max_size=8))
        for _ in range(draw(st.integers(0, 3))):
            inner = group.scope_spans.add(schema_url=draw(st.text(max_size=4)))
            inner.scope.name = draw(st.text(max_size=4))
            for _ in range(draw(st.integers(0, 4))):
                # Lengths around 127 and 16383 take one, two and three bytes to write.
                size = draw(st.sampled_from([0, 1, 100, 130, 17_000]))
                inner.spans.add(name="n" * size, span_id=draw(st.binary(max_size=8)))
    return request


def _cut(request: bytes) -> bytes:
    """The request, rebuilt from its pieces, one envelope a group."""
    pieces: list[Piece] = []
    for group in walk(request):
        items = [request[start:end] for start, _, end in group.items]
        pieces += wrap(group.resource, group.scope, items, sum(map(len, items)))
    return b"".join(pieces)


def _groups(request: bytes) -> list[tuple[str, str, str, list[bytes]]]:
    return [
        (
            str(some.resource),
            some.schema_url,
            f"{inner.scope} {inner.schema_url}",
            [s.SerializeToString() for s in inner.spans],
        )
        for some in TracesData.FromString(request).resource_spans
        for inner in some.scope_spans
    ]


@given(_requests())
def test_what_is_cut_and_wrapped_again_reads_as_before(request: ExportTraceServiceRequest) -> None:
    raw = request.SerializeToString()
    assert _groups(_cut(raw)) == _groups(raw)


@given(_requests())
def test_the_bodies_of_items_are_the_spans(request: ExportTraceServiceRequest) -> None:
    raw = request.SerializeToString()
    bodies = [raw[body:end] for group in walk(raw) for _, body, end in group.items]
    spans = [span for some in request.resource_spans for inner in some.scope_spans for span in inner.spans]
    assert bodies == [span.SerializeToString() for span in spans]


@given(st.binary(max_size=200))
def test_any_bytes_are_walked_or_refused_with_the_place_of_the_fault(raw: bytes) -> None:
    problem = "at byte 0"
    try:
        walk(raw)
    except Malformed as error:
        problem = str(error)
    assert re.search(r"at byte \d+", problem)


@given(_requests(), st.data())
def test_a_damaged_envelope_is_never_read_as_more_than_it_holds(
    request: ExportTraceServiceRequest, data: st.DataObject
) -> None:
    raw = bytearray(request.SerializeToString())
    if raw:
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        groups = walk(bytes(raw))
    except Malformed:
        return
    assert all(0 <= start < body <= end <= len(raw) for group in groups for start, body, end in group.items)


@given(_requests())
def test_what_protobuf_reads_is_walked(request: ExportTraceServiceRequest) -> None:
    raw = request.SerializeToString()
    for end in range(min(len(raw), 300)):
        try:
            ExportTraceServiceRequest.FromString(raw[:end])
        except DecodeError:
            continue
        walk(raw[:end])


def test_concatenated_requests_are_one_request() -> None:
    one, two = ExportTraceServiceRequest(), ExportTraceServiceRequest()
    one.resource_spans.add().scope_spans.add().spans.add(name="one")
    two.resource_spans.add().scope_spans.add().spans.add(name="two")
    raw = one.SerializeToString() + two.SerializeToString()
    names = [
        span.name for some in TracesData.FromString(_cut(raw)).resource_spans for span in some.scope_spans[0].spans
    ]
    assert names == ["one", "two"]


def test_unknown_fields_at_every_level_are_kept() -> None:
    span = b"\x2a\x01n" + _UNKNOWN
    scope = b"\x12" + encode_varint(len(span)) + span + _UNKNOWN
    resource = b"\x12" + encode_varint(len(scope)) + scope + _UNKNOWN
    raw = b"\x0a" + encode_varint(len(resource)) + resource
    (group,) = walk(raw)
    assert (group.resource, group.scope) == (_UNKNOWN, _UNKNOWN)
    assert [raw[body:end] for _, body, end in group.items] == [span]
    assert TracesData.FromString(_cut(raw)).resource_spans[0].scope_spans[0].spans[0].name == "n"


def test_fields_beside_the_groups_are_skipped() -> None:
    assert walk(_UNKNOWN) == []


def test_a_length_written_with_too_many_bytes_is_still_that_length() -> None:
    padded = b"\x83\x80\x80\x80\x00"  # 3, in five bytes
    raw = b"\x0a\x09" + b"\x12\x07" + b"\x12" + padded[:1] + b"\x80\x00" + b"\x2a\x01n"
    (group,) = walk(raw)
    assert [raw[body:end] for _, body, end in group.items] == [b"\x2a\x01n"]
    assert varint(padded, 0, 5) == (3, 5)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\x0a", "ends inside a varint at byte 1"),
        (b"\x0a\x05\x12", "field 1 at byte 0 runs 4 bytes past its message"),
        (b"\x0a\x02\x12\x05", "field 2 at byte 2 runs 5 bytes past its message"),
        (b"\x08\x01", "field 1 at byte 0 has wire type 0"),
        (b"\x0a\x02\x10\x01", "field 2 at byte 2 has wire type 0"),
        (b"\x0b\x0c", "wire type 3 at byte 0"),
        (b"\x02\x00", "field number 0 at byte 0"),
        (b"\xff" * 11, "longer than 10 bytes"),
        (b"not otlp", "at byte"),
    ],
)
def test_a_broken_envelope_names_the_fault_and_its_place(raw: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        walk(raw)


@pytest.mark.parametrize("depth", ["resources", "scopes", "items", "unknown fields"])
def test_an_envelope_of_too_many_parts_is_refused_before_they_are_looked_at(depth: str) -> None:
    many = {"resources": b"\x0a\x00", "scopes": b"\x12\x00", "items": b"\x12\x00", "unknown fields": b"\x1a\x00"}[depth]
    raw = many * (MOST_FIELDS + 1)
    if depth == "items":
        raw = b"\x12" + encode_varint(len(raw)) + raw
    if depth != "resources":
        raw = b"\x0a" + encode_varint(len(raw)) + raw
    with pytest.raises(TooLarge, match="smaller batches"):
        walk(raw)


def test_as_many_items_as_are_allowed_are_walked() -> None:
    items = b"\x12\x00" * (MOST_FIELDS - 2)
    scope = b"\x12" + encode_varint(len(items)) + items
    (group,) = walk(b"\x0a" + encode_varint(len(scope)) + scope)
    assert len(group.items) == MOST_FIELDS - 2


def test_a_message_written_in_two_parts_is_merged() -> None:
    assert embedded(b"\x0a\x02\x0a\x00" + _UNKNOWN + b"\x0a\x01x", 1) == b"\x0a\x00x"
    assert embedded(_UNKNOWN, 1) == b""


@given(st.integers(0, 2**63 - 1))
def test_a_varint_reads_as_it_was_written(value: int) -> None:
    raw = encode_varint(value)
    assert varint(raw, 0, len(raw)) == (value, len(raw))
