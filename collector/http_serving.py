"""ASGI applications on sockets, within our own event loop and under our own signal handling."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator

import uvicorn
from starlette.applications import Starlette

_IDLE_CONNECTION_S = 75  # longer than the idle time of common proxies, so that they close first
_GRACE_S = 5


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Signals are the application's."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


class HttpServer:
    """One application on one address."""

    def __init__(self, app: Starlette, listen: str, key: str) -> None:
        """`listen` is address:port, `key` its place in the configuration, for messages."""
        self._listen = listen
        self._key = key
        self._server = _Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                timeout_keep_alive=_IDLE_CONNECTION_S,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )

    async def start(self) -> tuple[str, asyncio.Task[None]]:
        """Listen. Returns the address with the port it got, and the task that serves.

        Raises OSError, naming key and address, when it cannot be had.
        """
        host, _, port = self._listen.rpartition(":")
        host = host.strip("[]")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            # Bound here, because uvicorn ends the process when it cannot bind.
            bound = socket.create_server((host, int(port)), family=family, backlog=512)
        except (OSError, ValueError) as error:
            raise OSError(f"{self._key}: cannot listen on {self._listen}: {error}") from error
        task = asyncio.create_task(self._server.serve(sockets=[bound]), name=f"serving {self._key}")
        listening = asyncio.create_task(self._server.listening.wait())
        await asyncio.wait((listening, task), return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        name = f"[{host}]" if family == socket.AF_INET6 else host
        return f"{name}:{bound.getsockname()[1]}", task

    def stop(self) -> None:
        """Take no new connection; the task ends when those under way are done, or after a few seconds."""
        self._server.should_exit = True
