import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.generate import Pool, Shape, Stamper, requests
from benchmarks.load import Latency, Plan, latency, run
from benchmarks.servers.noop import SERVICE
from collector.http_serving import HttpServer

SHAPE = Shape("lean", batch=100, spans=1_600, open_sessions=40)
POOL = Pool(SHAPE, tuple(requests(SHAPE)))


@dataclass
class Receiver:
    """A real gRPC server that keeps what it gets and answers as told."""

    address: str
    got: list[bytes] = field(default_factory=list)
    refuse: int = 0
    refuse_with: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE
    answer: bytes = b""

    async def export(self, request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        if self.refuse:
            self.refuse -= 1
            await context.abort(self.refuse_with, "no room just now")
        self.got.append(request)
        return self.answer


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    server = grpc.aio.server()
    kept = Receiver(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
    export: Callable[..., Awaitable[bytes]] = kept.export
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {"Export": grpc.unary_unary_rpc_method_handler(export)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    await server.start()
    yield kept
    await server.stop(None)


@dataclass
class HttpEndpoint:
    """A real HTTP server that keeps what it gets, after refusing as often as told."""

    address: str = ""
    got: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    refuse: int = 0

    async def export(self, request: Request) -> Response:
        body = await request.body()
        if self.refuse:
            self.refuse -= 1
            return Response("no room just now", 503)
        self.got.append(body)
        self.headers.append(dict(request.headers))
        return Response(b"", 200, media_type="application/x-protobuf")


@pytest.fixture
async def endpoint() -> AsyncIterator[HttpEndpoint]:
    kept = HttpEndpoint()
    server = HttpServer(Starlette(routes=[Route("/v1/traces", kept.export, methods=["POST"])]), "127.0.0.1:0", "listen")
    address, task = await server.start()
    kept.address = f"http://{address}/v1/traces"
    yield kept
    server.stop()
    await task


def session_ids(sent: list[bytes]) -> set[str]:
    return {
        pair.value.string_value
        for request in sent
        for resource in ExportTraceServiceRequest.FromString(request).resource_spans
        for span in resource.scope_spans[0].spans
        for pair in span.attributes
        if pair.key == "session.id"
    }


async def test_as_many_spans_as_asked_for_are_sent_and_counted(receiver: Receiver) -> None:
    outcome = await run(Plan(receiver.address, spans=3_200, connections=2), POOL)
    assert outcome.acked_spans == 3_200
    assert outcome.acked_bytes == sum(map(len, receiver.got))
    assert (outcome.errors, outcome.retries, outcome.unsent_spans) == ({}, 0, 0)


async def test_each_pass_over_the_pool_brings_sessions_of_its_own(receiver: Receiver) -> None:
    await run(Plan(receiver.address, spans=1_600, first_pass=5), POOL)
    first = session_ids(receiver.got)
    receiver.got.clear()
    await run(Plan(receiver.address, spans=1_600, first_pass=7), POOL)
    assert first.isdisjoint(session_ids(receiver.got))


async def test_compressed_requests_arrive_as_they_were(receiver: Receiver) -> None:
    plain = await run(Plan(receiver.address, spans=400), POOL)
    compressed = await run(Plan(receiver.address, spans=400, gzip=True), POOL)
    assert plain.acked_bytes == compressed.acked_bytes
    assert set(receiver.got[:4]) == set(receiver.got[4:])


async def test_an_open_loop_sends_everything_too(receiver: Receiver) -> None:
    outcome = await run(Plan(receiver.address, spans=800, rate=80_000), POOL)
    assert (outcome.acked_spans, len(receiver.got)) == (800, 8)


async def test_a_refused_request_is_sent_again_and_counted_once(receiver: Receiver) -> None:
    receiver.refuse = 1
    outcome = await run(Plan(receiver.address, spans=400), POOL)
    assert (outcome.acked_spans, outcome.retries, outcome.errors) == (400, 1, {})
    assert len(set(receiver.got)) == 4


async def test_an_error_that_retrying_will_not_mend_is_counted_by_its_status(receiver: Receiver) -> None:
    receiver.refuse, receiver.refuse_with = 2, grpc.StatusCode.INVALID_ARGUMENT
    outcome = await run(Plan(receiver.address, spans=400), POOL)
    assert (outcome.acked_spans, outcome.retries, outcome.errors) == (200, 0, {"INVALID_ARGUMENT": 2})
    assert outcome.first_refusal == "INVALID_ARGUMENT: no room just now"


async def test_spans_rejected_by_partial_success_are_not_acknowledged(receiver: Receiver) -> None:
    receiver.answer = ExportTraceServiceResponse(
        partial_success=ExportTracePartialSuccess(rejected_spans=3)
    ).SerializeToString()
    outcome = await run(Plan(receiver.address, spans=200), POOL)
    assert (outcome.acked_spans, outcome.rejected_spans) == (194, 6)


async def test_what_was_not_tried_before_time_was_up_is_told(receiver: Receiver) -> None:
    outcome = await run(Plan(receiver.address, spans=800, seconds=0), POOL)
    assert (outcome.acked_spans, outcome.unsent_spans) == (0, 800)
    assert outcome.ack_ms == Latency(None, None, None)


def test_percentiles_are_by_nearest_rank_and_in_milliseconds() -> None:
    assert latency([number / 1000 for number in range(1, 101)]) == Latency(50.0, 99.0, 100.0)
    assert latency([0.004]) == Latency(4.0, 4.0, 4.0)


async def test_an_http_endpoint_gets_the_same_requests(endpoint: HttpEndpoint) -> None:
    outcome = await run(Plan(endpoint.address, SHAPE.spans, headers={"x-team": "blue"}), POOL)
    assert (outcome.acked_spans, outcome.errors) == (SHAPE.spans, {})
    assert sorted(endpoint.got) == sorted(Stamper(request).stamped(1) for request in POOL.requests)
    assert all(headers["x-team"] == "blue" for headers in endpoint.headers)


async def test_an_http_endpoint_is_tried_again_when_it_has_no_room(endpoint: HttpEndpoint) -> None:
    endpoint.refuse = 2
    outcome = await run(Plan(endpoint.address, SHAPE.spans), POOL)
    assert (outcome.acked_spans, outcome.retries) == (SHAPE.spans, 2)
    assert outcome.first_refusal == "HTTP 503: no room just now"


async def test_requests_are_compressed_over_http_when_asked(endpoint: HttpEndpoint) -> None:
    await run(Plan(endpoint.address, SHAPE.spans, gzip=True), POOL)
    assert endpoint.headers[0]["content-encoding"] == "gzip"
    sent = sorted(Stamper(request).stamped(1) for request in POOL.requests)
    assert sorted(gzip.decompress(body) for body in endpoint.got) == sent
