"""What the Collector's Kafka exporter writes is what our receivers write: same keys, same partitions, same content."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.otlp.grpc_server import SERVICES
from collector.otlp.otlp_json import to_protobuf
from tests.collector.sessions.telemetry import log_request, record, span, trace_id, trace_request
from tests.end_to_end.server import Server, wait_for
from tests.kafka.desk import Desk, Message
from tests.otelcol.collector import Collector

pytestmark = [pytest.mark.integration("kafka"), pytest.mark.integration("otelcol"), pytest.mark.timeout(1800)]

_TRACES = range(1, 9)
_MURMUR = {"sticky_key": {"hasher": "murmur2"}}


def _done(made: Span) -> Span:
    """With a status: the Collector writes an empty one where there was none."""
    made.status.code = Status.STATUS_CODE_OK
    return made


def _topics(kafka: Desk, **more: str) -> dict[str, str]:
    names = {purpose: kafka.name(purpose) for purpose in ("spans", "logs", "dead_letters")}

    async def create() -> None:
        await kafka.create(names["spans"], 6)
        await kafka.create(names["logs"], 6)

    asyncio.run(create())
    return {**names, **more}


def _exporter(kafka: Desk, names: dict[str, str], encoding: str = "otlp_proto") -> dict[str, Any]:
    return {
        "brokers": kafka.bootstrap.split(","),
        "traces": {"topic": names["spans"], "encoding": encoding},
        "logs": {"topic": names["logs"], "encoding": encoding},
        "partition_traces_by_id": True,
        "partition_logs_by_trace_id": True,
        "record_partitioner": _MURMUR,
        "producer": {"max_message_bytes": 8_000_000, "required_acks": -1, "compression": "zstd"},
    }


def _send(address: str, signal: str, body: bytes) -> None:
    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        export = channel.unary_unary(
            f"/{SERVICES[signal]}/Export",
            request_serializer=lambda raw: raw,
            response_deserializer=lambda raw: raw,
        )
        export(body, timeout=30, wait_for_ready=True)


def _messages(kafka: Desk, topic: str, count: int) -> list[Message]:
    def read() -> list[Message]:
        found = asyncio.run(kafka.read(topic))
        return found if len(found) >= count else []

    return wait_for(read, f"{count} messages in {topic}", within_s=60)


def _places(messages: list[Message]) -> dict[bytes | None, int]:
    return {message.key: message.partition for message in messages}


def test_a_collector_and_a_receiver_put_a_trace_into_the_same_partition(
    tmp_path: Path, kafka: Desk, otelcol: Path
) -> None:
    by_collector, by_receiver = _topics(kafka), _topics(kafka)
    spans = trace_request([_done(span(trace, trace)) for trace in _TRACES])
    records = log_request([record(trace) for trace in _TRACES])
    with Collector(tmp_path / "collector", otelcol, {"kafka": _exporter(kafka, by_collector)}) as collector:
        _send(collector.grpc, "traces", spans)
        _send(collector.grpc, "logs", records)
    section = {"bootstrap_servers": kafka.bootstrap, "topics": by_receiver, "create": {"replicas": 1}}
    with Server(tmp_path / "receiver", role="receiver", kafka=section) as server:
        server.send(spans)
        server.send(records, "logs")
    theirs, ours = (_messages(kafka, names["spans"], len(_TRACES)) for names in (by_collector, by_receiver))
    logs = _messages(kafka, by_collector["logs"], len(_TRACES))
    assert _places(theirs).keys() == {trace_id(trace).hex().encode() for trace in _TRACES}
    assert _places(theirs) == _places(ours) == _places(logs)
    assert len(set(_places(ours).values())) > 1
    by_key = {message.key: message.value for message in theirs}
    for message in ours:
        both = [ExportTraceServiceRequest.FromString(value or b"") for value in (message.value, by_key[message.key])]
        assert both[0] == both[1]
    for message in logs:
        assert len(ExportLogsServiceRequest.FromString(message.value or b"").resource_logs) == 1


def test_json_of_a_collector_is_understood(tmp_path: Path, kafka: Desk, otelcol: Path) -> None:
    names = _topics(kafka)
    sent = trace_request([_done(span(5, 1, session__id="ann"))])
    with Collector(tmp_path, otelcol, {"kafka": _exporter(kafka, names, "otlp_json")}) as collector:
        _send(collector.grpc, "traces", sent)
    (message,) = _messages(kafka, names["spans"], 1)
    assert message.value is not None
    assert json.loads(message.value)["resourceSpans"]
    converted = to_protobuf(message.value, "traces")
    assert (converted.items, converted.rejected) == (1, 0)
    assert ExportTraceServiceRequest.FromString(converted.payload) == ExportTraceServiceRequest.FromString(sent)


def test_a_collector_writes_what_it_gets_to_files(tmp_path: Path, otelcol: Path) -> None:
    written = tmp_path / "spans.json"
    traces = {"receivers": ["otlp"], "processors": ["batch"], "exporters": ["file"]}
    exporters = {"file": {"path": str(written)}}
    with Collector(tmp_path, otelcol, exporters, {"traces": traces}, processors={"batch": {}}) as collector:
        _send(collector.grpc, "traces", trace_request([span(1, 1)]))
    assert json.loads(written.read_text().splitlines()[0])["resourceSpans"]
