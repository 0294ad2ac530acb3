"""What is told of a configuration that opens something to the network."""

from __future__ import annotations

from typing import Any

import pytest

from collector.config import Config
from collector.exposure import exposures

TLS = {"cert_file": "tls.crt", "key_file": "tls.key"}
MUTUAL = {**TLS, "client_ca_file": "clients.pem"}
OPEN = {"listen": "0.0.0.0:4317"}
TOKENS = {"tokens_file": "tokens.yaml"}


def _told(**config: Any) -> list[str]:
    return [str(one) for one in exposures(Config.model_validate(config))]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "[::1]", "localhost"])
def test_nothing_is_told_of_loopback(host: str) -> None:
    listener = {"listen": f"{host}:0"}
    assert not _told(receivers={"grpc": listener, "http": listener}, admin=listener)


@pytest.mark.parametrize("name", ["grpc", "http"])
@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "10.1.2.3", "spans.example"])
def test_an_open_receiver_is_told_with_the_keys_to_set(name: str, host: str) -> None:
    plain, anybody = _told(receivers={name: {"listen": f"{host}:4317"}})
    assert plain.startswith(f"receivers.{name}.listen: {host}:4317 takes telemetry in plain text")
    assert f"receivers.{name}.tls" in plain
    assert "receivers.auth.tokens_file" in anybody
    assert f"receivers.{name}.tls.client_ca_file" in anybody


@pytest.mark.parametrize(
    "receivers",
    [
        {"grpc": {**OPEN, "tls": MUTUAL}},
        {"grpc": {**OPEN, "tls": TLS}, "auth": TOKENS},
        {"grpc": {**OPEN, "enabled": False}},
    ],
)
def test_nothing_is_told_of_what_is_closed(receivers: dict[str, Any]) -> None:
    assert not _told(receivers=receivers)


def test_encryption_alone_lets_anybody_in() -> None:
    (told,) = _told(receivers={"http": {**OPEN, "tls": TLS}})
    assert "takes telemetry of anybody" in told


def test_an_open_admin_listener_is_told_of() -> None:
    plain, nobody = _told(admin={"listen": "0.0.0.0:9464"})
    assert "admin.tls" in plain
    assert "access.tokens_file" in nobody
    assert not _told(admin={"listen": "0.0.0.0:9464", "tls": TLS}, access=TOKENS)


def test_receivers_of_a_role_without_them_are_not_told_of() -> None:
    kafka = {"bootstrap_servers": "kafka:9092"}
    assert not _told(role="router", kafka=kafka, receivers={"grpc": OPEN, "http": OPEN})


def test_secrets_sent_in_plain_text_are_told_of() -> None:
    far, near = "http://collector.example:4317", "http://localhost:4317"
    secrets: list[dict[str, Any]] = [{"headers": {"x-key": "open sesame"}}, {"bearer_token_file": "token"}]
    for secret in secrets:
        (told,) = _told(export={"otlp": {"endpoint": far, **secret}})
        assert told.startswith("export.otlp.endpoint: ")
        assert "sesame" not in told
        assert not _told(export={"otlp": {"endpoint": near, **secret}})
        assert not _told(export={"otlp": {"endpoint": far.replace("http:", "https:"), **secret}})
    assert not _told(export={"otlp": {"endpoint": far}})


def test_a_judge_that_is_asked_in_plain_text_is_told_of() -> None:
    (told,) = _told(judge={"base_url": "http://judge.example"})
    assert told.startswith("judge.base_url: http://judge.example is asked in plain text")
    for closed in ("https://judge.example", "http://127.0.0.1:8080"):
        assert not _told(judge={"base_url": closed})


@pytest.mark.parametrize("url", ["db.example/judge", "db.example/judge?sslmode=require", "/judge?host=db.example"])
def test_a_database_whose_certificate_is_not_checked_is_told_of(url: str) -> None:
    (told,) = _told(store={"url": f"postgresql://ann:sesame@{url}"})
    assert told.startswith("store.url: ")
    assert "sslmode=verify-full" in told
    assert "sesame" not in told


@pytest.mark.parametrize(
    "url", ["db.example/judge?sslmode=verify-full", "localhost/judge", "/judge?host=/run/postgresql"]
)
def test_a_database_that_is_checked_or_near_is_not_told_of(url: str) -> None:
    assert not _told(store={"url": f"postgresql://ann:sesame@{url}"})


def test_a_password_for_brokers_in_plain_text_is_told_of() -> None:
    sasl = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "username": "ann", "password": "sesame"}
    (told,) = _told(role="router", kafka={"bootstrap_servers": "kafka:9092", **sasl})
    assert told.startswith("kafka.security_protocol: ")
    assert "sesame" not in told
    assert not _told(role="router", kafka={"bootstrap_servers": "localhost:9092", **sasl})
