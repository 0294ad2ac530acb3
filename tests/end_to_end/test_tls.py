"""A process with certificates on every listener: they are replaced while it runs, and verdicts wait for theirs."""

from __future__ import annotations

import asyncio
import datetime
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from collector.tls.served import ServedTls
from judge.verdict import NotApplicable
from tests.certificates import Authority
from tests.end_to_end.agents import conversation
from tests.end_to_end.server import SPANJUDGE, Server, free_port, wait_for
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub, says
from tests.fakes.otlp_sink import OtlpSink, grpc_sink
from tests.fakes.tls import ListenerFiles, client_context, serial_shown

TOKEN = "of-an-agent-0123456789abcdef0123456789abcdef"


class Secured(Server):
    """With mTLS on all three listeners, whose files can be replaced, and a token to send with."""

    def __init__(self, directory: Path, **config: Any) -> None:
        super().__init__(directory, **config)
        self.signer = Authority(directory / "authority")
        self.files = ListenerFiles(directory / "served").take(self.signer.issue("first"), self.signer)
        tokens = directory / "tokens.yaml"
        tokens.write_text(yaml.safe_dump({"tokens": [{"name": "agent", "token": TOKEN, "tenants": ["north"]}]}))
        for listener in (self.config["receivers"]["grpc"], self.config["receivers"]["http"], self.config["admin"]):
            listener["tls"] = self.files.section(mutual=True)
        self.config["receivers"]["auth"] = {"tokens_file": str(tokens)}
        self.admin = self.admin.replace("http://", "https://")
        self.authority, self.pair, self.token = self.signer, self.signer.issue("client"), TOKEN

    @property
    def addresses(self) -> list[str]:
        return [self.grpc, self.http.removeprefix("http://"), self.admin.removeprefix("https://")]

    def serials(self) -> list[int]:
        """Shown by gRPC, HTTP and admin."""
        return [serial_shown(address) for address in self.addresses]

    def look(self) -> None:
        """Have it look at its files at once."""
        self.process.send_signal(signal.SIGHUP)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with Secured(tmp_path_factory.mktemp("secured")) as server:
        yield server


def test_a_session_is_judged_for_the_tenant_of_its_token(secured: Secured) -> None:
    secured.send(conversation("chat-1"))
    assert secured.judged("chat-1").ref.tenant == "north"


def test_without_certificate_or_in_plain_text_nothing_is_had_from_any_listener(secured: Secured) -> None:
    for address in secured.addresses[1:]:
        with pytest.raises(httpx.TransportError):
            httpx.get(f"https://{address}/", verify=client_context(secured.signer), trust_env=False)
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://{address}/", trust_env=False)
    host, _, port = secured.grpc.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as plain:
        plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert not plain.recv(100).startswith(b"\0\0")  # no frame of HTTP/2
    assert secured.readyz() == 200


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_recordings_are_replayed_to_a_server_that_asks_who_we_are(
    secured: Secured, tmp_path: Path, protocol: str
) -> None:
    (tmp_path / "traces.bin").write_bytes(conversation(f"replayed-{protocol}"))
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "wrong").write_text(f"not-{TOKEN}\n")
    address = secured.grpc if protocol == "grpc" else secured.http.removeprefix("http://")
    usual: list[str | Path] = [tmp_path / "traces.bin", "--endpoint", address, "--protocol", protocol]
    pair = secured.signer.issue(f"replaying-{protocol}")
    shown: list[str | Path] = ["--tls-ca", secured.signer.certificate, "--tls-cert", pair.certificate]
    shown += ["--tls-key", pair.key]

    def replay(*more: str | Path) -> subprocess.CompletedProcess[str]:
        arguments = [SPANJUDGE, "replay", *usual, *shown, *more]
        environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
        return subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=60, check=False)

    for refused in (replay(), replay("--token-file", tmp_path / "wrong")):
        assert refused.returncode == 1
        assert "does not let us in" in refused.stderr
        assert "--token-file" in refused.stderr
        assert TOKEN not in refused.stdout + refused.stderr
    taken = replay("--token-file", tmp_path / "token")
    assert taken.returncode == 0, taken.stderr
    assert secured.judged(f"replayed-{protocol}").ref.tenant == "north"


