"""A real Collector that sends to SpanJudge over mTLS with a bearer token, and takes its verdicts over mTLS."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from collector.otlp.grpc_server import SERVICES
from tests.certificates import Authority
from tests.end_to_end.agents import conversation
from tests.end_to_end.server import wait_for
from tests.end_to_end.test_tls import TOKEN, Secured
from tests.otelcol.collector import Collector

pytestmark = [pytest.mark.integration("otelcol"), pytest.mark.timeout(1800)]


def _send(address: str, body: bytes) -> None:
    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        call = channel.unary_unary(
            f"/{SERVICES['traces']}/Export", request_serializer=bytes, response_deserializer=bytes
        )
        call(body, timeout=30, wait_for_ready=True)


def _exporter(server: Secured, token: str) -> dict[str, object]:
    pair = server.signer.issue("collector")
    tls = {
        "ca_file": str(server.signer.certificate),
        "cert_file": str(pair.certificate),
        "key_file": str(pair.key),
        "min_version": "1.3",
    }
    return {"endpoint": server.grpc, "tls": tls, "headers": {"authorization": f"Bearer {token}"}}


def test_a_collector_sends_over_mtls_with_a_token(tmp_path: Path, otelcol: Path) -> None:
    with Secured(tmp_path / "us") as server:
        exporters = {"otlp/good": _exporter(server, TOKEN), "otlp/bad": _exporter(server, "of-nobody" * 5)}
        with Collector(tmp_path / "collector", otelcol, exporters) as collector:
            _send(collector.grpc, conversation("chat-1"))
            assert server.judged("chat-1").ref.tenant == "north"
            wait_for(
                lambda: server.metric("requests_denied_total", transport="grpc", reason="unknown"),
                "the exporter with a wrong token is turned away",
            )
        log = collector.log.read_text()
        assert "Unauthenticated" in log
        assert server.metric("spans_received_total") == 2


def test_verdicts_go_to_a_collector_over_mtls(tmp_path: Path, otelcol: Path) -> None:
    authority = Authority(tmp_path)
    takes, ours = authority.issue("collector"), authority.issue("spanjudge")
    file = tmp_path / "verdicts.json"
    signed_by = str(authority.certificate)
    tls = {"cert_file": str(takes.certificate), "key_file": str(takes.key), "client_ca_file": signed_by}
    with Collector(tmp_path / "collector", otelcol, {"file": {"path": str(file)}}, tls=tls) as collector:
        trust = {
            "ca_file": signed_by,
            "cert_file": str(ours.certificate),
            "key_file": str(ours.key),
            "server_name": "localhost",
        }
        export = {"otlp": {"endpoint": f"https://{collector.grpc}", "tls": trust}}
        with Secured(tmp_path / "us", export=export) as server:
            server.send(conversation("chat-1"))
            wait_for(lambda: file.exists() and "step_efficiency" in file.read_text(), "a verdict arrives")
