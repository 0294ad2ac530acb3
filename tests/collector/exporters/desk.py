"""An exporter, and receivers of both transports for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal, TypeAlias

from collector.config import OtlpExport
from collector.exporters.otlp import OtlpExporter
from tests.fakes.otlp_sink import grpc_sink, http_sink

Protocol: TypeAlias = Literal["grpc", "http/protobuf"]
SERVE: dict[Protocol, Callable[..., AbstractAsyncContextManager[str]]] = {
    "grpc": grpc_sink,
    "http/protobuf": http_sink,
}


@asynccontextmanager
async def exporter_to(endpoint: str, protocol: Protocol, **settings: object) -> AsyncIterator[OtlpExporter]:
    """`settings` are more of `export.otlp`."""
    read = OtlpExport.model_validate({"endpoint": endpoint, "protocol": protocol, **settings})
    exporter = OtlpExporter(read, "1.2.3")
    try:
        yield exporter
    finally:
        await exporter.close()
