"""Every item of a request is in exactly one message, with those of its trace and nothing of another."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.errors import Malformed
from collector.kafka.splitting import Portion, Splitter
from collector.sessions.keys import SessionNames
from collector.sessions.surroundings import Marks
from tests.collector.sessions.telemetry import log_request, record, span, trace_id, trace_request

_MARKS = Marks(names=SessionNames(("session.id",)))
_ROOMY = 1_000_000


def _splitter(most: int = _ROOMY) -> Splitter:
    return Splitter(_MARKS, most)


def _spans(portion: Portion) -> list[tuple[bytes, bytes]]:
    """What a message holds: the resource and scope of each span, and the span."""
    return [
        (group.resource.SerializeToString() + inner.scope.SerializeToString(), each.SerializeToString())
        for group in ExportTraceServiceRequest.FromString(portion.value).resource_spans
        for inner in group.scope_spans
        for each in inner.spans
    ]


def _key(trace: int) -> bytes:
    return trace_id(trace).hex().encode()


def test_each_trace_is_a_message_with_its_id_as_key() -> None:
    spans = [span(1, 1), span(2, 2), span(1, 3)]
    split = _splitter().split("traces", trace_request(spans))
    assert [(portion.key, portion.items) for portion in split.portions] == [(_key(1), 2), (_key(2), 1)]
    assert [raw for _, raw in _spans(split.portions[0])] == [spans[0].SerializeToString(), spans[2].SerializeToString()]
    assert (split.received, split.kept) == (3, 3)


def test_the_key_is_what_the_collector_writes() -> None:
    made = span(0xABCDEF, 1)
    (portion,) = _splitter().split("traces", trace_request([made])).portions
    assert portion.key == b"00000000000000000000000000abcdef"


requests = st.lists(
    st.tuples(
        st.sampled_from(["shop", "depot"]),
        st.lists(st.tuples(st.integers(1, 4), st.integers(1, 999), st.integers(0, 300)), max_size=6),
    ),
    max_size=5,
)


@given(groups=requests, most=st.integers(200, 1500))
def test_no_item_is_lost_doubled_or_put_with_another_trace(
    groups: list[tuple[str, list[tuple[int, int, int]]]], most: int
) -> None:
    request, sent = b"", Counter[tuple[bytes, bytes]]()
    for service, items in groups:
        spans = [span(trace, number, note="x" * size) for trace, number, size in items]
        part = trace_request(spans, resource={"service.name": service})
        request += part  # requests after one another are a request
        sent += Counter(_spans(Portion(None, part, 0)))
    split = _splitter(most).split("traces", request)
    found = Counter(each for portion in (*split.portions, *split.oversized) for each in _spans(portion))
    assert found == sent
    assert split.received == split.kept + len(split.oversized) == sent.total()
    for portion in split.portions:
        assert len(portion.value) <= most
        assert {Span.FromString(raw).trace_id.hex().encode() for _, raw in _spans(portion)} == {portion.key}


def test_an_item_that_no_message_has_room_for_is_apart() -> None:
    spans = [span(1, 1), span(1, 2, note="x" * 5000), span(1, 3)]
    split = _splitter(2000).split("traces", trace_request(spans))
    assert [portion.items for portion in split.portions] == [2]
    (large,) = split.oversized
    assert (large.key, large.items) == (_key(1), 1)
    assert _spans(large)[0][1] == spans[1].SerializeToString()


def test_our_own_verdicts_are_not_passed_on() -> None:
    split = _splitter().split("traces", trace_request([span(1, 1)], scope="spanjudge"))
    assert (split.portions, split.own, split.received) == ([], 1, 1)


def test_a_bad_span_is_rejected_alone() -> None:
    bad = span(1, 2)
    bad.trace_id = b"short"
    split = _splitter().split("traces", trace_request([span(1, 1), bad]))
    assert (split.kept, split.rejected) == (1, 1)
    assert "trace id of 5 bytes" in split.cause


def test_records_go_with_their_trace_or_without_a_key() -> None:
    records = [record(1), record(None, session__id="ann"), record(None, session__id="bob"), record(None)]
    split = _splitter().split("logs", log_request(records))
    assert [(portion.key, portion.items) for portion in split.portions] == [(_key(1), 1), (None, 2)]
    assert split.no_session == 1
    loose = ExportLogsServiceRequest.FromString(split.portions[1].value)
    assert list(loose.resource_logs[0].scope_logs[0].log_records) == records[1:3]


def test_a_resource_may_name_the_session_of_a_record_of_no_trace() -> None:
    split = _splitter().split("logs", log_request([record(None)], resource={"session.id": "ann"}))
    assert (split.kept, split.no_session) == (1, 0)


def test_a_broken_envelope_or_tenant_is_malformed() -> None:
    with pytest.raises(Malformed):
        _splitter().split("traces", b"no otlp at all")
    with pytest.raises(Malformed, match="tenant"):
        _splitter().split("traces", b"", "t" * 2000)
