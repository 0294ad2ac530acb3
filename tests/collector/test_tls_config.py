"""Sections about TLS and tokens in the configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.config import Config, load_config
from judge.documents import DocumentError


def _load(directory: Path, text: str) -> Config:
    file = directory / "spanjudge.yaml"
    file.write_text(text)
    return load_config(file, {})


def _problem(directory: Path, text: str) -> str:
    with pytest.raises(DocumentError) as caught:
        _load(directory, text)
    (problem,) = caught.value.problems
    return f"{problem.key}: {problem.message}"


def test_paths_of_certificates_and_tokens_are_taken_from_where_the_file_stands(tmp_path: Path) -> None:
    config = _load(
        tmp_path,
        """
receivers:
  grpc: {listen: "0.0.0.0:4317", tls: {cert_file: a.crt, key_file: /run/a.key, client_ca_file: ca.pem}}
  auth: {tokens_file: tokens.yaml}
admin: {listen: "127.0.0.1:0", tls: {cert_file: b.crt, key_file: b.key}}
judge: {ca_file: judge.pem}
export:
  otlp: {endpoint: "https://c:4317", bearer_token_file: token, tls: {ca_file: c.pem}}
kafka: {bootstrap_servers: "kafka:9092", security_protocol: SSL, tls: {ca_file: kafka.pem}}
""",
    )
    grpc, admin, export = config.receivers.grpc.tls, config.admin.tls, config.export.otlp
    assert grpc is not None
    assert (grpc.cert_file, grpc.key_file, grpc.client_ca_file) == (
        tmp_path / "a.crt",
        Path("/run/a.key"),
        tmp_path / "ca.pem",
    )
    assert admin is not None
    assert admin.key_file == tmp_path / "b.key"
    assert config.receivers.auth is not None
    assert config.receivers.auth.tokens_file == tmp_path / "tokens.yaml"
    assert config.judge.ca_file == tmp_path / "judge.pem"
    assert export is not None
    assert export.tls is not None
    assert (export.bearer_token_file, export.tls.ca_file) == (tmp_path / "token", tmp_path / "c.pem")
    assert config.kafka is not None
    assert config.kafka.tls.ca_file == tmp_path / "kafka.pem"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("receivers: {http: {listen: 'h:1', tls: {cert_file: a}}}", "receivers.http.tls.key_file: is required"),
        ("admin: {listen: 'h:1', tls: {cert_file: a, key_file: b, min_version: '1.1'}}", "'1.2' or '1.3'"),
        (
            "receivers: {grpc: {listen: 'h:1', tls: {cert_file: a, key_file: b, min_version: '1.3'}}}",
            "receivers.grpc: tls.min_version: gRPC takes TLS 1.2 too",
        ),
        ("export: {otlp: {endpoint: 'https://c', tls: {cert_file: a}}}", "cert_file and key_file go together: add key"),
        ("export: {otlp: {endpoint: 'https://c', tls: {key_file: a}}}", "cert_file and key_file go together: add cert"),
        ("export: {otlp: {endpoint: 'https://c', tls: {insecure_skip_verify: yes}}}", "is not offered: set ca_file"),
        ("export: {otlp: {endpoint: 'http://c', tls: {ca_file: a}}}", "does not begin with https://"),
        (
            "export: {otlp: {endpoint: 'https://c', headers: {Authorization: x}, bearer_token_file: f}}",
            "headers has an authorization already",
        ),
    ],
)
def test_what_does_not_go_together_is_told_with_what_to_set(tmp_path: Path, text: str, told: str) -> None:
    assert told in _problem(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "export: {otlp: {endpoint: 'https://ana:open-sesame@c:4317'}}",
        'export: {otlp: {endpoint: "https://c", headers: {x-key: "open-sesame\\n"}}}',
        "judge: {base_url: 'https://ana:open-sesame@judge'}",
        "judge: {api_key: 'open-sesame and more'}",
    ],
)
def test_secrets_that_would_get_into_messages_are_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    assert "sesame" not in _problem(tmp_path, text)


def test_skipping_what_is_not_offered_may_be_spelled_out(tmp_path: Path) -> None:
    text = "export: {otlp: {endpoint: 'https://c', tls: {ca_file: a, insecure_skip_verify: no}}}"
    assert _load(tmp_path, text).export.otlp is not None


def test_an_empty_key_is_none(tmp_path: Path) -> None:
    assert _load(tmp_path, "judge: {api_key: '${env:NOT_SET:-}'}").judge.api_key is not None
