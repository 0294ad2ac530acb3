"""Serves an ASGI application on a real socket."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp


@asynccontextmanager
async def serving(app: ASGIApp, port: int = 0, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Listens on loopback while the block runs; gives the base URL. Port 0 takes a free one."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        # Without a Date of its own, so that an application can send one.
        config = uvicorn.Config(
            app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1, date_header=False
        )
        config.load()
        config.ssl = tls
        server = uvicorn.Server(config)
        running = asyncio.create_task(server._serve([listener]))  # `serve` would take over the process's signals
        try:
            yield f"{'https' if tls else 'http'}://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running
