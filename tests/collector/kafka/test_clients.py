"""Clients reach brokers that ask who is there, and say what is wrong when they cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from collector.kafka.clients import KafkaClients, stop
from collector.kafka.errors import KafkaNotReached, KafkaUnusable
from collector.kafka.settings import KafkaSettings
from tests.certificates import Authority
from tests.kafka.broker import Broker
from tests.kafka.desk import Desk
from tests.kafka.secured import MECHANISMS, MUTUAL, PASSWORD, SASL, SASL_TLS, USER


def _clients(bootstrap: str, **settings: Any) -> KafkaClients:
    return KafkaClients(KafkaSettings.model_validate({"bootstrap_servers": bootstrap, **settings}))


def _sasl(protocol: str, mechanism: str, password: str = PASSWORD) -> dict[str, object]:
    return {"security_protocol": protocol, "sasl_mechanism": mechanism, "username": USER, "password": password}


async def _round(clients: KafkaClients, topic: str) -> bytes | None:
    """What comes back of a message that was written."""
    producer = await clients.started(clients.producer)
    try:
        await producer.send_and_wait(topic, b"hello", key=b"key")
    finally:
        await stop(producer)
    consumer = await clients.started(clients.consumer)
    try:
        consumer.subscribe([topic])
        message = await asyncio.wait_for(consumer.getone(), 30)
    finally:
        await stop(consumer)
    value: bytes | None = message.value
    return value


@pytest.mark.integration("kafka")
@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_password_opens_a_broker(secured_kafka: Broker, mechanism: str) -> None:
    desk = Desk(secured_kafka.bootstrap)
    topic = await desk.create(desk.name("plain"))
    clients = _clients(secured_kafka.address(SASL), **_sasl("SASL_PLAINTEXT", mechanism))
    assert await _round(clients, topic) == b"hello"


@pytest.mark.integration("kafka")
@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_wrong_password_is_not_let_in(secured_kafka: Broker, mechanism: str) -> None:
    clients = _clients(secured_kafka.address(SASL), **_sasl("SASL_PLAINTEXT", mechanism, "open barley"))
    with pytest.raises(KafkaNotReached, match=r"[Aa]uthentication"):
        await clients.started(clients.producer, within_s=2)


@pytest.mark.integration("kafka")
async def test_a_password_may_travel_within_tls(secured_kafka: Broker, authority: Authority) -> None:
    desk = Desk(secured_kafka.bootstrap)
    topic = await desk.create(desk.name("tls"))
    tls = {"ca_file": authority.certificate}
    clients = _clients(secured_kafka.address(SASL_TLS), **_sasl("SASL_SSL", "SCRAM-SHA-512"), tls=tls)
    assert await _round(clients, topic) == b"hello"


@pytest.mark.integration("kafka")
async def test_a_certificate_opens_a_broker_that_asks_for_one(secured_kafka: Broker, authority: Authority) -> None:
    desk = Desk(secured_kafka.bootstrap)
    topic = await desk.create(desk.name("mutual"))
    ours = authority.issue("spanjudge")
    tls = {"ca_file": authority.certificate, "certificate_file": ours.certificate, "key_file": ours.key}
    clients = _clients(secured_kafka.address(MUTUAL), security_protocol="SSL", tls=tls)
    assert await _round(clients, topic) == b"hello"
    bare = _clients(secured_kafka.address(MUTUAL), security_protocol="SSL", tls={"ca_file": authority.certificate})
    with pytest.raises(KafkaNotReached):
        await bare.started(bare.producer, within_s=2)


@pytest.mark.integration("kafka")
async def test_a_broker_that_another_authority_signed_is_not_spoken_to(secured_kafka: Broker, tmp_path: Path) -> None:
    stranger = Authority(tmp_path, "somebody else")
    tls = {"ca_file": stranger.certificate}
    clients = _clients(secured_kafka.address(SASL_TLS), **_sasl("SASL_SSL", "PLAIN"), tls=tls)
    with pytest.raises(KafkaNotReached, match="certificate verify failed"):
        await clients.started(clients.producer, within_s=2)


@pytest.mark.integration("kafka")
@pytest.mark.parametrize(
    ("listener", "spoken"),
    [
        (SASL, {"security_protocol": "PLAINTEXT"}),
        (MUTUAL, {"security_protocol": "PLAINTEXT"}),
        (SASL, {"security_protocol": "SSL"}),
        ("PLAINTEXT", _sasl("SASL_PLAINTEXT", "PLAIN")),
    ],
    ids=["plain to SASL", "plain to TLS", "TLS to SASL", "SASL to plain"],
)
async def test_another_protocol_than_the_listener_speaks_is_a_hint(
    secured_kafka: Broker, listener: str, spoken: dict[str, Any]
) -> None:
    clients = _clients(secured_kafka.address(listener), **spoken)
    with pytest.raises(KafkaNotReached, match=f"does its listener speak {spoken['security_protocol']} "):
        await clients.started(clients.admin, within_s=2)


async def test_values_that_the_client_does_not_take_are_named_with_their_key() -> None:
    clients = _clients("k:1", extra={"consumer": {"max_poll_records": 0}, "producer": {"metadata_max_age_ms": 1}})
    with pytest.raises(KafkaUnusable, match=r"kafka\.extra\.consumer: .*max_poll_records"):
        clients.consumer()


async def test_a_broker_that_is_not_there_is_named() -> None:
    clients = _clients("127.0.0.1:1")
    with pytest.raises(KafkaNotReached, match=r"Kafka at 127\.0\.0\.1:1 cannot be used: .* Connect call failed"):
        await clients.started(clients.admin, within_s=1)


async def test_certificates_that_cannot_be_read_are_named_with_their_key(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    with pytest.raises(KafkaUnusable, match=r"kafka\.tls\.ca_file: .*broken\.pem cannot be used"):
        _clients("k:1", security_protocol="SSL", tls={"ca_file": broken})
    with pytest.raises(KafkaUnusable, match=r"kafka\.tls\.certificate_file, key_file: .*none\.pem"):
        _clients("k:1", security_protocol="SSL", tls={"certificate_file": tmp_path / "none.pem"})


async def test_other_settings_reach_the_client() -> None:
    clients = _clients("k:1", extra={"producer": {"metadata_max_age_ms": 1234}}, compression="none")
    producer = clients.producer()
    assert producer.client._metadata_max_age_ms == 1234
    await stop(producer)
