"""OTLP/gRPC on a real socket, with raw bytes and with the generated stubs."""

from __future__ import annotations

import asyncio
import gc
import gzip
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import MetricsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from collector.clock import SystemClock
from collector.complaints import Complaints
from collector.errors import Malformed
from collector.ingest import Ingest, Limits, Receipt
from collector.journal.rows import Signal
from collector.metrics import Metrics
from collector.otlp.grpc_server import SERVICES, GrpcReceiver
from tests.collector.receiving import Receiving, receiving
from tests.collector.sessions.telemetry import log_request, record, span, trace_request

MIB = 1024**2
ANN = trace_request([span(1, 1, session__id="ann")])
BOB = trace_request([span(2, 2, session__id="bob")])
UNLIMITED = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class Serving:
    """A receiver on loopback, and channels to it."""

    def __init__(
        self,
        half: Receiving,
        ingest: Ingest,
        max_request_bytes: int,
        tenant_header: str | None,
        max_receiving: int = 16,
    ) -> None:
        self.half = half
        self.receiver = GrpcReceiver(
            ingest,
            half.metrics,
            Complaints(SystemClock()),
            listen="127.0.0.1:0",
            max_request_bytes=max_request_bytes,
            tenant_header=tenant_header,
            max_receiving=max_receiving,
        )

    def channel(self, compression: grpc.Compression | None = None) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(f"127.0.0.1:{self.receiver.port}", UNLIMITED, compression)

    async def send(
        self,
        body: bytes,
        signal: Signal = "traces",
        compression: grpc.Compression | None = None,
        metadata: tuple[tuple[str, str], ...] = (),
    ) -> bytes:
        """Raw bytes out, raw bytes back."""
        async with self.channel(compression) as channel:
            return await _method(channel, SERVICES[signal])(body, timeout=30, metadata=metadata)

    async def error(self, body: bytes, compression: grpc.Compression | None = None) -> grpc.aio.AioRpcError:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.send(body, compression=compression)
        return caught.value


def _method(channel: grpc.aio.Channel, service: str) -> grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]:
    """`Export` of a service, in raw bytes."""
    return channel.unary_unary(
        f"/{service}/Export", request_serializer=lambda body: body, response_deserializer=lambda body: body
    )


@asynccontextmanager
async def _serving(
    directory: Path,
    *,
    max_request_bytes: int = 64 * MIB,
    tenant_header: str | None = None,
    limits: Limits | None = None,
    ingest: Ingest | None = None,
    writing: bool = True,
    max_receiving: int = 16,
) -> AsyncIterator[Serving]:
    async with receiving(directory, limits=limits or Limits(), writing=writing) as half:
        serving = Serving(half, ingest or half.ingest, max_request_bytes, tenant_header, max_receiving)
        await serving.receiver.start()
        try:
            yield serving
        finally:
            await serving.receiver.stop(0.1)


def _retry_info(error: grpc.aio.AioRpcError) -> int | None:
    status = rpc_status.from_call(error)
    for detail in status.details if status is not None else ():
        info = RetryInfo()
        if detail.Unpack(info):
            return int(info.retry_delay.seconds)
    return None


async def test_full_success_is_an_empty_answer(tmp_path: Path) -> None:
    async with _serving(tmp_path) as serving:
        assert await serving.send(ANN) == b""
        assert await serving.send(log_request([record(1, session__id="ann")]), "logs") == b""
        assert await serving.send(b"") == b""
        assert serving.half.value("spans_stored_total") == serving.half.value("records_stored_total") == 1


async def test_the_generated_stubs_understand_every_answer(tmp_path: Path) -> None:
    async with _serving(tmp_path) as serving, serving.channel() as channel:
        good, odd = ExportTraceServiceRequest.FromString(ANN), ExportTraceServiceRequest.FromString(BOB)
        odd.resource_spans[0].scope_spans[0].spans[0].span_id = b"xyz"
        traces = TraceServiceStub(channel)  # type: ignore[no-untyped-call]
        logs = LogsServiceStub(channel)  # type: ignore[no-untyped-call]
        assert await traces.Export(good) == ExportTraceServiceResponse()
        answer = await traces.Export(odd)
        assert answer.partial_success.rejected_spans == 1
        assert "span id of 3 bytes" in answer.partial_success.error_message
        assert await logs.Export(ExportLogsServiceRequest()) == ExportLogsServiceResponse()