def test_strangers_leave_nothing_in_the_log(secured: Secured) -> None:
    """Neither a line for each connection or request, nor the name that they ask for."""
    before = secured.output()
    for address in secured.addresses[1:]:
        host, _, port = address.rpartition(":")
        context = client_context(secured.signer, secured.pair)
        for request in (
            b"no request\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        ):
            plain = socket.create_connection((host, int(port)), timeout=20)
            with context.wrap_socket(plain, server_hostname="localhost") as connection:
                connection.sendall(request)
                assert connection.recv(100).startswith(b"HTTP/1.1 4")
    host, _, port = secured.grpc.rpartition(":")
    for _ in range(3):
        with socket.create_connection((host, int(port)), timeout=20) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            plain.recv(100)
        plain = socket.create_connection((host, int(port)), timeout=20)
        context = client_context(secured.signer, secured.pair)
        context.check_hostname = False
        context.set_alpn_protocols(["h2"])
        with context.wrap_socket(plain, server_hostname="a-name-that-nobody-has.example"):
            pass
    assert secured.output() == before


def test_certificates_are_replaced_without_a_restart(secured: Secured) -> None:
    first, pid = secured.serials(), secured.process.pid
    assert len(set(first)) == 1
    ends = datetime.timedelta(days=60)
    secured.files.take(secured.signer.issue("second", ends=ends))
    secured.look()
    wait_for(lambda: not set(secured.serials()) & set(first), "all listeners show the new certificate")
    assert (secured.process.pid, secured.process.poll()) == (pid, None)
    in_50_days = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=50)).timestamp()
    for listener in ("grpc", "http", "admin"):
        assert secured.metric("tls_certificate_expiry_timestamp_seconds", listener=listener) > in_50_days
    secured.send(conversation("chat-2"))


def test_a_broken_certificate_is_told_of_and_not_shown(secured: Secured) -> None:
    before = secured.serials()
    secured.files.certificate.write_text("-----BEGIN CERTIFICATE-----\n")
    secured.look()
    wait_for(lambda: secured.metric("credential_files_unusable") == 3, "the metric of every listener")
    answer = secured.get("/readyz")
    notice = answer.json()["notices"]["credentials"]
    assert (answer.status_code, notice["ok"]) == (200, False)
    for key in ("receivers.grpc.tls", "receivers.http.tls", "admin.tls"):
        assert f"{key}.cert_file" in notice["reason"]
    assert secured.serials() == before
    assert "credentials_unusable" in secured.output()
    secured.files.take(secured.signer.issue("third", ends=datetime.timedelta(days=60)))
    secured.look()
    wait_for(lambda: secured.get("/readyz").json()["notices"]["credentials"]["ok"], "all is well again")


def test_files_that_cannot_be_used_at_the_start_end_it_with_their_key(tmp_path: Path) -> None:
    server = Secured(tmp_path)
    server.files.key.unlink()
    process = server.begin()
    assert process.wait(60) == 1
    (line,) = [line for line in server.output().splitlines() if line.startswith("spanjudge: ")]
    assert "receivers.grpc.tls.key_file" in line
    assert "cannot be read: No such file" in line


async def test_verdicts_wait_for_the_right_authority_and_none_is_lost(tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path / "right"), Authority(tmp_path / "wrong", "another")
    files = ListenerFiles(tmp_path / "sink").take(authority.issue("sink"), authority)
    ours = ListenerFiles(tmp_path / "ours").take(authority.issue("spanjudge"))
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(stranger.certificate.read_bytes())
    sink = OtlpSink()
    async with grpc_sink(sink, tls=ServedTls(files.settings(mutual=True), "sink")) as endpoint:
        tls = {"ca_file": str(trusted), "cert_file": str(ours.certificate), "key_file": str(ours.key)}
        server = Server(tmp_path / "us", export={"otlp": {"endpoint": endpoint, "tls": tls, "retry_max_seconds": 1}})
        try:
            await asyncio.to_thread(server.start)
            await asyncio.to_thread(server.send, conversation("chat-1"))
            closed = await asyncio.to_thread(server.judged, "chat-1")
            await asyncio.to_thread(
                wait_for, lambda: server.metric("export_retries_total", reason="unavailable") >= 2, "two tries"
            )
            assert sink.requests == 0
            assert "CERTIFICATE_VERIFY_FAILED" in server.output()
            trusted.write_bytes(authority.certificate.read_bytes())
            verdicts = await asyncio.to_thread(server.verdicts, closed)
            told = sum(not isinstance(judged.verdict.outcome, NotApplicable) for judged in verdicts)
            await sink.until(lambda: len(set(sink.span_ids)) == told)
        finally:
            server.kill()


def test_a_listener_that_is_open_to_the_network_is_told_of_with_the_key_to_set(tmp_path: Path) -> None:
    port = free_port()
    with Server(tmp_path, receivers={"http": {"listen": f"0.0.0.0:{port}"}}) as server:
        told = [line for line in server.output().splitlines() if "open_to_the_network" in line]
    assert len(told) == 2
    assert all("key=receivers.http.listen" in line for line in told)
    assert "set receivers.http.tls" in told[0]
    assert "set receivers.auth.tokens_file" in told[1]


def test_a_judge_with_a_certificate_of_ones_own_authority_is_asked(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("judge")
    with AnthropicStub(says(), tls=pair) as stub:
        judge = {"api_key": API_KEY, "base_url": stub.url, "ca_file": str(authority.certificate)}
        with Server(tmp_path / "us", judge=judge) as server:
            server.send(conversation("chat-1"))
            wait_for(lambda: server.metric("judge_requests_total", outcome="answered"), "an answer")
