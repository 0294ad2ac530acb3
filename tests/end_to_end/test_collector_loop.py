"""SpanJudge between two Collectors: telemetry by the Kafka exporter of the one, verdicts by OTLP to the other. Where
the pipeline brings verdicts round, they are not judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collector.kafka.settings import KafkaTopics
from judge.verdict import NotApplicable
from tests.collector.sessions.telemetry import trace_id
from tests.end_to_end.agents import chat_span, request, tool_span
from tests.end_to_end.server import Server, wait_for
from tests.kafka.desk import Desk
from tests.otelcol.collector import Collector
from tests.otelcol.written import items, span_ids

pytestmark = [pytest.mark.integration("kafka"), pytest.mark.integration("otelcol"), pytest.mark.timeout(1800)]

_SESSIONS = ("ann", "bob", "cleo")
_WITHIN_S = 90


def kafka_settings(desk: Desk) -> dict[str, Any]:
    return {
        "bootstrap_servers": desk.bootstrap,
        "topics": {purpose: desk.name(purpose) for purpose in KafkaTopics.model_fields},
        "create": {"replicas": 1, "partitions": 3, "session_partitions": 3},
        "router_group": desk.name("router"),
        "worker_group": desk.name("worker"),
        "transactional_id": desk.name("router"),
    }


def _kafka_exporter(kafka: dict[str, Any]) -> dict[str, Any]:
    return {
        "brokers": kafka["bootstrap_servers"].split(","),
        "traces": {"topic": kafka["topics"]["spans"]},
        "logs": {"topic": kafka["topics"]["logs"]},
        "partition_traces_by_id": True,
        "partition_logs_by_trace_id": True,
        "record_partitioner": {"sticky_key": {"hasher": "murmur2"}},
        "producer": {"required_acks": -1, "compression": "zstd"},
    }


def _session(item: dict[str, Any]) -> str:
    (name,) = [each["value"]["stringValue"] for each in item["attributes"] if each["key"] == "session.id"]
    return str(name)


def _agent(session: str, trace: int) -> bytes:
    """Only the root names the session; it comes last."""
    call, root = tool_span(session, trace, trace * 10 + 2), chat_span(session, trace, trace * 10, "Is it open?", "Yes.")
    call.parent_span_id = root.span_id
    call.attributes.remove(next(each for each in call.attributes if each.key == "session.id"))
    return request([call, root])


def _judge(server: Server, collector: Collector) -> int:
    """Send the sessions in at the front, and wait until they are judged; how many verdicts are to be sent."""
    agents = Server(server.directory / "agents")  # not started: it only knows how to send
    agents.grpc = collector.grpc
    for number, session in enumerate(_SESSIONS, 1):
        agents.send(_agent(session, number))
    told = 0
    for session in _SESSIONS:
        closed = server.judged(session, within_s=_WITHIN_S)
        assert closed.spans == 2
        told += sum(not isinstance(one.verdict.outcome, NotApplicable) for one in server.verdicts(closed))
    return told


def test_verdicts_arrive_in_the_pipeline_beside_what_they_judge(tmp_path: Path, kafka: Desk, otelcol: Path) -> None:
    settings, written = kafka_settings(kafka), tmp_path / "verdicts.json"
    behind = Collector(tmp_path / "behind", otelcol, {"file": {"path": str(written), "flush_interval": "200ms"}})
    export = {"otlp": {"endpoint": f"http://{behind.grpc}"}}
    receiving = {"grpc": {"enabled": False}, "http": {"enabled": False}}
    router = Server(tmp_path / "router", role="router", kafka=settings)
    worker = Server(tmp_path / "worker", role="worker", kafka=settings, export=export, receivers=receiving)
    with behind, router, worker:
        front = Collector(tmp_path / "front", otelcol, {"kafka": _kafka_exporter(settings)})
        with front:
            told = _judge(worker, front)
            wait_for(lambda: len(set(span_ids(written))) == told, f"{told} verdicts in the file", _WITHIN_S)
            wait_for(lambda: len(list(items(written, "logs"))) >= told, "their events", _WITHIN_S)
        traces = {trace_id(number).hex(): session for number, session in enumerate(_SESSIONS, 1)}
        for span in items(written, "traces"):
            assert traces[span["traceId"]] == _session(span)
            assert span["parentSpanId"]


def test_verdicts_that_come_round_are_counted_and_not_judged(tmp_path: Path, kafka: Desk, otelcol: Path) -> None:
    """The Collector that takes verdicts gives all that it gets to the topics we read, as a shared pipeline does."""
    settings, written = kafka_settings(kafka), tmp_path / "all.json"
    exporters = {
        "kafka": _kafka_exporter(settings),
        "file": {"path": str(written), "flush_interval": "200ms"},
    }
    collector = Collector(tmp_path / "collector", otelcol, exporters)
    router = Server(tmp_path / "router", role="router", kafka=settings)
    worker = Server(
        tmp_path / "worker", role="worker", kafka=settings, export={"otlp": {"endpoint": f"http://{collector.grpc}"}}
    )
    with router, worker, collector:
        told = _judge(worker, collector)
        for signal in ("traces", "logs"):
            wait_for(
                lambda signal=signal: router.metric("kafka_router_items_total", signal=signal, outcome="own") >= told,  # type: ignore[misc]
                f"{told} of our own among the {signal}",
                _WITHIN_S,
            )
        assert sorted(span_ids(written)) == sorted(set(span_ids(written)))
        assert len(span_ids(written)) == told
        wait_for(lambda: not router.metric("kafka_router_waiting_messages"), "the router has read all", _WITHIN_S)
        wait_for(lambda: not worker.metric("kafka_work_waiting_messages"), "the worker has read all", _WITHIN_S)
        assert worker.metric("sessions_closed_total") == len(_SESSIONS)
        assert worker.metric("kafka_items_filed_total") == 2 * len(_SESSIONS)
        for session in _SESSIONS:
            assert len(worker.closings(session)) == 1
