from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, TracesData

from collector.otlp import telemetry_pb2 as lenient
from collector.otlp.decode import decode_session
from collector.otlp.values import MAX_DEPTH
from extractors.spans import Session, StatusCode

TRACE = bytes(range(1, 17))
RESOURCE = Resource(attributes=[KeyValue(key="service.name", value=AnyValue(string_value="garden"))])
SCOPE = InstrumentationScope(name="greenhouse", version="3")


def string(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))


def span(number: int, **fields: object) -> Span:
    given_fields: dict[str, object] = {
        "trace_id": TRACE,
        "span_id": number.to_bytes(8, "big"),
        "name": f"water bed {number}",
        "start_time_unix_nano": 100 * number,
        "end_time_unix_nano": 100 * number + 50,
    }
    return Span(**(given_fields | fields))  # type: ignore[arg-type]


def traces(*spans: Span) -> bytes:
    scoped = ScopeSpans(scope=SCOPE, spans=spans)
    return TracesData(resource_spans=[ResourceSpans(resource=RESOURCE, scope_spans=[scoped])]).SerializeToString()


def logs(*records: LogRecord) -> bytes:
    scoped = ScopeLogs(scope=SCOPE, log_records=records)
    return LogsData(resource_logs=[ResourceLogs(resource=RESOURCE, scope_logs=[scoped])]).SerializeToString()


def raw_traces(*items: bytes) -> bytes:
    """As `traces`, of items that need not be spans."""
    scope_group = lenient.ScopeGroup(scope=SCOPE.SerializeToString(), items=items)
    group = lenient.ResourceGroup(resource=RESOURCE.SerializeToString(), scope_groups=[scope_group.SerializeToString()])
    return lenient.TracesData(resource_spans=[group.SerializeToString()]).SerializeToString()


def decoded_spans(*rows: bytes) -> Session:
    return decode_session("s", rows, ())


def decoded_records(*rows: bytes) -> Session:
    return decode_session("s", (), rows)


def test_every_field_of_a_span_is_read() -> None:
    sent = span(
        7,
        parent_span_id=bytes([0, 0, 0, 0, 0, 0, 0, 3]),
        kind=Span.SPAN_KIND_CLIENT,
        attributes=[string("crop", "bean")],
        dropped_attributes_count=2,
        dropped_events_count=4,
        status={"code": 2, "message": "the tap is shut"},
        events=[Span.Event(name="drip", time_unix_nano=720, attributes=[string("drop", "one")])],
        links=[Span.Link(trace_id=TRACE, span_id=bytes(7) + b"\x09", attributes=[string("why", "rain")])],
    )
    session = decode_session("session-1", [traces(sent)], [], tenant="north")
    (got,) = session.spans
    assert (session.session_id, session.tenant, session.notes) == ("session-1", "north", ())
    assert got.trace_id == "0102030405060708090a0b0c0d0e0f10"
    assert (got.span_id, got.parent_id) == ("0000000000000007", "0000000000000003")
    assert (got.name, got.kind, got.start_ns, got.end_ns) == ("water bed 7", 3, 700, 750)
    assert got.attributes == {"crop": "bean"}
    assert (got.status, got.status_message) == (StatusCode.ERROR, "the tap is shut")
    assert (got.dropped_attributes, got.dropped_events) == (2, 4)
    assert got.resource.attributes == {"service.name": "garden"}
    assert (got.scope.name, got.scope.version) == ("greenhouse", "3")
    assert [(event.name, event.time_ns, dict(event.attributes)) for event in got.events] == [
        ("drip", 720, {"drop": "one"})
    ]
    assert [(link.span_id, dict(link.attributes)) for link in got.links] == [("0000000000000009", {"why": "rain"})]


def test_every_kind_of_value_is_read() -> None:
    values = {
        "text": AnyValue(string_value="leaf"),
        "yes": AnyValue(bool_value=False),
        "whole": AnyValue(int_value=-3),
        "part": AnyValue(double_value=0.5),
        "raw": AnyValue(bytes_value=b"\x00\xff"),
        "list": AnyValue(array_value=ArrayValue(values=[AnyValue(int_value=1), AnyValue()])),
        "map": AnyValue(kvlist_value=KeyValueList(values=[string("in", "side")])),
        "nothing": AnyValue(),
    }
    sent = span(1, attributes=[KeyValue(key=key, value=value) for key, value in values.items()])
    assert decoded_spans(traces(sent)).spans[0].attributes == {
        "text": "leaf",
        "yes": False,
        "whole": -3,
        "part": 0.5,
        "raw": b"\x00\xff",
        "list": (1, None),
        "map": {"in": "side"},
        "nothing": None,
    }


