"""Who may see the page and the API of the whole product, by its configuration file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import httpx
import pytest

from tests.end_to_end.server import SPANJUDGE, Server, free_port, wait_for
from tests.fakes.access import bearer, token, tokens_file


def _get(server: Server, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"{server.admin}{path}", headers=headers, trust_env=False)


def _beyond_loopback(directory: Path, **config: object) -> Server:
    port = free_port()
    server = Server(directory, admin={"listen": f"0.0.0.0:{port}"}, **config)
    server.admin = f"http://127.0.0.1:{port}"
    return server


def test_beyond_loopback_page_and_api_say_which_key_to_set(tmp_path: Path) -> None:
    with _beyond_loopback(tmp_path) as server:
        for path in ("/", "/sessions", "/api/v1/sessions", "/api/openapi.json"):
            answer = _get(server, path)
            assert answer.status_code == 403
            assert "access.tokens_file" in answer.text
        assert [_get(server, path).status_code for path in ("/metrics", "/livez", "/readyz")] == [200] * 3
        assert server.metric("access_refused_total", reason="not_configured") == 4


def test_tokens_come_and_go_while_the_server_runs_and_are_never_told(tmp_path: Path) -> None:
    file = tokens_file(tmp_path, ana={})
    with _beyond_loopback(tmp_path, access={"tokens_file": file.name, "metrics": "open"}) as server:
        assert _get(server, "/api/v1/sessions", **bearer("ana")).status_code == 200
        assert _get(server, "/sessions", **bearer("ana")).status_code == 200
        assert _get(server, "/api/v1/sessions", **bearer("bob")).status_code == 401
        tokens_file(tmp_path, bob={"read_only": True})
        assert _get(server, "/api/v1/sessions", **bearer("bob")).status_code == 200
        assert _get(server, "/api/v1/sessions", **bearer("ana")).status_code == 401
        file.write_text(f"tokens: [{token('carl')}]")
        assert _get(server, "/api/v1/sessions", **bearer("bob")).status_code == 200
        notice = _get(server, "/readyz").json()["notices"]["access"]
        assert "stay in force" in notice["reason"]
        assert server.metric("access_tokens_reloads_total", outcome="failure") == 1
        wait_for(lambda: "tokens_not_read" in server.output(), "told in the log")
        told = server.output() + _get(server, "/metrics").text + _get(server, "/readyz").text
        assert not [name for name in ("ana", "bob", "carl") if token(name) in told]


@pytest.mark.parametrize("command", ["check-config", "run"])
def test_a_file_of_tokens_that_cannot_be_used_is_a_problem_of_the_configuration(tmp_path: Path, command: str) -> None:
    (tmp_path / "tokens.yaml").write_text("tokens:\n  - name: ana\n    token: correct-horse\n")
    config = tmp_path / "spanjudge.yaml"
    config.write_text("access: {tokens_file: tokens.yaml}\n")
    options = [str(config)] if command == "check-config" else ["-c", str(config)]
    found = subprocess.run([SPANJUDGE, command, *options], capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 1
    assert "tokens.yaml:3: tokens[0].token: must have at least 32 characters" in found.stderr
    assert "correct-horse" not in found.stderr + found.stdout
