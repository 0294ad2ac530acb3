"""Both receivers behind certificates and tokens, on real sockets: who comes in, and what becomes of it."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import grpc
import httpx
import pytest
import yaml
from google.rpc.status_pb2 import Status

from collector.clock import SystemClock
from collector.complaints import Complaints
from collector.config import Config, Receivers
from collector.listening import Listening
from collector.otlp.grpc_server import SERVICES
from collector.sessions.keys import Kind, Owner
from collector.tls.errors import CredentialsUnusable
from collector.tls.guard import Guard, open_guard
from tests.certificates import Authority, Pair
from tests.collector.receiving import Receiving, receiving
from tests.collector.sessions.telemetry import span, trace_request
from tests.fakes.tls import ListenerFiles, client_context, serial_shown

Transport = Literal["grpc", "http"]
BOTH = pytest.mark.parametrize("transport", ["grpc", "http"])
ANN = trace_request([span(1, 1, session__id="ann")])
TOKEN, OF_NORTH, OF_TWO, READER, OF_NONE = (f"{name}-{'x' * 40}" for name in ("any", "north", "two", "reads", "none"))


@dataclass
class Listeners:
    half: Receiving
    guard: Guard
    addresses: dict[Transport, str]

    async def send(
        self,
        transport: Transport,
        authority: Authority | None,
        pair: Pair | None = None,
        also: Sequence[tuple[str, str]] = (),
        **headers: str,
    ) -> str:
        """`ok`, or the code of the answer; `refused` where there is none. Plain text without an authority. Headers
        that come more than once are in `also`."""
        address = self.addresses[transport]
        named = (*((name.replace("_", "-"), value) for name, value in headers.items()), *also)
        if transport == "grpc":
            return await _send_by_grpc(address, authority, pair, named)
        verify = client_context(authority, pair) if authority else ssl.create_default_context()
        url = f"{'https' if authority else 'http'}://{address}/v1/traces"
        async with httpx.AsyncClient(verify=verify, trust_env=False, timeout=20) as client:
            try:
                answer = await client.post(
                    url, content=ANN, headers=[("content-type", "application/x-protobuf"), *named]
                )
            except httpx.TransportError:
                return "refused"
        return "ok" if answer.is_success else str(answer.status_code)


async def _send_by_grpc(
    address: str, authority: Authority | None, pair: Pair | None, metadata: tuple[tuple[str, str], ...]
) -> str:
    if authority is None:
        channel = grpc.aio.insecure_channel(address)
    else:
        key, chain = (pair.key.read_bytes(), pair.certificate.read_bytes()) if pair else (None, None)
        credentials = grpc.ssl_channel_credentials(authority.certificate.read_bytes(), key, chain)
        channel = grpc.aio.secure_channel(address, credentials)
    async with channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            f"/{SERVICES['traces']}/Export", request_serializer=bytes, response_deserializer=bytes
        )
        try:
            await call(ANN, timeout=20, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            return "refused" if error.code() is grpc.StatusCode.UNAVAILABLE else error.code().name
    return "ok"


@asynccontextmanager
async def _listening(directory: Path, **receivers: object) -> AsyncIterator[Listeners]:
    settings = Receivers.model_validate(
        {
            **receivers,
            "grpc": {"listen": "127.0.0.1:0", "tls": receivers.get("grpc")},
            "http": {"listen": "127.0.0.1:0", "tls": receivers.get("http")},
        }
    )
    clock = SystemClock()
    async with receiving(directory / "data", clock=clock) as half:
        guard = open_guard(Config(receivers=settings), clock, half.metrics)
        listening = Listening(settings, half.ingest, half.metrics, Complaints(clock), lambda _: None, guard)
        grpc_address, http_address = await listening.start()
        assert grpc_address is not None
        assert http_address is not None
        try:
            yield Listeners(half, guard, {"grpc": grpc_address, "http": http_address})
        finally:
            await listening.stop(0.1)
            await asyncio.wait(listening.tasks)


def _both(files: ListenerFiles, *, mutual: bool = False) -> dict[str, object]:
    return {"grpc": files.section(mutual=mutual), "http": files.section(mutual=mutual)}


@BOTH
async def test_telemetry_within_tls_is_taken(tmp_path: Path, transport: Transport) -> None:
    authority = Authority(tmp_path)
    files = ListenerFiles(tmp_path / "served").take(authority.issue("server"))
    async with _listening(tmp_path, **_both(files)) as listeners:
        assert await listeners.send(transport, authority) == "ok"
        assert listeners.half.value("spans_stored_total") == 1


@BOTH
async def test_plain_text_is_not_understood_and_harms_nobody(tmp_path: Path, transport: Transport) -> None:
    authority = Authority(tmp_path)
    files = ListenerFiles(tmp_path / "served").take(authority.issue("server"))
    async with _listening(tmp_path, **_both(files)) as listeners:
        for _ in range(5):
            assert await listeners.send(transport, None) == "refused"
        assert await listeners.send(transport, authority) == "ok"


@BOTH
async def test_only_clients_with_a_certificate_of_the_authority_come_in(tmp_path: Path, transport: Transport) -> None:
    authority, stranger = Authority(tmp_path), Authority(tmp_path / "elsewhere", "another")
    files = ListenerFiles(tmp_path / "served").take(authority.issue("server"), authority)
    expired = authority.issue("expired", ends=datetime.timedelta(seconds=-5))
    async with _listening(tmp_path, **_both(files, mutual=True)) as listeners:
        assert await listeners.send(transport, authority) == "refused"
        assert await listeners.send(transport, authority, stranger.issue("client")) == "refused"
        assert await listeners.send(transport, authority, expired) == "refused"
        assert listeners.half.value("spans_stored_total") == 0
        assert await listeners.send(transport, authority, authority.issue("client")) == "ok"


@BOTH
async def test_new_connections_see_the_new_certificate(tmp_path: Path, transport: Transport) -> None:
    authority = Authority(tmp_path)
    files = ListenerFiles(tmp_path / "served").take(authority.issue("server"))
    async with _listening(tmp_path, **_both(files)) as listeners:
        address = listeners.addresses[transport]
        first = await asyncio.to_thread(serial_shown, address)
        for name in ("second", "third"):
            files.take(authority.issue(name))
            await listeners.guard.look()
            shown = await asyncio.to_thread(serial_shown, address)
            served = getattr(listeners.guard, transport)
            assert f"{shown:x}" == served.now.validity.serial
            assert shown != first
        assert await listeners.send(transport, authority) == "ok"
        assert listeners.half.value("credential_files_replaced_total", key=f"receivers.{transport}.tls") == 2


async def test_a_connection_that_is_open_outlives_its_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = ListenerFiles(tmp_path / "served").take(authority.issue("server"))
    async with _listening(tmp_path, **_both(files)) as listeners:
        verify = client_context(authority)
        async with httpx.AsyncClient(verify=verify, trust_env=False, timeout=20) as client:
            url = f"https://{listeners.addresses['http']}/v1/traces"
            headers = {"content-type": "application/x-protobuf"}
            assert (await client.post(url, content=ANN, headers=headers)).is_success
            files.take(authority.issue("second"))
            await listeners.guard.look()
            assert (await client.post(url, content=ANN, headers=headers)).is_success


@BOTH
async def test_clients_of_an_authority_that_was_replaced_stay_out(tmp_path: Path, transport: Transport) -> None:
    authority, successor = Authority(tmp_path), Authority(tmp_path / "new", "successor")
    files = ListenerFiles(tmp_path / "served").take(authority.issue("server"), authority)
    old, new = authority.issue("old"), successor.issue("new")
    async with _listening(tmp_path, **_both(files, mutual=True)) as listeners:
        assert await listeners.send(transport, authority, old) == "ok"
        assert await listeners.send(transport, authority, new) == "refused"
        files.put(files.clients, successor.certificate)
        await listeners.guard.look()
        assert await listeners.send(transport, authority, new) == "ok"
        assert await listeners.send(transport, authority, old) == "refused"


@BOTH
async def test_broken_files_leave_the_old_certificate_and_are_told(tmp_path: Path, transport: Transport) -> None:
    authority = Authority(tmp_path)
    files = ListenerFiles(tmp_path / "served").take(authority.issue("server"))
    key = f"receivers.{transport}.tls"
    async with _listening(tmp_path, **_both(files)) as listeners:
        before = await asyncio.to_thread(serial_shown, listeners.addresses[transport])
        files.certificate.write_text("half a certifi")
        await listeners.guard.look()
        assert await asyncio.to_thread(serial_shown, listeners.addresses[transport]) == before
        assert listeners.half.value("credential_files_unusable", key=key) == 1
        assert f"{key}.cert_file" in (listeners.guard.problem() or "")
        files.take(authority.issue("second"))
        await listeners.guard.look()
        assert await asyncio.to_thread(serial_shown, listeners.addresses[transport]) != before
        assert listeners.half.value("credential_files_unusable", key=key) == 0
        assert listeners.guard.problem() is None


async def test_nothing_is_served_with_files_that_cannot_be_used(tmp_path: Path) -> None:
    files = ListenerFiles(tmp_path / "served").take(Authority(tmp_path).issue("server"))
    files.key.write_text("no key")
    with pytest.raises(CredentialsUnusable, match=r"receivers\.grpc\.tls\.cert_file, key_file"):
        async with _listening(tmp_path, **_both(files)):
            raise AssertionError("it listens")


async def test_when_certificates_end_is_a_gauge_and_near_the_end_a_notice(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = ListenerFiles(tmp_path / "served").take(authority.issue("server", ends=datetime.timedelta(hours=1)))
    async with _listening(tmp_path, **_both(files)) as listeners:
        served = listeners.guard.http
        assert served is not None
        ends = served.now.validity.not_after_s
        assert listeners.half.value("tls_certificate_expiry_timestamp_seconds", listener="http") == ends
        assert "receivers.http.tls.cert_file: the certificate expires at" in (listeners.guard.problem() or "")
        files.take(authority.issue("second", ends=datetime.timedelta(days=90)))
        await listeners.guard.look()
        assert listeners.half.value("tls_certificate_expiry_timestamp_seconds", listener="http") > ends
        assert listeners.guard.problem() is None


# -- tokens -----------------------------------------------------------------------------------------------------


def _tokens(directory: Path, *more: dict[str, object]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "tokens.yaml"
    entries: list[dict[str, object]] = [
        {"name": "anybody", "sha256": hashlib.sha256(TOKEN.encode()).hexdigest()},
        {"name": "north", "token": OF_NORTH, "tenants": ["north"]},
        {"name": "two", "token": OF_TWO, "tenants": ["north", "south"]},
        {"name": "reader", "token": READER, "read_only": True},
        {"name": "none", "token": OF_NONE, "tenants": [""]},
        *more,
    ]
    file.write_text(yaml.safe_dump({"tokens": entries}))
    return file


def _bearer(token: str) -> str:
    return f"Bearer {token}"


def _owner(tenant: str) -> bytes:
    return Owner(Kind.SESSION, "ann", tenant).digest


def _has(half: Receiving, tenant: str) -> bool:
    return half.book.index.find(_owner(tenant)) is not None


UNKNOWN = {"grpc": "UNAUTHENTICATED", "http": "401"}
MALFORMED = {"grpc": "INVALID_ARGUMENT", "http": "400"}
FORBIDDEN = {"grpc": "PERMISSION_DENIED", "http": "403"}


@BOTH
async def test_only_known_tokens_come_in(tmp_path: Path, transport: Transport) -> None:
    async with _listening(tmp_path, auth={"tokens_file": str(_tokens(tmp_path))}) as listeners:
        told = UNKNOWN[transport]
        assert await listeners.send(transport, None) == told
        assert await listeners.send(transport, None, authorization=f"Basic {TOKEN}") == told
        assert await listeners.send(transport, None, authorization="Bearer") == told
        assert await listeners.send(transport, None, authorization=_bearer(TOKEN[:-1])) == told
        assert await listeners.send(transport, None, authorization=_bearer(READER)) == FORBIDDEN[transport]
        assert await listeners.send(transport, None, authorization=_bearer(TOKEN)) == "ok"
        assert await listeners.send(transport, None, authorization=f"bearer  {TOKEN}") == "ok"
        counted = {
            reason: listeners.half.value("requests_denied_total", transport=transport, reason=reason)
            for reason in ("missing", "malformed", "unknown", "read_only")
        }
        assert counted == {"missing": 1, "malformed": 2, "unknown": 1, "read_only": 1}
        labels = {"transport": transport, "signal": "traces", "outcome": "denied"}
        assert listeners.half.value("request_duration_seconds_count", **labels) == 5
        assert listeners.half.value("spans_received_total") == 2


@BOTH
async def test_the_tenant_of_a_token_is_stronger_than_what_the_sender_says(
    tmp_path: Path, transport: Transport
) -> None:
    settings = {"auth": {"tokens_file": str(_tokens(tmp_path))}, "tenant_header": "X-Tenant"}
    async with _listening(tmp_path, **settings) as listeners:
        assert await listeners.send(transport, None, x_tenant="south", authorization=_bearer(OF_NORTH)) == "ok"
        assert _has(listeners.half, "north")
        assert not _has(listeners.half, "south")


@BOTH
async def test_a_token_of_two_tenants_must_say_which(tmp_path: Path, transport: Transport) -> None:
    settings = {"auth": {"tokens_file": str(_tokens(tmp_path))}, "tenant_header": "x-tenant"}
    async with _listening(tmp_path, **settings) as listeners:
        assert await listeners.send(transport, None, authorization=_bearer(OF_TWO)) == FORBIDDEN[transport]
        assert (
            await listeners.send(transport, None, x_tenant="west", authorization=_bearer(OF_TWO))
            == FORBIDDEN[transport]
        )
        assert await listeners.send(transport, None, x_tenant="south", authorization=_bearer(OF_TWO)) == "ok"
        assert _has(listeners.half, "south")
        assert listeners.half.value("requests_denied_total", transport=transport, reason="tenant") == 2


@BOTH
@pytest.mark.parametrize("asks_for_tokens", [True, False])
async def test_a_second_tenant_header_does_not_pass_beside_that_of_a_proxy(
    tmp_path: Path, transport: Transport, asks_for_tokens: bool
) -> None:
    settings: dict[str, object] = {"tenant_header": "x-tenant"}
    if asks_for_tokens:
        settings["auth"] = {"tokens_file": str(_tokens(tmp_path))}
    twice, once = [("x-tenant", "north"), ("x-tenant", "south")], [("x-tenant", "south")] * 2
    async with _listening(tmp_path, **settings) as listeners:
        for header in (twice, twice[::-1]):
            told = await listeners.send(transport, None, also=header, authorization=_bearer(OF_TWO))
            assert told == MALFORMED[transport]
        assert not _has(listeners.half, "north")
        assert not _has(listeners.half, "south")
        assert await listeners.send(transport, None, also=once, authorization=_bearer(OF_TWO)) == "ok"
        assert _has(listeners.half, "south")


@BOTH
async def test_a_request_with_two_tokens_is_of_neither(tmp_path: Path, transport: Transport) -> None:
    async with _listening(tmp_path, auth={"tokens_file": str(_tokens(tmp_path))}) as listeners:
        for one, other in ((TOKEN, OF_NORTH), (READER, TOKEN), ("unknown", TOKEN), (TOKEN, "unknown")):
            also = [("authorization", _bearer(one)), ("authorization", _bearer(other))]
            assert await listeners.send(transport, None, also=also) == MALFORMED[transport]
        labels = {"transport": transport, "signal": "traces", "outcome": "malformed"}
        assert listeners.half.value("request_duration_seconds_count", **labels) == 4


@BOTH
async def test_resources_cannot_lead_out_of_a_token_without_a_tenant(tmp_path: Path, transport: Transport) -> None:
    settings = {"auth": {"tokens_file": str(_tokens(tmp_path))}}
    async with _listening(tmp_path, **settings, tenant_attribute="service.tenant") as listeners:
        assert await listeners.send(transport, None, authorization=_bearer(OF_NONE)) == FORBIDDEN[transport]
    async with _listening(tmp_path / "other", **settings) as listeners:
        assert await listeners.send(transport, None, authorization=_bearer(OF_NONE)) == "ok"


@BOTH
async def test_new_tokens_are_good_at_once_and_old_ones_no_more(tmp_path: Path, transport: Transport) -> None:
    file = _tokens(tmp_path)
    async with _listening(tmp_path, auth={"tokens_file": str(file)}) as listeners:
        newer = f"newer-{'y' * 40}"
        file.write_text(yaml.safe_dump({"tokens": [{"name": "newer", "token": newer}]}))
        assert await listeners.send(transport, None, authorization=_bearer(newer)) == "ok"
        assert await listeners.send(transport, None, authorization=_bearer(TOKEN)) == UNKNOWN[transport]
        file.write_text("tokens: [")
        assert await listeners.send(transport, None, authorization=_bearer(newer)) == "ok"
        await listeners.guard.look()
        key = "receivers.auth.tokens_file"
        assert listeners.half.value("credential_files_unusable", key=key) == 1
        assert listeners.half.value("credential_files_replaced_total", key=key) == 1
        assert key in (listeners.guard.problem() or "")
        assert newer not in (listeners.guard.problem() or "")


async def test_a_refusal_over_http_says_why_in_the_encoding_of_the_request(tmp_path: Path) -> None:
    async with _listening(tmp_path, auth={"tokens_file": str(_tokens(tmp_path))}) as listeners:
        async with httpx.AsyncClient(trust_env=False, base_url=f"http://{listeners.addresses['http']}") as client:
            protobuf = await client.post("/v1/logs", headers={"content-type": "application/x-protobuf"})
            as_json = await client.post("/v1/traces", headers={"content-type": "application/json"}, content=b"{")
            metrics = await client.post("/v1/metrics", headers={"content-type": "application/json"}, content=b"{}")
        assert [answer.status_code for answer in (protobuf, as_json, metrics)] == [401, 401, 401]
        assert protobuf.headers["www-authenticate"] == "Bearer"
        assert Status.FromString(protobuf.content).message.startswith("no bearer token")
        assert as_json.json()["message"].startswith("no bearer token")


async def test_a_request_of_a_stranger_is_not_received(tmp_path: Path) -> None:
    """Its memory would be the sender's to decide about: here it is larger than what is taken at all."""
    settings = {"auth": {"tokens_file": str(_tokens(tmp_path))}, "max_request_bytes": 4096}
    async with _listening(tmp_path, **settings) as listeners:
        async with grpc.aio.insecure_channel(listeners.addresses["grpc"]) as channel:
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
                f"/{SERVICES['logs']}/Export", request_serializer=bytes, response_deserializer=bytes
            )
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(bytes(1024 * 1024), timeout=20)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert "authorization: Bearer TOKEN" in (caught.value.details() or "")


async def test_health_is_for_everybody(tmp_path: Path) -> None:
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    async with _listening(tmp_path, auth={"tokens_file": str(_tokens(tmp_path))}) as listeners:
        async with grpc.aio.insecure_channel(listeners.addresses["grpc"]) as channel:
            answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