def test_a_parent_of_zeros_is_no_parent() -> None:
    assert decoded_spans(traces(span(1, parent_span_id=bytes(8)))).spans[0].parent_id is None


def test_of_a_key_that_comes_twice_the_first_value_counts() -> None:
    sent = span(1, attributes=[string("crop", "bean"), string("crop", "pea")])
    assert decoded_spans(traces(sent)).spans[0].attributes == {"crop": "bean"}


def test_text_that_is_not_utf8_is_read_with_replacement_characters() -> None:
    pairs = [string("key-", "caf- au lait"), string("whole", "crème"), string("nested", "")]
    pairs[2].value.kvlist_value.values.append(string("in-", "side-"))
    sound = span(1, name="bed -", attributes=pairs).SerializeToString()
    (got,) = decoded_spans(raw_traces(sound.replace(b"-", b"\xff"))).spans
    assert got.name == "bed \ufffd"
    assert got.attributes == {
        "key\ufffd": "caf\ufffd au lait",
        "whole": "crème",
        "nested": {"in\ufffd": "side\ufffd"},
    }


def test_a_span_that_does_not_parse_loses_only_itself_and_is_noted() -> None:
    good = span(1).SerializeToString()
    session = decoded_spans(raw_traces(good, b"\x0a\x7fcut short", span(2).SerializeToString()))
    assert [got.span_id[-1] for got in session.spans] == ["1", "2"]
    (note,) = session.notes
    assert note.startswith("a span (11 bytes, sha256 ")


def test_a_span_without_a_valid_id_is_noted() -> None:
    session = decoded_spans(traces(span(1, trace_id=b"short"), span(2)))
    assert len(session.spans) == 1
    assert "trace id or span id is not valid" in session.notes[0]


def test_a_value_nested_without_end_is_left_out_and_its_neighbours_stay() -> None:
    deep = lenient.AnyValue(int_value=1)
    for _ in range(MAX_DEPTH + 20):
        deep = lenient.AnyValue(array_value=lenient.ArrayValue(values=[deep]).SerializeToString())
    pairs = [
        lenient.KeyValue(key="deep", value=deep),
        lenient.KeyValue(key="flat", value=lenient.AnyValue(int_value=2)),
    ]
    sent = lenient.Span(trace_id=TRACE, span_id=b"12345678", attributes=pairs)
    session = decoded_spans(raw_traces(sent.SerializeToString()))
    assert session.spans[0].attributes["flat"] == 2
    assert session.notes == ("a value nested deeper than 100 levels was left out",)


def test_of_two_versions_of_a_span_the_one_that_ended_last_is_kept() -> None:
    begun = traces(span(1, end_time_unix_nano=0, attributes=[string("a", "1"), string("b", "2")]))
    ended = traces(span(1, end_time_unix_nano=150, attributes=[string("a", "1")]))
    assert decoded_spans(begun, ended) == decoded_spans(ended, begun)
    assert decoded_spans(begun, ended).spans[0].end_ns == 150


def test_spans_are_sorted_by_start_then_id() -> None:
    session = decoded_spans(traces(span(3), span(2, start_time_unix_nano=300), span(1)))
    assert [got.span_id[-1] for got in session.spans] == ["1", "2", "3"]


def test_every_field_of_a_record_is_read() -> None:
    sent = LogRecord(
        time_unix_nano=5,
        observed_time_unix_nano=6,
        severity_number=13,  # type: ignore[arg-type]
        body=AnyValue(kvlist_value=KeyValueList(values=[string("bed", "north")])),
        attributes=[string("crop", "bean")],
        dropped_attributes_count=1,
        trace_id=TRACE,
        span_id=b"12345678",
        event_name="frost",
    )
    (got,) = decoded_records(logs(sent)).records
    assert (got.time_ns, got.observed_ns, got.severity, got.event_name) == (5, 6, 13, "frost")
    assert (got.body, got.attributes, got.dropped_attributes) == ({"bed": "north"}, {"crop": "bean"}, 1)
    assert (got.trace_id, got.span_id) == (TRACE.hex(), b"12345678".hex())
    assert (got.scope.name, got.resource.attributes["service.name"]) == ("greenhouse", "garden")


