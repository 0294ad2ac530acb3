"""ASGI applications on sockets, within our own event loop and under our own signal handling."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Generator

import uvicorn
from starlette.applications import Starlette

from collector.http_connection import connection_class
from collector.open_files import tell_seldom

_IDLE_CONNECTION_S = 75  # longer than the idle time of common proxies, so that they close first
_GRACE_S = 5
_WAITING = 512  # connections in the kernel
_AT_ONCE = 16  # taken of these each time; asyncio tries as often, too, when it can take none
_MOST_AGE_S = 600  # of a connection, as of gRPC's: its certificates may have been replaced since
_PATIENCE_S = 75  # for the head of a request, and again for its body


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, tls: ssl.SSLContext | None) -> None:
        super().__init__(config)
        self._tls = tls
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Signals are the application's."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.ssl = self._tls  # which uvicorn would make of files, once and for all
        await super().startup(sockets)
        self.listening.set()


class HttpServer:
    """One application on one address."""

    def __init__(
        self,
        app: Starlette,
        listen: str,
        key: str,
        *,
        tls: ssl.SSLContext | None = None,
        patience_s: float = _PATIENCE_S,
        age_s: float = _MOST_AGE_S,
        grace_s: int = _GRACE_S,
    ) -> None:
        """`listen` is address:port, `key` its place in the configuration, for messages; plain text without `tls`.
        `patience_s` and `age_s` bound what a client may keep us waiting with (`http_connection`); at the end, requests
        under way get `grace_s`."""
        self._listen = listen
        self._key = key
        self._server = _Server(
            uvicorn.Config(
                app,
                http=connection_class(patience_s, age_s),
                log_config=None,
                log_level="error",  # it warns of each request that is none: whoever comes could fill the log
                access_log=False,
                backlog=_AT_ONCE,
                proxy_headers=False,  # or whoever is on this machine could come from any address
                lifespan="off",
                ws="none",
                timeout_keep_alive=_IDLE_CONNECTION_S,
                timeout_graceful_shutdown=grace_s,
            ),
            tls,
        )

    async def start(self) -> tuple[str, asyncio.Task[None]]:
        """Listen. Returns the address with the port it got, and the task that serves.

        Raises OSError, naming key and address, when it cannot be had.
        """
        tell_seldom(asyncio.get_running_loop())
        host, _, port = self._listen.rpartition(":")
        host = host.strip("[]")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            # Bound here, because uvicorn ends the process when it cannot bind.
            bound = socket.create_server((host, int(port)), family=family)
        except (OSError, ValueError) as error:
            raise OSError(f"{self._key}: cannot listen on {self._listen}: {error}") from error
        task = asyncio.create_task(self._server.serve(sockets=[bound]), name=f"serving {self._key}")
        listening = asyncio.create_task(self._server.listening.wait())
        await asyncio.wait((listening, task), return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if not task.done():
            bound.listen(_WAITING)
        name = f"[{host}]" if family == socket.AF_INET6 else host
        return f"{name}:{bound.getsockname()[1]}", task

    def stop(self) -> None:
        """Take no new connection; the task ends when those under way are done, or after a few seconds."""
        self._server.should_exit = True