@pytest.mark.parametrize(
    "compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip, grpc.Compression.Deflate]
)
async def test_five_mebibytes_arrive_in_every_compression(tmp_path: Path, compression: grpc.Compression) -> None:
    body = trace_request([span(1, n, session__id="ann", text="x" * 50_000) for n in range(1, 106)])
    assert len(body) > 5 * MIB
    async with _serving(tmp_path) as serving:
        assert await serving.send(body, compression=compression) == b""
        assert serving.half.value("spans_stored_total") == 105


async def test_a_message_above_the_limit_is_too_large(tmp_path: Path) -> None:
    async with _serving(tmp_path, max_request_bytes=MIB) as serving:
        error = await serving.error(bytes(MIB + 1))
        assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert _retry_info(error) is None


async def test_a_bomb_is_too_large(tmp_path: Path) -> None:
    async with _serving(tmp_path, max_request_bytes=MIB) as serving:
        for error in (
            await serving.error(bytes(100 * MIB), grpc.Compression.Gzip),
            await serving.error(gzip.compress(bytes(100 * MIB))),
        ):
            assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert "inflates to more than" in (error.details() or "")
            assert _retry_info(error) is None
        assert (
            serving.half.value("request_duration_seconds_count", transport="grpc", signal="traces", outcome="too_large")
            == 2
        )


async def test_the_default_limit_takes_what_a_sender_may_send(tmp_path: Path) -> None:
    async with _serving(tmp_path) as serving:
        body = trace_request([span(1, n, session__id="ann", text="x" * 1_000_000) for n in range(1, 67)])
        assert 62 * MIB < len(body) < 64 * MIB
        assert await serving.send(body) == b""
        error = await serving.error(bytes(64 * MIB + 1))
        assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("body", [b"garbage", b"\x0a\xff", gzip.compress(ANN)[:-4], b"\x1f\x8bno gzip", b"\x78\x9cno"])
async def test_garbage_is_an_invalid_argument_with_a_reason(tmp_path: Path, body: bytes) -> None:
    async with _serving(tmp_path) as serving:
        error = await serving.error(body)
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert "byte" in (error.details() or "") or "compressed body" in (error.details() or "")
        assert await serving.send(ANN) == b""


class _Broken(Ingest):
    """An ingest with a bug."""

    def __init__(self) -> None:
        """Needs nothing."""

    def admit(self, size: int) -> None:
        """There is room."""

    async def accept(self, signal: Signal, request: bytes, tenant: str = "") -> Receipt:
        raise ZeroDivisionError("secret content")


class _Busy(_Broken):
    """An ingest whose disk does not answer."""

    async def accept(self, signal: Signal, request: bytes, tenant: str = "") -> Receipt:
        await asyncio.Event().wait()
        raise AssertionError("never")


async def test_a_sender_that_did_not_wait_for_the_answer_is_not_counted_as_served(tmp_path: Path) -> None:
    def counted(outcome: str) -> float:
        labels = {"transport": "grpc", "signal": "traces", "outcome": outcome}
        return serving.half.value("request_duration_seconds_count", **labels)

    async with _serving(tmp_path, ingest=_Busy()) as serving, serving.channel() as channel:
        call = _method(channel, SERVICES["traces"])(ANN, timeout=0.2)
        with pytest.raises(grpc.aio.AioRpcError):
            await call
        async with asyncio.timeout(20):
            while not counted("abandoned"):  # noqa: ASYNC110 - the server is told a moment later
                await asyncio.sleep(0.01)
        assert counted("ok") == 0


async def test_a_bug_of_ours_asks_the_sender_to_keep_the_data(tmp_path: Path) -> None:
    async with _serving(tmp_path, ingest=_Broken()) as serving:
        error = await serving.error(ANN)
        assert error.code() == grpc.StatusCode.UNAVAILABLE
        assert _retry_info(error) == 10
        assert "secret" not in (error.details() or "")
        assert (
            serving.half.value("request_duration_seconds_count", transport="grpc", signal="traces", outcome="error")
            == 1
        )


class _Held:
    """Something that a frame holds while a request is taken."""


class _Forgetful(_Broken):
    """Fails with something in its hands."""

    async def accept(self, signal: Signal, request: bytes, tenant: str = "") -> Receipt:
        held = _Held()
        self.held = weakref.ref(held)
        raise Malformed("odd")


async def test_a_request_that_failed_does_not_stay_in_memory(tmp_path: Path) -> None:
    ingest = _Forgetful()
    gc.disable()
    try:
        async with _serving(tmp_path, ingest=ingest) as serving:
            await serving.error(ANN)
            assert ingest.held() is None
    finally:
        gc.enable()


async def test_overload_is_unavailable_with_a_time_to_come_back(tmp_path: Path) -> None:
    async with _serving(tmp_path, limits=Limits(pending_bytes=10)) as serving:
        error = await serving.error(ANN)
        assert error.code() == grpc.StatusCode.UNAVAILABLE
        assert (_retry_info(error) or 0) > 0


