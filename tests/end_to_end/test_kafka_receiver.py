"""A receiver as users run it, between real exporters and a real Kafka: what it acknowledged is in the topic."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.collector.sessions.telemetry import span, trace_request
from tests.end_to_end.server import Server, free_port, wait_for
from tests.kafka.broker import Broker
from tests.kafka.cluster import Cluster
from tests.kafka.desk import Desk

pytestmark = pytest.mark.integration("kafka")

_SENDERS, _BEFORE, _REQUESTS, _SPANS = 4, 20, 60, 5


def _receiver(directory: Path, bootstrap: str, **kafka: Any) -> Server:
    usual = {"bootstrap_servers": bootstrap, "create": {"replicas": 1, "partitions": 4}, "check_seconds": 1}
    return Server(directory, role="receiver", kafka={**usual, **kafka})


def _held(bootstrap: str, topic: str = "otlp_spans") -> list[bytes]:
    """Ids of the spans in the topic."""
    messages = asyncio.run(Desk(bootstrap).read(topic))
    return [
        each.span_id
        for message in messages
        for group in ExportTraceServiceRequest.FromString(message.value or b"").resource_spans
        for inner in group.scope_spans
        for each in inner.spans
    ]


class _Senders:
    """Send until Kafka has everything, as a Collector does: what is refused comes again. `acknowledged` is the
    manifest."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.acknowledged: set[bytes] = set()
        self.refusals: list[grpc.StatusCode] = []
        self._lock = threading.Lock()

    @contextmanager
    def sending(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._send_all, args=(number,)) for number in range(_SENDERS)]
        for thread in threads:
            thread.start()
        yield
        for thread in threads:
            thread.join()

    def _send_all(self, sender: int) -> None:
        with self._server.exporting() as export:
            for number in range(_REQUESTS):
                first = (sender * _REQUESTS + number) * _SPANS + 1
                spans = [span(1 + at % 7, first + at, note="x" * 2000) for at in range(_SPANS)]
                self._send(export, trace_request(spans))
                with self._lock:
                    self.acknowledged |= {each.span_id for each in spans}

    def _send(self, export: Any, body: bytes) -> None:
        def acknowledged() -> bool:
            try:
                export(body)
            except grpc.RpcError as error:
                self.refusals.append(error.code())
                return False
            return True

        wait_for(acknowledged, "an acknowledgement", within_s=90)


def test_nothing_acknowledged_is_lost_when_the_broker_is_killed(tmp_path: Path, own_kafka: Broker) -> None:
    with _receiver(tmp_path / "receiver", own_kafka.bootstrap, delivery_seconds=2) as server:
        senders = _Senders(server)
        with senders.sending():
            wait_for(lambda: len(senders.acknowledged) >= _BEFORE * _SPANS, "some requests")
            own_kafka.kill()
            wait_for(lambda: server.readyz() == 503, "not ready")
            assert "cannot be used" in server.not_ready_because()["ingest"]
            own_kafka.start()
        assert len(senders.acknowledged) == _SENDERS * _REQUESTS * _SPANS
        assert set(senders.refusals) == {grpc.StatusCode.UNAVAILABLE}  # and nothing that a sender would give up on
        assert senders.acknowledged <= set(_held(own_kafka.bootstrap))
        wait_for(lambda: server.readyz() == 200, "ready again")
        assert server.stop() == 0


def test_nothing_acknowledged_is_lost_when_a_leader_is_killed(tmp_path: Path, kafka_cluster: Cluster) -> None:
    desk = Desk(kafka_cluster.bootstrap)
    with _receiver(tmp_path / "receiver", desk.bootstrap, create={"replicas": 3, "partitions": 4}) as server:
        senders = _Senders(server)
        with senders.sending():
            wait_for(lambda: len(senders.acknowledged) >= _BEFORE * _SPANS, "some requests")
            leaders = asyncio.run(desk.leaders("otlp_spans"))
            kafka_cluster.node(leaders[0]).kill()
        assert len(senders.acknowledged) == _SENDERS * _REQUESTS * _SPANS
        assert set(senders.refusals) <= {grpc.StatusCode.UNAVAILABLE}
        assert senders.acknowledged <= set(_held(desk.bootstrap))
        assert asyncio.run(desk.leaders("otlp_spans"))[0] != leaders[0]


def test_what_the_python_sdk_sends_over_an_outage_is_there(tmp_path: Path, own_kafka: Broker) -> None:
    with _receiver(tmp_path / "receiver", own_kafka.bootstrap, delivery_seconds=1) as server:
        provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
        exporter = OTLPSpanExporter(endpoint=f"http://{server.grpc}", insecure=True, timeout=60)
        provider.add_span_processor(BatchSpanProcessor(exporter, export_timeout_millis=90_000))
        tracer = provider.get_tracer("shop.agent")
        own_kafka.kill()
        made = set()
        for number in range(20):
            with tracer.start_as_current_span(f"step {number}") as each:
                made.add(each.get_span_context().span_id.to_bytes(8, "big"))
        flushed: list[bool] = []
        flushing = threading.Thread(target=lambda: flushed.append(provider.force_flush(90_000)))
        flushing.start()
        wait_for(lambda: server.readyz() == 503, "not ready")
        own_kafka.start()
        flushing.join()
        assert flushed == [True]
        assert made == set(_held(own_kafka.bootstrap))
        provider.shutdown()


def test_http_senders_are_told_when_to_come_back(tmp_path: Path, own_kafka: Broker) -> None:
    with _receiver(tmp_path / "receiver", own_kafka.bootstrap) as server:
        own_kafka.kill()
        wait_for(lambda: server.readyz() == 503, "not ready")
        headers = {"content-type": "application/x-protobuf"}
        answer = httpx.post(f"{server.http}/v1/traces", content=b"", headers=headers, trust_env=False)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0


def test_a_receiver_that_does_not_reach_kafka_says_so_and_ends(tmp_path: Path) -> None:
    server = _receiver(tmp_path, "127.0.0.1:1", start_seconds=1)
    assert server.begin().wait(60) == 1
    assert "spanjudge: Kafka at 127.0.0.1:1 cannot be used" in server.output()


@pytest.mark.parametrize("role", ["receiver", "router", "worker", "all"])
def test_a_start_that_waits_for_kafka_can_be_stopped(tmp_path: Path, role: str) -> None:
    kafka = {"bootstrap_servers": f"127.0.0.1:{free_port()}", "start_seconds": 600}
    server = Server(tmp_path, role=role, kafka=kafka)
    server.begin()
    wait_for(lambda: "kafka_not_reached" in server.output(), "it waits for Kafka")
    assert server.stop() == 0
    assert "Traceback" not in server.output()


def test_topics_that_do_not_go_together_are_named_at_the_start(tmp_path: Path, kafka: Desk) -> None:
    async def uneven() -> dict[str, str]:
        names = {purpose: kafka.name(purpose) for purpose in ("spans", "logs", "dead_letters")}
        await kafka.create(names["spans"], 2)
        await kafka.create(names["logs"], 3)
        return names

    names = asyncio.run(uneven())
    server = _receiver(tmp_path, kafka.bootstrap, topics=names)
    assert server.begin().wait(60) == 1
    told = f"these topics need the same number of partitions: {names['spans']} 2, {names['logs']} 3"
    assert told in server.output()
