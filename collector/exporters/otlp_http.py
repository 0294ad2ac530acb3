"""OTLP over HTTP with protobuf bodies, as a client."""

from __future__ import annotations

import asyncio
import gzip
from email.utils import parsedate_to_datetime

import httpx
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status

from collector.config import OtlpExport
from collector.exporters.otlp_status import Request, Signal, accepted, http_outcome, repeatable, web_page
from collector.exporting import Later, Outcome
from collector.tls.errors import CredentialsUnusable
from collector.tls.export_credentials import ExportCredentials, Held

_PATHS: dict[Signal, str] = {"traces": "/v1/traces", "logs": "/v1/logs"}


class HttpSender:
    """A `collector.exporters.otlp.Sender`. Connects at the first `send`."""

    def __init__(self, settings: OtlpExport) -> None:
        if httpx.URL(settings.endpoint).scheme not in {"http", "https"} or not httpx.URL(settings.endpoint).host:
            raise ValueError(
                f"export.otlp.endpoint ({settings.endpoint}) must be http://host:port or https://host:port"
            )
        self._base = settings.endpoint.rstrip("/")
        self._timeout_s = settings.timeout_seconds
        self._headers = {key: value.get_secret_value() for key, value in settings.headers.items()}
        self.credentials = ExportCredentials(settings)
        self._client: httpx.AsyncClient | None = None
        self._connected_with: tuple[bytes, bytes, bytes] | None = None

    async def send(self, signal: Signal, request: Request) -> Outcome:
        return repeatable(await self._sent(signal, request), self.credentials.masked)

    async def _sent(self, signal: Signal, request: Request) -> Outcome:
        body = gzip.compress(request.SerializeToString(), compresslevel=1)
        try:
            held = await asyncio.to_thread(self.credentials.current)
            client = await self._connected(held)
        except CredentialsUnusable as error:
            return Later("credentials_unusable", str(error))
        # Whose name the certificate must have is asked of the same setting that says whom to ask for.
        extensions = {"sni_hostname": held.server_name} if held.server_name is not None else {}
        fixed = {"content-type": "application/x-protobuf", "content-encoding": "gzip"}
        try:
            response = await client.post(
                self._base + _PATHS[signal], content=body, headers={**held.headers(), **fixed}, extensions=extensions
            )
        except httpx.TimeoutException as error:
            return Later("timeout", type(error).__name__)
        except httpx.RequestError as error:
            return Later("unreachable", f"{type(error).__name__}: {error}")
        if response.is_success and response.headers.get("content-type", "").lower().startswith("text/html"):
            return web_page()
        if response.is_success:
            return accepted(signal, response.content)
        return http_outcome(response.status_code, _detail(response), _retry_after_s(response))

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _connected(self, held: Held) -> httpx.AsyncClient:
        """Raises `CredentialsUnusable`."""
        if self._client is not None and self._connected_with != held.contents:
            await self.close()
        if self._client is None:
            verify = await asyncio.to_thread(self.credentials.context)
            self._client = httpx.AsyncClient(headers=self._headers, timeout=self._timeout_s, verify=verify)
            self._connected_with = held.contents
        return self._client


def _retry_after_s(response: httpx.Response) -> float | None:
    """Seconds, or a date less the answer's own date: the two machines' clocks may differ."""
    value = response.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        until, now = parsedate_to_datetime(value), parsedate_to_datetime(response.headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _detail(response: httpx.Response) -> str:
    """The message of the `google.rpc.Status` in the body, or whatever is there instead."""
    try:
        message = Status.FromString(response.content).message
    except DecodeError:
        message = response.text
    return message or response.reason_phrase
