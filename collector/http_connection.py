"""One connection to an HTTP listener. uvicorn's own waits for ever for the rest of a request, keeps all of its head,
whoever sends it, and takes one request after the other: here is an end to each."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST_HEAD_BYTES = 64 * 1024  # and what came with it in one piece
_GOODBYE_S = 0.5  # for the answer to ours, within TLS, at the end


def connection_class(patience_s: float, age_s: float) -> type[asyncio.Protocol]:
    """For uvicorn. A client that has sent neither the rest of a request's head, nor of its body, within one to two
    times `patience_s` is cut off, and so is one whose head does not end. After `age_s` a connection takes one more
    request."""

    class Connection(HttpToolsProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._began_s = asyncio.get_running_loop().time()
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

        def on_headers_complete(self) -> None:
            super().on_headers_complete()
            if asyncio.get_running_loop().time() - self._began_s >= age_s:
                self.cycle.keep_alive = False  # which the answer says

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
