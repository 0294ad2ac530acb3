"""The OTLP receivers of one process: gRPC and HTTP in front of one intake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from collector.complaints import Complaints
from collector.config import Receivers
from collector.http_serving import HttpServer
from collector.metrics import Metrics
from collector.otlp.grpc_server import GrpcReceiver
from collector.otlp.http_server import http_app
from collector.otlp.intake import Intake
from collector.tls.guard import Guard

_HEALTH_S = 1.0


class Listening:
    """`start`, and `tell_health` in a task of its own; then `stop`."""

    def __init__(
        self,
        receivers: Receivers,
        intake: Intake,
        metrics: Metrics,
        complaints: Complaints,
        ended: Callable[[asyncio.Task[None]], None],
        guard: Guard,
    ) -> None:
        """`ended` is told of the HTTP server's task when that is over."""
        self._receivers = receivers
        self._intake = intake
        self._metrics = metrics
        self._complaints = complaints
        self._ended = ended
        self._guard = guard
        self._grpc: GrpcReceiver | None = None
        self._http: HttpServer | None = None
        self.tasks: list[asyncio.Task[None]] = []
        """to wait for at the end"""

    async def start(self) -> tuple[str | None, str | None]:
        """The addresses of gRPC and HTTP, None for what is switched off. Raises OSError, naming the key, for an
        address that cannot be had."""
        try:
            return await self._start_grpc(), await self._start_http()
        except OSError:
            if self._grpc is not None:
                await self._grpc.stop(0)  # else grpc complains at length, behind the message that matters
            raise

    async def _start_grpc(self) -> str | None:
        receivers = self._receivers
        if not receivers.grpc.enabled:
            return None
        self._grpc = GrpcReceiver(
            self._intake,
            self._metrics,
            self._complaints,
            listen=receivers.grpc.listen,
            max_request_bytes=receivers.max_request_bytes,
            tenant_header=receivers.tenant_header,
            max_receiving=receivers.max_receiving,
            tls=self._guard.grpc,
            senders=self._guard.senders,
        )
        port = await self._grpc.start()
        return f"{receivers.grpc.listen.rpartition(':')[0]}:{port}"

    async def _start_http(self) -> str | None:
        receivers = self._receivers
        if not receivers.http.enabled:
            return None
        app = http_app(
            self._intake,
            self._metrics,
            self._complaints,
            max_request_bytes=receivers.max_request_bytes,
            tenant_header=receivers.tenant_header,
            senders=self._guard.senders,
        )
        tls = self._guard.http.context() if self._guard.http else None
        self._http = HttpServer(app, receivers.http.listen, "receivers.http.listen", tls=tls)
        address, task = await self._http.start()
        task.add_done_callback(self._ended)
        self.tasks.append(task)
        return address

    async def tell_health(self) -> None:
        """gRPC's health says what /readyz says of the intake, so that balancers and Collectors go elsewhere."""
        serving = True
        while self._grpc is not None:
            await asyncio.sleep(_HEALTH_S)
            if serving != (self._intake.problem() is None):
                serving = not serving
                await self._grpc.serving(serving)

    def stop(self, grace_s: float) -> Coroutine[Any, Any, None]:
        """Take no new requests from now on; awaited, it gives those under way the grace."""
        if self._http is not None:
            self._http.stop()
        return self._stop_grpc(grace_s)

    async def _stop_grpc(self, grace_s: float) -> None:
        if self._grpc is not None:
            await self._grpc.stop(grace_s)
