"""OTLP over gRPC, as a client."""

from __future__ import annotations

from urllib.parse import urlsplit

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from collector.config import OtlpExport
from collector.exporters.otlp_status import Request, Signal, accepted, grpc_outcome
from collector.exporting import Outcome

_METHODS: dict[Signal, str] = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 200),
    # gRPC's own limit is two minutes, in which a receiver that came back would go unnoticed.
    ("grpc.max_reconnect_backoff_ms", 5_000),
)


class GrpcSender:
    """A `collector.exporters.otlp.Sender`. Connects at the first `send`."""

    def __init__(self, settings: OtlpExport) -> None:
        parts = urlsplit(settings.endpoint)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(
                f"export.otlp.endpoint ({settings.endpoint}) must be http://host:port or https://host:port"
            )
        self._secure = parts.scheme == "https"
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self._target = f"{host}:{parts.port or 4317}"
        self._timeout_s = settings.timeout_seconds
        self._metadata = tuple((key.lower(), value.get_secret_value()) for key, value in settings.headers.items())
        self._channel: grpc.aio.Channel | None = None

    async def send(self, signal: Signal, request: Request) -> Outcome:
        # A channel belongs to the event loop that runs when it is made, so it cannot be made earlier.
        self._channel = self._channel or self._connect()
        call: grpc.aio.UnaryUnaryMultiCallable[Request, bytes] = self._channel.unary_unary(
            _METHODS[signal], request_serializer=_serialize, response_deserializer=None
        )
        try:
            body = await call(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            return grpc_outcome(error.code(), error.details() or "", _retry_after_s(error))
        return accepted(signal, body)

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    def _connect(self) -> grpc.aio.Channel:
        if self._secure:
            credentials = grpc.ssl_channel_credentials()
            return grpc.aio.secure_channel(self._target, credentials, _OPTIONS, grpc.Compression.Gzip)
        return grpc.aio.insecure_channel(self._target, _OPTIONS, grpc.Compression.Gzip)


def _serialize(message: Request) -> bytes:
    return message.SerializeToString()


def _retry_after_s(error: grpc.aio.AioRpcError) -> float | None:
    """From the RetryInfo in the status details; None when there is none that can be read."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            try:
                details = Status.FromString(value).details
            except DecodeError:
                return None
            retry = RetryInfo()
            for detail in details:
                if detail.Unpack(retry):
                    return float(retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9)
    return None
