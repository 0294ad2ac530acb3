"""OTLP/gRPC: traces and logs, raw bytes in and out; metrics are taken and thrown away, so that nobody's exporter
logs errors; health by `grpc.health.v1`."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import grpc
import structlog
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from collector.complaints import Complaints
from collector.errors import Denied, Malformed
from collector.ingest import Receipt
from collector.journal.rows import Signal
from collector.metrics import Metrics
from collector.otlp.inflate import inflated, sniffed
from collector.otlp.intake import Intake
from collector.otlp.reception import Reception
from collector.otlp.senders import Senders, only_value
from collector.otlp.status import answer_to, response_to
from collector.otlp.turning_away import TurningAway
from collector.tls.served import ServedTls

log = structlog.get_logger(__name__)

_Context = grpc.aio.ServicerContext[bytes, bytes]
_Handler = Callable[[bytes, _Context], Coroutine[Any, Any, bytes]]

_PACKAGE = "opentelemetry.proto.collector"
SERVICES = {"traces": f"{_PACKAGE}.trace.v1.TraceService", "logs": f"{_PACKAGE}.logs.v1.LogsService"}
_METRICS_SERVICE = f"{_PACKAGE}.metrics.v1.MetricsService"
_SIGNALS: dict[str, Signal] = {f"/{SERVICES[signal]}/Export": signal for signal in ("traces", "logs")}


def options(max_request_bytes: int) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", max_request_bytes),
        # Compressed messages reach us as they came: we inflate faster than the core does, and with a bound.
        ("grpc.per_message_decompression", 0),
        # A Collector pings every 10 s while a call is open; the default would answer with GOAWAY too_many_pings.
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
        ("grpc.keepalive_permit_without_calls", 1),
        # With the default of 1 a second instance on the same port would start, and take half of the connections.
        ("grpc.so_reuseport", 0),
        # Each may hold a flow-control window of memory while it waits; more of one connection wait at the sender.
        ("grpc.max_concurrent_streams", 128),
        ("grpc.max_connection_age_ms", 600_000),
        ("grpc.max_connection_age_grace_ms", 30_000),
    ]


class GrpcReceiver:
    def __init__(
        self,
        ingest: Intake,
        metrics: Metrics,
        complaints: Complaints,
        *,
        listen: str,
        max_request_bytes: int,
        tenant_header: str | None,
        max_receiving: int = 16,
        tls: ServedTls | None = None,
        senders: Senders | None = None,
    ) -> None:
        """Without `tls` in plain text, without `senders` from anybody."""
        self._ingest = ingest
        self._metrics = metrics
        self._complaints = complaints
        self._listen = listen
        self._max_request_bytes = max_request_bytes
        self._tenant_header = tenant_header.lower() if tenant_header else None
        self._reception = Reception(frozenset(f"/{service}/Export" for service in SERVICES.values()), max_receiving)
        self._tls = tls
        self._senders = senders
        interceptors: list[grpc.aio.ServerInterceptor] = [self._reception]
        if senders is not None:
            interceptors.insert(0, TurningAway(self._denial))
        self._server = grpc.aio.server(options=options(max_request_bytes), interceptors=interceptors)
        self._health = health.aio.HealthServicer()
        self.port = 0

    async def start(self) -> int:
        """Begin to listen; returns the port. Raises OSError, naming the address, when it cannot be had."""
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for signal in ("traces", "logs"):
            self._register(SERVICES[signal], self._export(signal))
        self._register(_METRICS_SERVICE, self._discard)
        try:
            self.port = self._open_port()
        except RuntimeError as error:
            raise OSError(f"receivers.grpc.listen: cannot listen on {self._listen}: {error}") from error
        await self._server.start()
        await self.serving(True)
        return self.port

    def _open_port(self) -> int:
        if self._tls is None:
            return self._server.add_insecure_port(self._listen)
        return self._server.add_secure_port(self._listen, self._tls.grpc_credentials())

    async def serving(self, ready: bool) -> None:
        state = health_pb2.HealthCheckResponse.SERVING if ready else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in ("", *SERVICES.values()):
            await self._health.set(service, state)

    async def stop(self, grace_s: float) -> None:
        """Refuse what is new, let what is under way finish within the grace."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace_s)

    def _register(self, service: str, handler: _Handler) -> None:
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Export": grpc.unary_unary_rpc_method_handler(handler)
        }
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))

    def _export(self, signal: Signal) -> _Handler:
        async def export(request: bytes, context: _Context) -> bytes:
            self._reception.arrived()
            began = time.perf_counter()
            outcome = "abandoned"  # unless there is an answer: a sender that gives up cancels us
            try:
                receipt = await self._accept(signal, request, context)
                if not receipt.rejected:
                    outcome = "ok"
                    return b""
                outcome = "partial"
                self._complaints.say("items_rejected", "grpc", signal=signal, cause=receipt.cause)
                return response_to(signal, receipt).SerializeToString()
            except Exception as error:  # what escapes becomes UNKNOWN, and senders drop their data on that
                answer = answer_to(error)
                outcome = answer.outcome
                if outcome == "error":
                    log.exception("request_failed", transport="grpc", signal=signal)
                else:
                    self._complaints.say(f"request_{outcome}", "grpc", signal=signal, cause=answer.message)
                # gRPC keeps the error in a circle of references until the garbage collector comes by, and with it every
                # frame that holds the request: under overload, all that was refused since.
                request = b""
                traceback.clear_frames(error.__traceback__)
                await _abort(context, answer.status)
                raise
            finally:
                self._metrics.request("grpc", signal, outcome, time.perf_counter() - began)  # type: ignore[arg-type]

        return export

    async def _accept(self, signal: Signal, request: bytes, context: _Context) -> Receipt:
        how = sniffed(request)
        if how is not None:
            with self._ingest.arriving() as arrived:  # before the work; `accept` asks again, for what came out
                arrived(len(request))
                request = await inflated(how, request, self._max_request_bytes)
        return await self._ingest.accept(signal, request, self._tenant(context))

    def _tenant(self, context: _Context) -> str:
        """Raises `Denied` and `Malformed`."""
        if self._tenant_header is None and self._senders is None:
            return ""
        return self._tenant_by(context.invocation_metadata() or ())

    def _tenant_by(self, metadata: Iterable[tuple[str, str | bytes]]) -> str:
        found: dict[str, list[str]] = {}
        for name, value in metadata:
            if name == self._tenant_header or name == "authorization":
                text = value if isinstance(value, str) else value.decode("utf-8", "replace")
                found.setdefault(name, []).append(text)
        named = only_value(self._tenant_header, found.get(self._tenant_header, ())) if self._tenant_header else ""
        if self._senders is None:
            return named
        return self._senders.tenant("grpc", only_value("authorization", found.get("authorization", ())), named)

    def _denial(self, call: grpc.HandlerCallDetails) -> Status | None:
        """What a sender is told before its request is received; None when it may send."""
        signal = _SIGNALS.get(call.method)
        if signal is None and call.method != f"/{_METRICS_SERVICE}/Export":
            return None  # health, which says nothing about anybody
        try:
            self._tenant_by(call.invocation_metadata or ())
        except (Denied, Malformed) as error:
            answer = answer_to(error)
            self._complaints.say(f"request_{answer.outcome}", "grpc", signal=signal, cause=answer.message)
            if signal is not None:
                self._metrics.request("grpc", signal, answer.outcome, 0.0)  # type: ignore[arg-type]
            return answer.status
        return None

    @staticmethod
    async def _discard(_request: bytes, _context: _Context) -> bytes:
        return b""


async def _abort(context: _Context, status: Status) -> None:
    rich = rpc_status.to_status(status)
    await context.abort(rich.code, rich.details, rich.trailing_metadata)
