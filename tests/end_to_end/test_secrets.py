"""Secrets planted wherever the configuration takes one are in nothing that people or machines read, whatever fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import yaml

from collector.config import load_config
from judge.documents import DocumentError
from tests.end_to_end.agents import conversation
from tests.end_to_end.server import SPANJUDGE, Server, free_port, wait_for

MARK = "planted"


def _secret(name: str) -> str:
    """All of them have a word in common, by which any part of one is found."""
    return f"{MARK}-{name}-3f1c9a7be2d84c60a5e7"


@contextmanager
def _parrot() -> Iterator[str]:
    """A service that refuses everything and repeats what it was sent with, as a judge and as an OTLP receiver."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            # Long messages are shortened, so what matters comes first.
            sent = sorted(self.headers.items(), key=lambda header: MARK not in header[1])
            heard = "; ".join(f"{name} was {value}" for name, value in sent)
            error = {"type": "authentication_error", "message": f"refused: {heard}"}
            body = json.dumps({"type": "error", "error": error}).encode()
            self.send_response(401 if self.path == "/v1/messages" else 503)  # so that verdicts are soon sent again
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _planted_config(directory: Path, parrot: str) -> dict[str, Any]:
    files = {
        "bearer": _secret("bearer") + "\n",
        "session.key": _secret("session-key") * 3,
        "senders.yaml": yaml.safe_dump({"tokens": [{"name": "agent", "token": _secret("sender")}]}),
        "people.yaml": yaml.safe_dump({"tokens": [{"name": "ana", "token": _secret("person")}]}),
    }
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name).write_text(text)
    return {
        "judge": {"api_key": _secret("judge"), "base_url": parrot, "redaction": {"enabled": False}},
        "export": {
            "otlp": {
                "endpoint": parrot,
                "protocol": "http/protobuf",
                "headers": {"X-Key": _secret("header"), "X-Other": f"Basic {_secret('basic')}"},
                "bearer_token_file": "bearer",
                "retry_max_seconds": 1,
            }
        },
        "receivers": {"auth": {"tokens_file": "senders.yaml"}},
        "access": {"tokens_file": "people.yaml", "session_key_file": "session.key"},
        "log": {"level": "debug"},
    }


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a secret in every place, after everything went wrong that can."""
    directory = tmp_path_factory.mktemp("troubled")
    with _parrot() as parrot:
        server = Server(directory, **_planted_config(directory, parrot))
        server.token = _secret("sender")
        with server:
            _make_trouble(server)
            yield server


def _make_trouble(server: Server) -> None:
    server.send(conversation("chat-1"))
    server.judged("chat-1")
    wait_for(lambda: server.metric("judge_requests_total", outcome="judge_not_authorised"), "the judge refuses")
    wait_for(lambda: server.metric("export_retries_total"), "the receiver refuses")
    _send_with_a_wrong_token(server)
    for path, headers in (
        ("/api/v1/sessions", {"authorization": f"Bearer {_secret('strange-reader')}"}),
        (f"/api/v1/sessions/{_secret('strange-session')}", {"cookie": f"session={_secret('strange-cookie')}"}),
    ):
        assert server.get(path, **headers).status_code == 401
    httpx.post(f"{server.admin}/sign-in", data={"token": _secret("strange-form")}, trust_env=False)
    _break_the_files(server)


def _send_with_a_wrong_token(server: Server) -> None:
    server.token = _secret("strange-sender")
    with pytest.raises(grpc.RpcError):
        server.send(conversation("chat-2"))
    answer = httpx.post(
        f"{server.http}/v1/traces", headers={"authorization": f"Basic {_secret('strange-basic')}"}, trust_env=False
    )
    assert answer.status_code == 401
    assert MARK not in answer.text


def _break_the_files(server: Server) -> None:
    directory = server.directory
    (directory / "bearer").write_text(f"{_secret('newer')} {_secret('bearer')}\n")
    (directory / "senders.yaml").write_text(f"tokens:\n  - name: x\n    {_secret('key-of-yaml')}: 1\n")
    (directory / "people.yaml").write_text(f"tokens: [{{name: y, token: {_secret('short')[:12]}}}\n")
    file = directory / "spanjudge.yaml"
    file.write_text(file.read_text() + f"strange: {{api_key: {_secret('misplaced')}}}\n")
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "config_not_reloaded" in server.output(), "the configuration is refused")
    wait_for(lambda: server.metric("credential_files_unusable", key="receivers.auth.tokens_file"), "tokens are kept")
    wait_for(lambda: "credentials_unusable" in server.output(), "the token of the export is kept")


def _leaks(text: str) -> list[str]:
    return [line for line in text.splitlines() if MARK in line]


def test_the_log_repeats_no_secret(troubled: Server) -> None:
    log = troubled.output()
    for event in ("export_postponed", "request_denied", "tokens_not_read", "config_problem"):
        assert event in log
    assert _leaks(log) == []


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text"])
def test_metrics_and_readiness_repeat_no_secret(troubled: Server, accept: str) -> None:
    assert _leaks(troubled.get("/metrics", accept=accept).text) == []
    ready = troubled.get("/readyz").text
    assert "tokens" in ready
    assert _leaks(ready) == []


def test_page_and_api_repeat_no_secret(troubled: Server) -> None:
    signed_in = {"authorization": f"Bearer {_secret('person')}"}
    paths = ["/", "/sign-in", "/api/openapi.json", "/api/v1/sessions", "/api/v1/sessions/chat-1", "/api/v1/verdicts"]
    for path in (*paths, "/sessions", "/sessions/chat-1", "/skills", "/versions", "/label"):
        answer = troubled.get(path, **signed_in)
        assert answer.status_code in {200, 404}, path
        assert _leaks(answer.text) == [], path
    assert _leaks(str(troubled.get("/api/v1/sessions").headers)) == []


@pytest.mark.parametrize("command", ["explain chat-1", "show chat-1", "sessions"])
def test_commands_that_look_into_the_store_repeat_no_secret(troubled: Server, command: str) -> None:
    done = _spanjudge(*command.split(), "--data-dir", str(troubled.directory / "data"))
    assert done.returncode == 0, done.stderr
    assert _leaks(done.stdout + done.stderr) == []


def test_the_store_and_the_journal_hold_no_secret(troubled: Server) -> None:
    for file in (troubled.directory / "data").rglob("*"):
        if file.is_file():
            assert MARK.encode() not in file.read_bytes(), file


def test_check_config_repeats_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "spanjudge.yaml"
    config = _planted_config(tmp_path, "http://collector.example:4318")
    config["store"] = {"url": f"postgresql://ana:{_secret('database')}@db.example/judge"}
    file.write_text(yaml.safe_dump(config))
    done = _spanjudge("check-config", str(file))
    assert done.returncode == 0, done.stderr
    assert "warning: export.otlp.endpoint" in done.stderr
    assert _leaks(done.stdout + done.stderr) == []
    loaded = load_config(file, {})
    assert MARK not in repr(loaded) + str(loaded) + loaded.model_dump_json()


@pytest.mark.parametrize(
    "text",
    [
        "judge: {api_key: [%s]}",
        "judge: {api_key: '%s x'}",
        "judge: {api_key: {a: %s}}",
        "judge: {bedrock: {region: x, api_key: [%s]}}",
        "store: {url: 'mysql://ana:%s@db/judge'}",
        "store: {url: 'postgresql://ana:%s@db:port/judge'}",
        "export: {otlp: {endpoint: 'https://ana:%s@c'}}",
        "export: {otlp: {endpoint: 'https://c', headers: {x: [%s]}}}",
        'export: {otlp: {endpoint: "https://c", headers: {x: "%s\\n"}}}',
        "export: {otlp: {endpoint: 'https://c', headers: '%s'}}",
        "kafka: {bootstrap_servers: 'k:1', password: %s}",
        "kafka: {bootstrap_servers: 'k:1', tls: {key_password: %s}}",
        "receivers: {auth: {tokens_file: senders.yaml}}\nsecret: %s",
    ],
)
def test_a_secret_that_is_written_wrongly_is_not_repeated(tmp_path: Path, text: str) -> None:
    file = tmp_path / "spanjudge.yaml"
    file.write_text(text % _secret("wrong"))
    with pytest.raises(DocumentError) as caught:  # what check-config prints
        load_config(file, {})
    assert _leaks(str(caught.value)) == []


def test_a_start_that_fails_repeats_no_secret(tmp_path: Path) -> None:
    port = free_port()
    store = {"url": f"postgresql://ana:{_secret('database')}@127.0.0.1:{port}/judge", "connect_timeout_seconds": 2}
    kafka = {
        "bootstrap_servers": f"127.0.0.1:{port}",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "username": "ana",
        "password": _secret("kafka"),
        "start_seconds": 1,
    }
    for name, config in (("store", {"store": store}), ("kafka", {"kafka": kafka})):
        server = Server(tmp_path / name, log={"level": "debug"}, **config)
        assert server.begin().wait(60) == 1
        assert f"127.0.0.1:{port}" in server.output() or "judge" in server.output()
        assert _leaks(server.output()) == []


def test_a_key_of_the_environment_that_cannot_be_sent_ends_the_start_unrepeated(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.environment["ANTHROPIC_API_KEY"] = f"{_secret('environment')} and more"
    assert server.begin().wait(60) == 1
    assert "ANTHROPIC_API_KEY must be one line of ASCII characters" in server.output()
    assert _leaks(server.output()) == []


def _spanjudge(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
    return subprocess.run(
        [str(SPANJUDGE), *arguments], capture_output=True, text=True, check=False, timeout=120, env=environment
    )
