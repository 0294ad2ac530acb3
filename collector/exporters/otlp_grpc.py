"""OTLP over gRPC, as a client."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from collector.config import OtlpExport
from collector.exporters.otlp_status import Request, Signal, accepted, grpc_outcome, repeatable
from collector.exporting import Later, Outcome
from collector.tls.errors import CredentialsUnusable
from collector.tls.export_credentials import ExportCredentials, Held

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
        self.credentials = ExportCredentials(settings)
        self._channel: grpc.aio.Channel | None = None
        self._connected_with: tuple[bytes, bytes, bytes] | None = None

    async def send(self, signal: Signal, request: Request) -> Outcome:
        return repeatable(await self._sent(signal, request), self.credentials.masked)

    async def _sent(self, signal: Signal, request: Request) -> Outcome:
        try:
            held = await asyncio.to_thread(self.credentials.current)
        except CredentialsUnusable as error:
            return Later("credentials_unusable", str(error))
        channel = await self._connected(held)
        call: grpc.aio.UnaryUnaryMultiCallable[Request, bytes] = channel.unary_unary(
            _METHODS[signal], request_serializer=_serialize, response_deserializer=None
        )
        try:
            metadata = (*self._metadata, *held.headers().items())
            body = await call(request, timeout=self._timeout_s, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            return grpc_outcome(error.code(), error.details() or "", _retry_after_s(error))
        return accepted(signal, body)

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    async def _connected(self, held: Held) -> grpc.aio.Channel:
        """A channel belongs to the event loop that runs when it is made, and keeps its certificates."""
        if self._channel is not None and self._connected_with != held.contents:
            await self.close()
        if self._channel is None:
            self._channel = self._connect(held)
            self._connected_with = held.contents
        return self._channel

    def _connect(self, held: Held) -> grpc.aio.Channel:
        if not self._secure:
            return grpc.aio.insecure_channel(self._target, _OPTIONS, grpc.Compression.Gzip)
        authorities, certificate, key = (part or None for part in held.contents)
        credentials = grpc.ssl_channel_credentials(authorities, key, certificate)
        options: list[tuple[str, Any]] = list(_OPTIONS)
        if held.server_name is not None:
            options.append(("grpc.ssl_target_name_override", held.server_name))
        return grpc.aio.secure_channel(self._target, credentials, options, grpc.Compression.Gzip)


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