def test_the_event_name_field_outranks_the_attribute_and_a_plain_record_has_none() -> None:
    named = LogRecord(time_unix_nano=1, event_name="frost", attributes=[string("event.name", "rain")])
    older = LogRecord(time_unix_nano=2, attributes=[string("event.name", "rain")])
    plain = LogRecord(time_unix_nano=3)
    got = decoded_records(logs(named, older, plain)).records
    assert [record.event_name for record in got] == ["frost", "rain", None]


def test_a_record_without_time_takes_the_time_it_was_observed() -> None:
    assert decoded_records(logs(LogRecord(observed_time_unix_nano=9))).records[0].time_ns == 9


def test_a_record_whose_ids_have_the_wrong_length_is_tied_to_no_span() -> None:
    (got,) = decoded_records(logs(LogRecord(time_unix_nano=1, trace_id=b"abc", span_id=bytes(8)))).records
    assert (got.trace_id, got.span_id) == (None, None)


def test_records_of_one_instant_keep_their_place_within_the_request() -> None:
    rows = [logs(*(LogRecord(time_unix_nano=1, event_name=name) for name in ("zeta", "alpha", "mid")))]
    got = decoded_records(*rows).records
    assert [(record.event_name, record.position) for record in got] == [("zeta", 0), ("alpha", 1), ("mid", 2)]


def test_a_request_sent_again_adds_nothing() -> None:
    row, record_row = traces(span(1), span(2)), logs(LogRecord(time_unix_nano=1), LogRecord(time_unix_nano=2))
    once = decode_session("s", [row], [record_row])
    assert decode_session("s", [row, row], [record_row, record_row]) == once
    assert len(once.records) == 2


SPAN_ROWS = [
    traces(span(1), span(2, parent_span_id=(1).to_bytes(8, "big"))),
    traces(span(3, end_time_unix_nano=0), span(4, trace_id=b"bad")),
    traces(span(3, attributes=[string("done", "yes")])),
    raw_traces(b"\xff\xff", span(5).SerializeToString()),
]
RECORD_ROWS = [
    logs(LogRecord(time_unix_nano=5, event_name="b"), LogRecord(time_unix_nano=5, event_name="a")),
    logs(LogRecord(time_unix_nano=5, event_name="c"), LogRecord(time_unix_nano=1)),
    logs(LogRecord(time_unix_nano=1), LogRecord(time_unix_nano=5, event_name="a")),
]


@given(
    span_rows=st.lists(st.sampled_from(SPAN_ROWS), max_size=4).flatmap(lambda more: st.permutations(SPAN_ROWS + more)),
    record_rows=st.lists(st.sampled_from(RECORD_ROWS), max_size=4).flatmap(
        lambda more: st.permutations(RECORD_ROWS + more)
    ),
)
def test_the_session_does_not_depend_on_order_or_repetition_of_rows(
    span_rows: list[bytes], record_rows: list[bytes]
) -> None:
    assert decode_session("s", span_rows, record_rows) == decode_session("s", SPAN_ROWS, RECORD_ROWS)


@given(rows=st.lists(st.binary(max_size=80), max_size=4))
def test_any_bytes_either_decode_or_are_noted(rows: list[bytes]) -> None:
    session = decode_session("s", rows, rows)
    assert session.session_id == "s"


@given(items=st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=5), cut=st.integers(0, 200))
def test_damage_to_items_spares_the_rest_and_leaves_a_note(items: list[bytes], cut: int) -> None:
    whole = span(1, attributes=[string("crop", "bean")]).SerializeToString()
    session = decoded_spans(raw_traces(whole[: cut % len(whole)], *items, span(9).SerializeToString()))
    assert "0000000000000009" in [got.span_id for got in session.spans]
    assert session.notes


def test_spans_that_differ_only_late_in_their_bytes_are_all_read() -> None:
    logs = [LogRecord(time_unix_nano=1, body=AnyValue(string_value="x" * 200 + end)) for end in "aba"]
    request = LogsData(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=logs)])])
    session = decode_session("s", [], [request.SerializeToString()])
    assert [str(record.body)[-1] for record in session.records] == ["a", "b"]
