"""OTLP/HTTP: POST /v1/traces and /v1/logs, protobuf or JSON, gzip, zstd or deflate; /v1/metrics is taken and thrown
away.

Every answer, errors too, is in the encoding of the request (OTLP specification, OTLP/HTTP).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import orjson
import structlog
from google.protobuf import json_format
from google.protobuf.message import Message
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from collector.complaints import Complaints
from collector.errors import Denied, Malformed, TooLarge
from collector.ingest import Receipt
from collector.journal.rows import Signal
from collector.metrics import Metrics
from collector.otlp.inflate import Inflate, gunzip, inflate, inflated, unzstd
from collector.otlp.intake import Intake
from collector.otlp.otlp_json import Converted, to_protobuf
from collector.otlp.senders import Senders, only_value
from collector.otlp.status import Answer, answer_to, response_to

log = structlog.get_logger(__name__)

_PROTOBUF, _JSON = "application/x-protobuf", "application/json"
_MOST_REPEATED = 100  # characters of a header, in answers and in the log
_THREAD_ABOVE = 64 * 1024  # bytes of JSON whose conversion would hold up the event loop


class _Unsupported(Exception):
    """Answered with 415."""


def http_app(
    ingest: Intake,
    metrics: Metrics,
    complaints: Complaints,
    *,
    max_request_bytes: int,
    tenant_header: str | None,
    senders: Senders | None = None,
) -> Starlette:
    """The ASGI application of the OTLP/HTTP receiver. Without `senders` it takes telemetry of anybody."""
    receiver = _HttpReceiver(ingest, metrics, complaints, max_request_bytes, tenant_header, senders)
    routes = [
        Route("/v1/traces", receiver.export("traces"), methods=["POST"]),
        Route("/v1/logs", receiver.export("logs"), methods=["POST"]),
        Route("/v1/metrics", receiver.discard, methods=["POST"]),
    ]
    return Starlette(routes=routes)


class _HttpReceiver:
    def __init__(
        self,
        ingest: Intake,
        metrics: Metrics,
        complaints: Complaints,
        max_request_bytes: int,
        tenant_header: str | None,
        senders: Senders | None,
    ) -> None:
        self._ingest = ingest
        self._metrics = metrics
        self._complaints = complaints
        self._limit = max_request_bytes
        self._tenant_header = tenant_header
        self._senders = senders
        # Parsed JSON takes many times the memory of its text, and two threads would convert no faster than one.
        self._converting = asyncio.Lock()

    def export(self, signal: Signal) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            began = time.perf_counter()
            outcome = "abandoned"  # unless there is an answer
            media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            try:
                receipt = await self._accept(signal, request, media)
                outcome = "partial" if receipt.rejected else "ok"
                if receipt.rejected:
                    self._complaints.say("items_rejected", "http", signal=signal, cause=receipt.cause)
                return _response(response_to(signal, receipt), media, 200)
            except ClientDisconnect:
                return Response(status_code=400)
            except _Unsupported as error:
                outcome = "malformed"
                self._complaints.say("request_unsupported", "http", signal=signal, cause=str(error))
                return Response(str(error), status_code=415, media_type="text/plain")
            except Exception as error:  # answered in the sender's encoding, so that it knows whether to keep the data
                answer = answer_to(error)
                outcome = answer.outcome
                if outcome == "error":
                    log.exception("request_failed", transport="http", signal=signal)
                else:
                    self._complaints.say(f"request_{outcome}", "http", signal=signal, cause=answer.message)
                return _error(answer, media)
            finally:
                self._metrics.request("http", signal, outcome, time.perf_counter() - began)  # type: ignore[arg-type]

        return handle

    async def _accept(self, signal: Signal, request: Request, media: str) -> Receipt:
        tenant = self._tenant(request)  # before anything is read of somebody who may not send
        if media not in (_PROTOBUF, _JSON):
            raise _Unsupported(f"content type {media[:_MOST_REPEATED] or 'missing'!r}: send {_PROTOBUF} or {_JSON}")
        self._admit(int(request.headers.get("content-length") or 0))
        how = _inflate_for(request.headers.get("content-encoding", ""))
        with self._ingest.arriving() as arrived:
            body = await self._body(request, arrived)
            if how is not None:
                compressed = len(body)
                body = await inflated(how, body, self._limit)
                arrived(max(0, len(body) - compressed))  # JSON may wait for its conversion, and others like it
            converted = await self._convert(body, signal) if media == _JSON else None
        if converted is None:
            return await self._ingest.accept(signal, body, tenant)
        receipt = await self._ingest.accept(signal, converted.payload, tenant)
        if not converted.rejected:
            return receipt
        self._metrics.received(signal, converted.rejected)
        self._metrics.dropped(signal, "malformed", converted.rejected)
        causes = [f"{converted.rejected} rejected, the first because of {converted.cause}", receipt.cause]
        return Receipt(converted.rejected + receipt.rejected, "; ".join(filter(None, causes)))

    def _tenant(self, request: Request) -> str:
        """Raises `Denied` and `Malformed`."""
        named = self._header(request, self._tenant_header) if self._tenant_header else ""
        if self._senders is None:
            return named
        return self._senders.tenant("http", self._header(request, "authorization"), named)

    @staticmethod
    def _header(request: Request, name: str) -> str:
        return only_value(name, request.headers.getlist(name))

    def _admit(self, size: int) -> None:
        """Raises `TooLarge` for a declared size that is never taken: told that there is no room, it would come back."""
        if size > self._limit:
            raise TooLarge(f"the request is larger than {self._limit} bytes")
        self._ingest.admit(size)

    async def _convert(self, body: bytes, signal: Signal) -> Converted:
        if len(body) <= _THREAD_ABOVE:
            return to_protobuf(body, signal)
        async with self._converting:
            return await asyncio.to_thread(to_protobuf, body, signal)

    async def _body(self, request: Request, arrived: Callable[[int], None]) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > self._limit:
                raise TooLarge(f"the request is larger than {self._limit} bytes")
            arrived(len(part))
            parts.append(part)
        return b"".join(parts)

    async def discard(self, request: Request) -> Response:
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            self._tenant(request)
        except (Denied, Malformed) as error:
            return _error(answer_to(error), media)
        async for _ in request.stream():
            pass
        body = b"{}" if media == _JSON else b""
        return Response(body, media_type=media or _PROTOBUF)


_INFLATE: dict[str, Inflate | None] = {
    "": None,
    "identity": None,
    "gzip": gunzip,
    "x-gzip": gunzip,
    "deflate": inflate,
    "zlib": inflate,
    "zstd": unzstd,
}


def _inflate_for(encoding: str) -> Inflate | None:
    name = encoding.strip().lower()
    if name not in _INFLATE:
        raise _Unsupported(f"content encoding {name[:_MOST_REPEATED]!r}: send gzip, zstd, deflate or none")
    return _INFLATE[name]


def _response(message: Message, media: str, code: int, headers: dict[str, str] | None = None) -> Response:
    if media == _JSON:
        body = orjson.dumps(json_format.MessageToDict(message, use_integers_for_enums=True))
        return Response(body, code, headers, _JSON)
    return Response(message.SerializeToString(), code, headers, _PROTOBUF)


def _error(answer: Answer, media: str) -> Response:
    headers = {} if answer.retry_after_s is None else {"Retry-After": str(answer.retry_after_s)}
    if answer.http == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return _response(answer.status, media, answer.http, headers)