@pytest.mark.parametrize("receiving_at_once", [1, 3])
async def test_more_senders_than_are_received_at_once_are_all_served(tmp_path: Path, receiving_at_once: int) -> None:
    async with _serving(tmp_path, max_receiving=receiving_at_once) as serving:
        bodies = [trace_request([span(n, n, session__id="ann", text="x" * MIB)]) for n in range(1, 13)]
        async with asyncio.timeout(30):
            assert await asyncio.gather(*map(serving.send, bodies)) == [b""] * 12
        assert serving.half.value("spans_stored_total") == 12


async def test_requests_that_never_reach_us_leave_room_for_others(tmp_path: Path) -> None:
    """Too large, given up by its sender, or answered with an error: each has ended."""
    async with _serving(tmp_path, max_request_bytes=MIB, max_receiving=1) as serving:
        for body in (bytes(MIB + 1), b"garbage"):
            for _ in range(3):
                await serving.error(body)
        async with serving.channel() as channel:
            call = _method(channel, SERVICES["traces"])(bytes(MIB), timeout=30)
            call.cancel()
        async with asyncio.timeout(20):
            assert await serving.send(ANN) == b""


async def test_what_a_sender_that_gave_up_had_sent_is_counted_once_it_is_stored(tmp_path: Path) -> None:
    async with _serving(tmp_path, writing=False) as serving, serving.channel() as channel:
        call = _method(channel, SERVICES["traces"])(ANN, timeout=0.2)
        with pytest.raises(grpc.aio.AioRpcError):
            await call
        assert serving.half.value("spans_stored_total") == 0
        serving.half.journal.start()
        async with asyncio.timeout(20):
            while not serving.half.value("spans_stored_total"):  # noqa: ASYNC110 - the disk says when
                await asyncio.sleep(0.01)
        assert serving.half.value("spans_received_total") == 1


async def test_metrics_are_taken_and_thrown_away(tmp_path: Path) -> None:
    async with _serving(tmp_path) as serving, serving.channel() as channel:
        request = ExportMetricsServiceRequest()
        request.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
        stub = MetricsServiceStub(channel)  # type: ignore[no-untyped-call]
        assert (await stub.Export(request)).ByteSize() == 0


async def test_a_service_nobody_knows_is_unimplemented(tmp_path: Path) -> None:
    async with _serving(tmp_path) as serving, serving.channel() as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await _method(channel, "other.Service")(b"")
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


async def _health(channel: grpc.aio.Channel, service: str = "") -> int:
    stub = health_pb2_grpc.HealthStub(channel)
    answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
    return int(answer.status)


async def test_health_tells_whether_telemetry_is_taken(tmp_path: Path) -> None:
    async with _serving(tmp_path) as serving, serving.channel() as channel:
        for service in ("", *SERVICES.values()):
            assert await _health(channel, service) == health_pb2.HealthCheckResponse.SERVING
        await serving.receiver.serving(False)
        for service in ("", *SERVICES.values()):
            assert await _health(channel, service) == health_pb2.HealthCheckResponse.NOT_SERVING
        await serving.receiver.serving(True)
        assert await _health(channel) == health_pb2.HealthCheckResponse.SERVING


async def test_a_second_server_on_the_port_is_told_so(tmp_path: Path) -> None:
    async with _serving(tmp_path) as serving:
        listen = f"127.0.0.1:{serving.receiver.port}"
        second = GrpcReceiver(
            serving.half.ingest,
            Metrics(),
            Complaints(SystemClock()),
            listen=listen,
            max_request_bytes=MIB,
            tenant_header=None,
        )
        with pytest.raises(OSError, match=f"receivers.grpc.listen: cannot listen on {listen}"):
            await second.start()


async def test_an_address_that_is_none_is_told_so(tmp_path: Path) -> None:
    async with receiving(tmp_path) as half:
        receiver = GrpcReceiver(
            half.ingest,
            Metrics(),
            Complaints(SystemClock()),
            listen="nowhere",
            max_request_bytes=MIB,
            tenant_header=None,
        )
        with pytest.raises(OSError, match="cannot listen on nowhere"):
            await receiver.start()


async def test_the_tenant_comes_from_the_configured_header(tmp_path: Path) -> None:
    async with _serving(tmp_path, tenant_header="X-Tenant") as serving:
        for tenant in ("red", "blue"):
            await serving.send(ANN, metadata=(("x-tenant", tenant),))
        await serving.send(ANN)
        assert len(serving.half.book.index) == 3
