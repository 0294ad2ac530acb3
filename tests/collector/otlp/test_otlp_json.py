from __future__ import annotations

import tracemalloc
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.errors import Malformed, TooLarge
from collector.otlp.decode import decode_session
from collector.otlp.envelope import MOST_FIELDS
from collector.otlp.otlp_json import MOST_LINKS, MOST_VALUES, Signal, to_json, to_protobuf

TRACE = "0102030405060708090a0b0c0d0e0f10"


def span(number: int, **fields: Any) -> dict[str, Any]:
    start = str(10**18 + number)
    return {"traceId": TRACE, "spanId": f"{number:016x}", "name": "bake", "startTimeUnixNano": start} | fields


def traces(*spans: Any) -> bytes:
    scoped = {"scope": {"name": "oven"}, "spans": list(spans)}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "bakery"}}]}
    return orjson.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]})


def logs(*records: Any) -> bytes:
    return orjson.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]})


def test_a_span_keeps_every_field() -> None:
    sent = span(
        1,
        traceId=TRACE.upper(),
        parentSpanId="00000000000000FF",
        kind=3,
        status={"code": 2, "message": "burnt"},
        attributes=[
            {"key": "loaves", "value": {"intValue": "9007199254740993"}},
            {"key": "trays", "value": {"intValue": 4}},
            {"key": "heat", "value": {"doubleValue": 230.5}},
            {"key": "photo", "value": {"bytesValue": "AAH/"}},
            {"key": "tags", "value": {"arrayValue": {"values": [{"stringValue": "rye"}]}}},
        ],
        links=[{"traceId": TRACE, "spanId": "00000000000000aa"}],
        somethingNew={"of": "tomorrow"},
    )
    converted = to_protobuf(traces(sent), "traces")
    assert (converted.items, converted.rejected, converted.cause) == (1, 0, None)
    (got,) = decode_session("s", [converted.payload], []).spans
    assert (got.trace_id, got.span_id, got.parent_id) == (TRACE, f"{1:016x}", "00000000000000ff")
    assert (got.kind, got.start_ns, got.status, got.status_message) == (3, 10**18 + 1, 2, "burnt")
    assert got.attributes == {
        "loaves": 9007199254740993,
        "trays": 4,
        "heat": 230.5,
        "photo": b"\x00\x01\xff",
        "tags": ("rye",),
    }
    assert (got.scope.name, got.resource.attributes) == ("oven", {"service.name": "bakery"})
    assert [link.span_id for link in got.links] == ["00000000000000aa"]


def test_a_record_keeps_every_field_and_needs_no_ids() -> None:
    tied = {"timeUnixNano": "5", "traceId": TRACE, "spanId": f"{1:016x}", "eventName": "ding", "severityNumber": 9}
    loose = {"timeUnixNano": 6, "body": {"stringValue": "cooling"}, "traceId": "", "spanId": "0" * 16}
    converted = to_protobuf(logs(tied, loose), "logs")
    first, second = decode_session("s", [], [converted.payload]).records
    assert (first.time_ns, first.trace_id, first.span_id, first.event_name, first.severity) == (
        5,
        TRACE,
        f"{1:016x}",
        "ding",
        9,
    )
    assert (second.time_ns, second.body, second.trace_id, second.span_id) == (6, "cooling", None, None)


PLACE = "resourceSpans[0].scopeSpans[0].spans[1]"


@pytest.mark.parametrize(
    ("broken", "cause"),
    [
        (span(2, traceId=TRACE[:-1]), f"{PLACE}.traceId: 31 hex digits, 32 expected"),
        (span(2, spanId="zz" * 8), f"{PLACE}.spanId: not hex digits"),
        (span(2, spanId="0102 0304 050607"), f"{PLACE}.spanId: not hex digits"),
        (span(2, spanId=7), f"{PLACE}.spanId: a number, hex text expected"),
        (span(2, traceId="0" * 32), f"{PLACE}.traceId: all zeros"),
        (span(2, traceId=None), f"{PLACE}.traceId: missing"),
        (span(2, links=[{"traceId": TRACE}]), f"{PLACE}.links[0].spanId: missing"),
        (span(2, links="none"), f"{PLACE}.links: text, an array expected"),
        (span(2, name=["a"]), f"{PLACE}: Failed to parse name field"),
        (span(2, attributes=[{"key": "n", "value": {"intValue": "9" * 30}}]), f"{PLACE}: Failed to parse attributes"),
        ("a span", f"{PLACE}: text, an object expected"),
    ],
)
def test_a_wrong_span_is_turned_away_alone_and_the_cause_names_it(broken: Any, cause: str) -> None:
    converted = to_protobuf(traces(span(1), broken, span(3)), "traces")
    assert (converted.items, converted.rejected) == (2, 1)
    assert converted.cause is not None
    assert converted.cause.startswith(cause)
    assert [got.span_id[-1] for got in decode_session("s", [converted.payload], []).spans] == ["1", "3"]


