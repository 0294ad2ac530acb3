"""Every combination that cannot work is named with its key and what to do, before anything is started."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from collector.config import Config, load_config
from collector.kafka.settings import KafkaSettings
from judge.documents import DocumentError

_SASL = "security_protocol: SASL_SSL, sasl_mechanism: PLAIN, username: me, password: word"


def _load(directory: Path, text: str, environment: Mapping[str, str] | None = None) -> Config:
    file = directory / "spanjudge.yaml"
    file.write_text(text)
    return load_config(file, environment or {})


def _kafka(directory: Path, keys: str) -> KafkaSettings:
    settings = _load(directory, f"kafka: {{bootstrap_servers: 'kafka-1:9092', {keys}}}").kafka
    assert settings is not None
    return settings


def _problems(directory: Path, text: str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        _load(directory, text)
    return [str(problem).removeprefix(f"{directory}/spanjudge.yaml:") for problem in caught.value.problems]


def _problem(directory: Path, keys: str) -> str:
    (problem,) = _problems(directory, f"kafka: {{bootstrap_servers: 'kafka-1:9092', {keys}}}")
    return problem


def test_without_the_section_there_is_no_kafka(tmp_path: Path) -> None:
    config = _load(tmp_path, "{}")
    assert config.kafka is None
    assert config.role == "all"


@pytest.mark.parametrize("role", ["receiver", "router", "worker"])
def test_a_role_that_needs_kafka_says_so(tmp_path: Path, role: str) -> None:
    (problem,) = _problems(tmp_path, f"log: {{}}\nrole: {role}\n")
    assert problem == f"2: role: {role} works through Kafka: add kafka.bootstrap_servers, or set role to all"
    assert _load(tmp_path, f"role: {role}\nkafka: {{bootstrap_servers: ['kafka-1:9092']}}\n").role == role


def test_a_receiver_that_listens_nowhere_is_a_mistake(tmp_path: Path) -> None:
    off = "receivers: {grpc: {listen: 'a:1', enabled: false}, http: {listen: 'a:2', enabled: false}}"
    kafka = "kafka: {bootstrap_servers: 'kafka-1:9092'}"
    (problem,) = _problems(tmp_path, f"{off}\n{kafka}\nrole: receiver\n")
    assert problem.startswith("3: role: a receiver with receivers.grpc and receivers.http off takes nothing")
    assert _load(tmp_path, f"{off}\n{kafka}\nrole: router\n").role == "router"


def test_servers_may_come_as_one_text_from_the_environment(tmp_path: Path) -> None:
    config = _load(tmp_path, "kafka:\n  bootstrap_servers: ${env:BROKERS}\n", {"BROKERS": "a:1, [::1]:2,"})
    assert config.kafka is not None
    assert config.kafka.bootstrap_servers == ("a:1", "[::1]:2")


@pytest.mark.parametrize("server", ["kafka-1", "kafka-1:", ":9092", "kafka://k:9092", "k:0", "k:70000"])
def test_what_is_no_server_is_told_with_its_line(tmp_path: Path, server: str) -> None:
    (problem,) = _problems(tmp_path, f"kafka:\n  bootstrap_servers: ['{server}']\n")
    assert problem.startswith("2: kafka.bootstrap_servers")
    assert "must be host:port" in problem


def test_the_section_needs_servers(tmp_path: Path) -> None:
    (problem,) = _problems(tmp_path, "kafka:\n  client_id: me\n")
    assert problem == "1: kafka.bootstrap_servers: is required: add it"


@pytest.mark.parametrize("missing", ["sasl_mechanism", "username", "password"])
def test_sasl_needs_a_mechanism_a_name_and_a_password(tmp_path: Path, missing: str) -> None:
    keys = ", ".join(key for key in _SASL.split(", ") if not key.startswith(missing))
    assert f"{missing} is needed with security_protocol SASL_SSL: add it" in _problem(tmp_path, keys)
    assert _kafka(tmp_path, _SASL).sasl_mechanism == "PLAIN"


@pytest.mark.parametrize(("protocol", "fit"), [("PLAINTEXT", "SASL_SSL or SASL_PLAINTEXT"), ("SSL", "SASL_SSL")])
def test_credentials_that_nobody_would_be_shown_are_a_mistake(tmp_path: Path, protocol: str, fit: str) -> None:
    problem = _problem(tmp_path, f"security_protocol: {protocol}, password: word")
    assert problem == (
        f"1: kafka.password: is not used with security_protocol {protocol}: set that to {fit}, or remove this"
    )


def test_a_mechanism_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    problem = _problem(tmp_path, _SASL.replace("PLAIN", "GSSAPI"))
    assert problem == "1: kafka.sasl_mechanism: must be 'PLAIN', 'SCRAM-SHA-256' or 'SCRAM-SHA-512'"


def test_certificates_without_tls_are_a_mistake(tmp_path: Path) -> None:
    assert "ca_file: not used with security_protocol PLAINTEXT; set that to SSL" in _problem(
        tmp_path, "tls: {ca_file: ca.pem}"
    )


def test_a_key_without_its_certificate_is_a_mistake(tmp_path: Path) -> None:
    problem = _problem(tmp_path, "security_protocol: SSL, tls: {key_file: key.pem}")
    assert problem.startswith("1: kafka.tls.key_file: is of no use without certificate_file")


def test_certificates_are_found_from_where_the_file_stands(tmp_path: Path) -> None:
    tls = _kafka(tmp_path, "security_protocol: SSL, tls: {ca_file: ca.pem, certificate_file: /c.pem}").tls
    assert (tls.ca_file, tls.certificate_file, tls.key_file) == (tmp_path / "ca.pem", Path("/c.pem"), None)


def test_a_password_is_never_printed(tmp_path: Path) -> None:
    config = _load(tmp_path, f"kafka: {{bootstrap_servers: 'k:1', {_SASL.replace(': word', ': very-secret')}}}")
    assert "very-secret" not in repr(config) + config.model_dump_json()


def test_two_topics_cannot_have_one_name(tmp_path: Path) -> None:
    assert "'a' is the topic of spans already" in _problem(tmp_path, "topics: {spans: a, logs: a}")
    assert "'otlp_logs' is the topic of logs already" in _problem(tmp_path, "topics: {verdicts: otlp_logs}")


@pytest.mark.parametrize("name", ["", "..", "a b", "a/b", "x" * 250])
def test_a_name_that_kafka_would_not_take_is_a_mistake(tmp_path: Path, name: str) -> None:
    assert "is no name of a topic" in _problem(tmp_path, f"topics: {{spans: '{name}'}}")


def test_heartbeats_must_fit_into_a_session(tmp_path: Path) -> None:
    problem = _problem(tmp_path, "session_timeout_seconds: 6, heartbeat_seconds: 3")
    assert "heartbeat_seconds (3) must be at most a third of session_timeout_seconds (6)" in problem


def test_what_is_sent_together_must_be_as_small_as_a_message(tmp_path: Path) -> None:
    problem = _problem(tmp_path, "max_message_bytes: 100000")
    assert "batch_bytes (524288) must be at most max_message_bytes (100000)" in problem


def test_other_settings_of_the_client_may_be_given(tmp_path: Path) -> None:
    extra = _kafka(tmp_path, "extra: {producer: {metadata_max_age_ms: 1000}, consumer: {client_rack: b}}").extra
    assert extra.producer == {"metadata_max_age_ms": 1000}
    assert extra.consumer == {"client_rack": "b"}


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ("producer: {metadata_max_age: 1}", "no such setting; did you mean metadata_max_age_ms?"),
        ("producer: {check_crcs: true}", "aiokafka's producer has no such setting"),
        ("producer: {linger_ms: 5}", "linger_ms: set kafka.linger_seconds instead"),
        ("producer: {acks: 1}", "acks: is not for the configuration to set; remove it"),
        ("consumer: {enable_auto_commit: true}", "enable_auto_commit: is not for the configuration to set"),
        ("consumer: {check_crcs: 'no'}", "check_crcs: must be true or false, as its default True"),
        ("consumer: {fetch_max_bytes: true}", "fetch_max_bytes: must be a whole number, as its default 52428800"),
    ],
)
def test_settings_that_the_client_does_not_take_are_told(tmp_path: Path, extra: str, told: str) -> None:
    assert told in _problem(tmp_path, f"extra: {{{extra}}}")
