"""Messages of receivers and of a Collector, in either encoding, come to the same."""

from __future__ import annotations

import orjson
import pytest

from collector.errors import Malformed
from collector.kafka.headers import ENCODING, TENANT, telemetry_headers
from collector.kafka.message_items import ItemReader
from collector.kafka.telemetry_messages import received
from collector.otlp.otlp_json import to_json
from collector.sessions.surroundings import Marks
from tests.collector.sessions.telemetry import span, trace_request

_REQUEST = trace_request([span(1, 1, session__id="ann")])


def test_a_receiver_says_how_it_writes_and_for_whom() -> None:
    told = received("traces", 7, _REQUEST, telemetry_headers("acme"), "otlp_json")
    assert (told.message.tenant, told.message.request, told.message.offset) == ("acme", _REQUEST, 7)


def test_a_collector_writes_as_the_configuration_says() -> None:
    json = orjson.dumps(to_json(_REQUEST, "traces"))
    assert received("traces", 0, json, (), "otlp_json").message.request == _REQUEST
    assert received("traces", 0, _REQUEST, (), "otlp_proto").message.request == _REQUEST
    assert received("traces", 0, json, [(ENCODING, b"otlp_json")], "otlp_proto").message.request == _REQUEST


def test_what_is_wrong_in_json_is_rejected_alone() -> None:
    document = to_json(trace_request([span(1, 1), span(1, 2)]), "traces")
    document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] = "short"
    told = received("traces", 0, orjson.dumps(document), (), "otlp_json")
    assert told.rejected == 1
    assert "traceId" in told.cause


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        (None, []),
        (b"{", []),
        (b'{"resourceSpans":' + b"[" * 100_000, []),
        (_REQUEST, telemetry_headers("t" * 2000)),
        (_REQUEST, [(ENCODING, b"avro")]),
        (_REQUEST, [(ENCODING, b"")]),
    ],
    ids=["no value", "broken", "deep", "a long tenant", "another encoding", "an empty encoding"],
)
def test_what_cannot_be_read_is_malformed(value: bytes | None, headers: list[tuple[str, bytes]]) -> None:
    with pytest.raises(Malformed):
        received("traces", 0, value, headers or [(ENCODING, b"otlp_json")], "otlp_json")


def test_headers_without_a_value_say_nothing() -> None:
    told = received("traces", 7, _REQUEST, [(ENCODING, None), (TENANT, None)], "otlp_proto")
    assert told.message.tenant == ""
    assert told.message.request == _REQUEST


def test_half_a_character_in_json_harms_nobody() -> None:
    document = to_json(trace_request([span(1, 1, session__id="NAME")]), "traces")
    value = orjson.dumps(document).replace(b"NAME", rb"\ud800")
    try:
        told = received("traces", 0, value, (), "otlp_json")
    except Malformed:
        return
    contents = ItemReader(Marks()).read(told.message, lambda group: group)
    for named in contents.named:
        named.session.encode()