@pytest.mark.parametrize(
    "fields",
    [
        {"startTimeUnixNano": "hunter2"},
        {"kind": "hunter2"},
        {"name": {"hunter2": 1}},
        {"attributes": [{"key": "a", "value": {"intValue": "hunter2"}}]},
        {"attributes": [{"key": "a", "value": {"doubleValue": "hunter2"}}]},
        {"attributes": [{"key": "a", "value": {"boolValue": "hunter2"}}]},
        {"attributes": [{"key": "a", "value": {"bytesValue": "hunter2"}}]},
        {"attributes": "hunter2"},
        {"traceId": "hunter2"},
    ],
)
def test_a_cause_quotes_nothing_of_what_was_sent(fields: dict[str, Any]) -> None:
    assert "hunter2" not in (to_protobuf(traces(span(1, **fields)), "traces").cause or "")


def test_a_wrong_record_is_turned_away_alone() -> None:
    converted = to_protobuf(logs({"timeUnixNano": "1"}, {"timeUnixNano": "soon"}), "logs")
    assert (converted.items, converted.rejected) == (1, 1)
    assert converted.cause is not None
    assert converted.cause.startswith("resourceLogs[0].scopeLogs[0].logRecords[1]: ")


def test_a_value_nested_too_deep_costs_its_span_only() -> None:
    deep: dict[str, Any] = {"intValue": 1}
    for _ in range(60):
        deep = {"arrayValue": {"values": [deep]}}
    converted = to_protobuf(traces(span(1, attributes=[{"key": "deep", "value": deep}]), span(2)), "traces")
    assert (converted.items, converted.rejected) == (1, 1)
    assert converted.cause is not None
    assert len(converted.cause) < 400


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\x0a\x00", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        (b'{"resourceSpans":' * 100_000, "the body is not JSON"),
        (b"[]", "the body is an array, an object expected"),
        (b'{"resourceSpans": {}}', "resourceSpans: an object, an array expected"),
        (b'{"resourceSpans": [1]}', r"resourceSpans\[0\]: a number, an object expected"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": "x"}]}]}', r"resourceSpans\[0\].scopeSpans\[0\].spans: text"),
        (b'{"resourceSpans": [{"resource": 3}]}', r"resourceSpans\[0\]: Failed to parse resource"),
    ],
)
def test_a_broken_envelope_is_malformed_and_says_where(body: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        to_protobuf(body, "traces")


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (r"half \ud83d", "half \ufffd"),
        (r"\uDE00 half", "\ufffd half"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"\ud83d\n", "\ufffd\n"),
        (r"\\\ud83d", "\\\ufffd"),
        (r"\ud83d no escape: \\ud83d", "\ufffd no escape: \\ud83d"),
        (r"\ud83d\\ude00", "\ufffd\\ude00"),
        (r"\ude00\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        (r"\ud83d\ud83d", "\ufffd\ufffd"),
    ],
)
def test_half_an_emoji_costs_nothing_but_itself(sent: str, read: str) -> None:
    converted = to_protobuf(traces(span(1, name="CUT"), span(2)).replace(b"CUT", sent.encode()), "traces")
    assert (converted.items, converted.rejected) == (2, 0)
    assert [got.name for got in decode_session("s", [converted.payload], []).spans] == [read, "bake"]


@pytest.mark.parametrize(
    "body",
    [
        {"resourceSpans": [{}] * (MOST_FIELDS + 1)},
        {"resourceSpans": [{"scopeSpans": [{}] * MOST_FIELDS}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [{}] * (MOST_FIELDS - 1)}]}]},
    ],
    ids=["resources", "scopes", "spans"],
)
def test_more_parts_than_protobuf_may_have_are_too_large(body: Any) -> None:
    with pytest.raises(TooLarge, match=f"more than {MOST_FIELDS} spans or records"):
        to_protobuf(orjson.dumps(body), "traces")


@pytest.mark.parametrize("one", [b"{},", b"[],", b"1,", b'"a",'])
def test_more_values_than_memory_is_meant_for_are_refused_before_they_are_read(one: bytes) -> None:
    with pytest.raises(TooLarge, match=f"more than {MOST_VALUES} values"):
        to_protobuf(b'{"unknown":[' + one * MOST_VALUES + b"0", "traces")  # which is not even JSON


