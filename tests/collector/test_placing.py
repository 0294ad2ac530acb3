"""Verdicts are shown below what was received, within the time of what they judge."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.placing import Places
from extractors.anchors import Anchor
from extractors.spans import LogRecord, Resource, Scope, Session, Span, StatusCode
from judge.verdict import Place

TRACE, OTHER = "a" * 32, "b" * 32


def _span(name: str, parent: str | None = None, start: int = 10, end: int = 20, trace: str = TRACE) -> Span:
    return Span(trace, name, parent, name, 1, start, end, {}, (), (), StatusCode.UNSET, "", Resource(), Scope())


def _record(span: str | None, position: int = 0, time: int = 15, trace: str | None = TRACE) -> LogRecord:
    return LogRecord(trace, span, time, 99, "said", 9, None, {}, Resource(), Scope(), position)


def _of(anchor: Anchor | None, *items: Span | LogRecord) -> Place | None:
    spans = tuple(item for item in items if isinstance(item, Span))
    records = tuple(item for item in items if isinstance(item, LogRecord))
    return Places(Session("s", spans, records)).of(anchor)


def test_a_verdict_on_a_span_is_below_it_at_its_end() -> None:
    assert _of(Anchor("span", TRACE, "call"), _span("root", end=50), _span("call", "root")) == Place("call", 20)


def test_a_span_that_ends_before_it_begins_is_met_at_its_beginning() -> None:
    assert _of(Anchor("span", TRACE, "call"), _span("call", start=30, end=20)) == Place("call", 30)


def test_a_verdict_on_a_record_is_below_the_span_that_it_was_written_in_at_its_time() -> None:
    said = _record("call", position=3)
    assert _of(Anchor("record", TRACE, "call", 3), _span("root"), _span("call", "root"), said) == Place("call", 15)


def test_of_a_record_without_a_time_the_one_at_which_it_was_seen_counts() -> None:
    assert _of(Anchor("record", TRACE, "call", 0), _span("call"), _record("call", time=0)) == Place("call", 99)


def test_where_the_span_was_never_received_the_root_of_its_trace_stands_in() -> None:
    others = (_span("early", "gone", start=1), _span("root"), _span("call", "root", start=2), _span("x", trace=OTHER))
    assert _of(Anchor("record", TRACE, "sampled-away", 0), *others, _record("sampled-away")) == Place("root", 15)
    assert _of(Anchor("record", TRACE, None, 0), *others, _record(None)) == Place("root", 15)
    assert _of(Anchor("span", TRACE, "sampled-away"), *others) == Place("root", 20)


def test_where_the_root_never_came_either_the_first_span_of_the_trace_stands_in() -> None:
    others = (_span("late", "gone", start=5), _span("early", "gone", start=1), _span("below", "early", start=0))
    assert _of(Anchor("record", TRACE, None, 0), *others, _record(None)) == Place("early", 15)


def test_in_a_trace_of_which_no_span_came_a_verdict_is_below_none() -> None:
    assert _of(Anchor("record", TRACE, "unseen", 0), _span("x", trace=OTHER), _record("unseen")) == Place(None, 15)


def test_what_is_in_no_trace_has_no_place() -> None:
    assert _of(None, _span("root")) is None
    assert _of(Anchor("record", None, None, 0), _span("root"), _record(None, trace=None)) is None


_NAMES = st.sampled_from("abcdef")
_INSTANTS = st.integers(0, 2**64 - 1)


@given(
    spans=st.lists(st.builds(_span, _NAMES, st.none() | _NAMES, _INSTANTS, _INSTANTS, st.sampled_from([TRACE, OTHER]))),
    anchored=st.none() | _NAMES,
)
def test_a_verdict_is_always_below_a_span_that_was_received_or_below_none(
    spans: list[Span], anchored: str | None
) -> None:
    place = _of(Anchor("record", TRACE, anchored, 0), *spans)
    assert place is not None
    received = {span.span_id for span in spans if span.trace_id == TRACE}
    assert (place.parent in received) if received else (place.parent is None)
    if anchored in received:
        assert place.parent == anchored
    assert place.at_ns is None or 0 < place.at_ns < 2**63
