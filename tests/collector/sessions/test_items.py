"""Of one item: its trace, the session it names, or why it cannot be taken."""

from __future__ import annotations

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.sessions.items import read_record, read_span, span_in
from collector.sessions.keys import Naming
from tests.collector.sessions.telemetry import record, span

_NAMES = ("session.id", "gen_ai.conversation.id")


def test_a_span_tells_its_trace_and_the_strongest_name() -> None:
    made = span(7, 1, gen_ai__conversation__id="weak", session__id="strong")
    assert read_span(made.SerializeToString(), _NAMES) == (made.trace_id, Naming("strong", 0), True)
    child = span(7, 2)
    child.parent_span_id = made.span_id
    assert read_span(child.SerializeToString(), _NAMES) == (made.trace_id, None, False)


@pytest.mark.parametrize(
    "made",
    [span(7, 1, session__id="ann"), span(7, 1, gen_ai__conversation__id="ann"), span(7, 1), span(7, 1, note="ann")],
    ids=["at sight", "weaker name", "no name", "other text"],
)
def test_a_span_inside_a_request_is_read_as_by_itself(made: Span) -> None:
    raw = made.SerializeToString()
    inside, alone = span_in(b"before" + raw + b"after", 6, 6 + len(raw), _NAMES), read_span(raw, _NAMES)
    assert not isinstance(inside, str)
    assert inside[:2] == alone[:2]


def test_of_two_trace_ids_the_last_counts() -> None:
    first, last = span(1, 1), span(2, 1)
    read = read_span(first.SerializeToString() + last.SerializeToString(), _NAMES)
    assert not isinstance(read, str)
    assert read.trace == last.trace_id


@pytest.mark.parametrize(("field", "value"), [("trace_id", b""), ("trace_id", bytes(16)), ("span_id", b"abc")])
def test_a_span_without_good_ids_is_turned_away(field: str, value: bytes) -> None:
    made = span(1, 1)
    setattr(made, field, value)
    told = read_span(made.SerializeToString(), _NAMES)
    assert isinstance(told, str)
    assert f"{field.replace('_', ' ')} of {len(value)} bytes" in told


def test_a_record_may_be_tied_to_no_trace() -> None:
    tied, loose = record(3, session__id="ann"), record(None)
    read = read_record(tied.SerializeToString(), _NAMES)
    assert not isinstance(read, str)
    assert read[:2] == (tied.trace_id, Naming("ann", 0))
    read = read_record(loose.SerializeToString(), _NAMES)
    assert not isinstance(read, str)
    assert read[:2] == (b"", None)


def test_damage_and_names_that_are_too_long_are_told() -> None:
    assert read_span(b"\x0a\xff", _NAMES) == "a span of 2 bytes cannot be decoded"
    assert read_record(b"\x4a\xff", _NAMES) == "a log record of 2 bytes cannot be decoded"
    long = record(1, session__id="x" * 2000).SerializeToString()
    assert "has 2000 bytes, at most 1024" in str(read_record(long, _NAMES))