@pytest.mark.parametrize("text", [b"[1,2]", rb"\"{\",", rb"[[\\"])
def test_what_looks_like_values_in_a_text_is_none(text: bytes) -> None:
    body = b'{"unknown":"' + text * (MOST_VALUES // 2) + b'"}'
    assert to_protobuf(body, "traces").items == 0


def test_a_text_that_does_not_end_takes_no_time() -> None:
    with pytest.raises(Malformed):
        to_protobuf(b'{"unknown":"' + rb",\"" * (MOST_VALUES + 1), "traces")


@pytest.mark.parametrize("escapes", [rb"\ud83d" + rb"\n" * 1_000_000, rb"\ud83d" * 50_000, b"\\" * 2_000_000])
def test_mending_halves_takes_little_memory_whatever_else_is_escaped(escapes: bytes) -> None:
    body = b'{"unknown":"' + escapes + rb'\ud83d"}'
    tracemalloc.start()
    try:
        assert to_protobuf(body, "traces").items == 0
        assert tracemalloc.get_traced_memory()[1] < 20 * len(body)
    finally:
        tracemalloc.stop()


def test_a_span_of_very_many_links_is_turned_away() -> None:
    link = {"traceId": TRACE, "spanId": "00000000000000aa"}
    converted = to_protobuf(traces(span(1, links=[link] * (MOST_LINKS + 1)), span(2)), "traces")
    assert (converted.items, converted.rejected) == (1, 1)
    assert "links: 10001 links, 10000 allowed" in (converted.cause or "")


def test_names_as_in_protobuf_are_read_too() -> None:
    sent = {"trace_id": TRACE, "span_id": f"{1:016x}", "parent_span_id": f"{2:016x}", "start_time_unix_nano": "7"}
    link = {"trace_id": TRACE, "span_id": f"{3:016x}"}
    scope = {"scope": {"name": "oven"}, "schema_url": "a", "spans": [{**sent, "links": [link]}]}
    body = orjson.dumps({"resource_spans": [{"schema_url": "b", "scope_spans": [scope]}]})
    (got,) = decode_session("s", [to_protobuf(body, "traces").payload], []).spans
    assert (got.trace_id, got.span_id, got.parent_id, got.start_ns) == (TRACE, f"{1:016x}", f"{2:016x}", 7)
    assert got.links[0].span_id == f"{3:016x}"
    record = {"trace_id": TRACE, "time_unix_nano": "7"}
    body = orjson.dumps({"resource_logs": [{"scope_logs": [{"log_records": [record]}]}]})
    (said,) = decode_session("s", [], [to_protobuf(body, "logs").payload]).records
    assert (said.trace_id, said.time_ns) == (TRACE, 7)


def test_the_name_that_otlp_wants_counts_before_the_one_of_protobuf() -> None:
    (got,) = decode_session("s", [to_protobuf(traces(span(1, span_id="f" * 16)), "traces").payload], []).spans
    assert got.span_id == f"{1:016x}"


def test_nulls_and_absent_lists_are_empty_requests() -> None:
    for body in (b"{}", b'{"resourceSpans": null}', b'{"resourceSpans": [{"resource": null, "scopeSpans": null}]}'):
        assert to_protobuf(body, "traces").items == 0


def test_bytes_that_are_no_request_cannot_be_shown_as_json() -> None:
    with pytest.raises(Malformed, match="not an OTLP request for logs"):
        to_json(b"\xff\xff", "logs")


texts = st.text(st.characters(codec="utf-8"), max_size=12)
scalars = st.one_of(
    st.builds(lambda value: {"stringValue": value}, texts),
    st.builds(lambda value: {"boolValue": value}, st.booleans()),
    st.builds(lambda value: {"intValue": str(value)}, st.integers(-(2**63), 2**63 - 1)),
    st.builds(lambda value: {"doubleValue": value}, st.floats(allow_nan=False, allow_infinity=False)),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.builds(lambda items: {"arrayValue": {"values": items}}, st.lists(inner, max_size=3)),
        st.builds(
            lambda items: {"kvlistValue": {"values": [{"key": key, "value": value} for key, value in items.items()]}},
            st.dictionaries(texts, inner, max_size=3),
        ),
    ),
    max_leaves=6,
)
attributes = st.dictionaries(texts, values, max_size=4).map(
    lambda found: [{"key": key, "value": value} for key, value in found.items()]
)
spans = st.builds(lambda number, found: span(number, attributes=found), st.integers(1, 2**63), attributes)
records = st.builds(
    lambda time, body, found: {"timeUnixNano": str(time), "body": body, "attributes": found},
    st.integers(0, 2**63),
    values,
    attributes,
)


@given(
    request=st.one_of(
        st.lists(spans, max_size=3).map(lambda found: ("traces", traces(*found))),
        st.lists(records, max_size=3).map(lambda found: ("logs", logs(*found))),
    )
)
def test_a_request_survives_the_way_to_json_and_back(request: tuple[Signal, bytes]) -> None:
    signal, body = request
    first = to_protobuf(body, signal)
    again = to_protobuf(orjson.dumps(to_json(first.payload, signal)), signal)
    assert first.rejected == again.rejected == 0

    def session(payload: bytes) -> Any:
        return decode_session("s", [payload], []) if signal == "traces" else decode_session("s", [], [payload])

    assert session(first.payload) == session(again.payload)


@given(body=st.one_of(st.binary(max_size=60), st.recursive(texts, st.lists).map(orjson.dumps)))
def test_any_body_converts_or_is_malformed(body: bytes) -> None:
    try:
        converted = to_protobuf(body, "logs")
    except Malformed:
        return
    assert (converted.items, converted.rejected) == (0, 0)
