"""ASGI applications on sockets, within our own event loop and under our own signal handling."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Generator

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from collector.open_files import tell_seldom

_IDLE_CONNECTION_S = 75  # longer than the idle time of common proxies, so that they close first
_GRACE_S = 5
_WAITING = 512  # connections in the kernel
_AT_ONCE = 16  # taken of these each time; asyncio tries as often, too, when it can take none
_PATIENCE_S = 75  # for the head of a request, and again for its body
_MOST_HEAD_BYTES = 64 * 1024  # and what came with it in one piece
_GOODBYE_S = 0.5  # for the answer to ours, within TLS, at the end


def _connection(patience_s: float) -> type[asyncio.Protocol]:
    """uvicorn's connection, which waits for ever for the rest of a request and keeps all of its head, whoever sends it,
    with an end to both."""

    class Connection(HttpToolsProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._beside_body = 0
            self._waited_for: object = None
            self._goodbye: asyncio.TimerHandle | None = None
            self._look = asyncio.get_running_loop().call_later(patience_s, self._look_again)

        def data_received(self, data: bytes) -> None:
            self._beside_body += len(data)
            super().data_received(data)
            if self._beside_body > _MOST_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("More headers than are taken.")

        def on_message_begin(self) -> None:
            self._beside_body = 0
            super().on_message_begin()

        def on_body(self, body: bytes) -> None:
            self._beside_body = 0  # headers may come behind the body, too
            super().on_body(body)

        def connection_lost(self, error: Exception | None) -> None:
            self._look.cancel()
            if self._goodbye is not None:
                self._goodbye.cancel()
            super().connection_lost(error)

        def _look_again(self) -> None:
            waiting_for = self._waiting_for()
            if waiting_for is not None and waiting_for == self._waited_for:
                self.transport.abort()
                return
            self._waited_for = waiting_for
            self._look = asyncio.get_running_loop().call_later(patience_s, self._look_again)

        def shutdown(self) -> None:
            super().shutdown()
            if self.transport.get_extra_info("ssl_object") is not None:
                self._goodbye = asyncio.get_running_loop().call_later(_GOODBYE_S, self._hang_up)

        def _hang_up(self) -> None:
            """A client that holds its connection and reads nothing never answers TLS's goodbye."""
            if self.transport.is_closing() and not self.transport.get_write_buffer_size():
                self.transport.abort()  # all that we had to say is said
                return
            self._goodbye = asyncio.get_running_loop().call_later(_GOODBYE_S, self._hang_up)

        def _waiting_for(self) -> object:
            """Which part of which request the client owes us; None when it waits for us."""
            if self.cycle is None or self.cycle.response_complete:  # type: ignore[redundant-expr] # so it says
                return ("head after", self.cycle)
            return ("body of", self.cycle) if self.cycle.more_body else None

    return Connection


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
        grace_s: int = _GRACE_S,
    ) -> None:
        """`listen` is address:port, `key` its place in the configuration, for messages; plain text without `tls`. A
        client that has sent neither the rest of a request's head, nor of its body, within one to two times `patience_s`
        is cut off, and so is one whose head does not end. At the end, requests under way get `grace_s`."""
        self._listen = listen
        self._key = key
        self._server = _Server(
            uvicorn.Config(
                app,
                http=_connection(patience_s),
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
