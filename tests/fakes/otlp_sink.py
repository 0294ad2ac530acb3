"""An OTLP receiver on a real socket that remembers what it was sent and answers as told."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Route

from collector.tls.served import ServedTls
from tests.fakes.http import serving

Received: TypeAlias = ExportTraceServiceRequest | ExportLogsServiceRequest
_PACKAGE = "opentelemetry.proto.collector"


@dataclass(frozen=True)
class Refusal:
    """An error answer: `code` for gRPC, `http` for HTTP. `retry_after` is seconds, or for HTTP any header text."""

    code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE
    http: int = 503
    message: str = "told to refuse"
    retry_after: int | str | None = None


@dataclass
class OtlpSink:
    """`decide` sees every request and may refuse it; what it lets pass is kept. `rejected_spans` and
    `rejected_records` are reported as partial success."""

    decide: Callable[[Received], Refusal | None] = lambda _: None
    rejected_spans: int = 0
    rejected_records: int = 0
    traces: list[ExportTraceServiceRequest] = field(default_factory=list)
    logs: list[ExportLogsServiceRequest] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    requests: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def span_ids(self) -> list[str]:
        return [span.span_id.hex() for request in self.traces for span in _spans(request)]

    @property
    def records(self) -> int:
        return sum(
            len(scope.log_records)
            for request in self.logs
            for some in request.resource_logs
            for scope in some.scope_logs
        )

    async def until(self, condition: Callable[[], bool], within_s: float = 20) -> None:
        """Wait until the condition holds after some request; fails after so many seconds."""
        async with asyncio.timeout(within_s), self._changed:
            await self._changed.wait_for(condition)

    async def take(self, request: Received, headers: dict[str, str]) -> Refusal | Message:
        refusal = self.decide(request)
        async with self._changed:
            self.requests += 1
            if refusal is None:
                self.headers.append(headers)
                self.traces += [request] if isinstance(request, ExportTraceServiceRequest) else []
                self.logs += [request] if isinstance(request, ExportLogsServiceRequest) else []
            self._changed.notify_all()
        return refusal or self._acceptance(request)

    def _acceptance(self, request: Received) -> Message:
        if isinstance(request, ExportTraceServiceRequest):
            spans = ExportTraceServiceResponse()
            if self.rejected_spans:
                spans.partial_success.rejected_spans = self.rejected_spans
                spans.partial_success.error_message = "some spans are odd"
            return spans
        records = ExportLogsServiceResponse()
        if self.rejected_records:
            records.partial_success.rejected_log_records = self.rejected_records
            records.partial_success.error_message = "some records are odd"
        return records


def span_count(request: Received) -> int:
    """Spans of a trace request; 0 for a logs request."""
    return len(_spans(request)) if isinstance(request, ExportTraceServiceRequest) else 0


@asynccontextmanager
async def grpc_sink(
    sink: OtlpSink, port: int = 0, *, traces: bool = True, logs: bool = True, tls: ServedTls | None = None
) -> AsyncIterator[str]:
    """Serve the sink over gRPC while the block runs; gives the endpoint. A signal may be left out."""

    async def answer(request: Received, context: grpc.aio.ServicerContext[Received, Message]) -> Message:
        metadata = {key: value if isinstance(value, str) else "" for key, value in context.invocation_metadata() or ()}
        taken = await sink.take(request, metadata)
        if isinstance(taken, Message):
            return taken
        status = Status(code=taken.code.value[0], message=taken.message)
        if isinstance(taken.retry_after, int):
            status.details.add().Pack(RetryInfo(retry_delay=Duration(seconds=taken.retry_after)))
        trailers = (("grpc-status-details-bin", status.SerializeToString()),)
        await context.abort(taken.code, taken.message, trailers)
        raise AssertionError("abort raises")

    def handler(
        service: str, request: type[ExportTraceServiceRequest | ExportLogsServiceRequest]
    ) -> grpc.GenericRpcHandler:
        method: grpc.RpcMethodHandler[Received, Message] = grpc.unary_unary_rpc_method_handler(
            answer,
            request_deserializer=request.FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )
        return grpc.method_handlers_generic_handler(f"{_PACKAGE}.{service}", {"Export": method})

    server = grpc.aio.server()
    if traces:
        server.add_generic_rpc_handlers((handler("trace.v1.TraceService", ExportTraceServiceRequest),))
    if logs:
        server.add_generic_rpc_handlers((handler("logs.v1.LogsService", ExportLogsServiceRequest),))
    at = f"127.0.0.1:{port}"
    bound = server.add_insecure_port(at) if tls is None else server.add_secure_port(at, tls.grpc_credentials())
    await server.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{bound}"
    finally:
        await server.stop(None)


@asynccontextmanager
async def http_sink(
    sink: OtlpSink, port: int = 0, *, traces: bool = True, logs: bool = True, tls: ServedTls | None = None
) -> AsyncIterator[str]:
    """The same over HTTP with protobuf bodies."""

    async def answer(
        request: HttpRequest, kind: type[ExportTraceServiceRequest | ExportLogsServiceRequest]
    ) -> HttpResponse:
        body = await request.body()
        if request.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        taken = await sink.take(kind.FromString(body), dict(request.headers))
        headers = {"content-type": "application/x-protobuf"}
        if isinstance(taken, Message):
            return HttpResponse(taken.SerializeToString(), headers=headers)
        if taken.retry_after is not None:
            headers["retry-after"] = str(taken.retry_after)
        return HttpResponse(Status(message=taken.message).SerializeToString(), taken.http, headers)

    async def take_traces(request: HttpRequest) -> HttpResponse:
        return await answer(request, ExportTraceServiceRequest)

    async def take_logs(request: HttpRequest) -> HttpResponse:
        return await answer(request, ExportLogsServiceRequest)

    routes = [Route("/v1/traces", take_traces, methods=["POST"])] if traces else []
    routes += [Route("/v1/logs", take_logs, methods=["POST"])] if logs else []
    async with serving(Starlette(routes=routes), port, tls.context() if tls else None) as url:
        yield url


def _spans(request: ExportTraceServiceRequest) -> list[Span]:
    return [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]
