"""A broker that asks who is there: SASL PLAIN and SCRAM in the clear, certificates both ways, SCRAM within TLS."""

from __future__ import annotations

from pathlib import Path

from tests.certificates import Authority
from tests.kafka.broker import Broker
from tests.kafka.ports import free_ports

USER, PASSWORD = "spanjudge", "open sesame"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

SASL, MUTUAL, SASL_TLS = "SASL", "MUTUAL", "SASLTLS"
"""Listeners: SASL_PLAINTEXT; SSL that asks for a client's certificate; SASL_SSL."""


def secured_broker(directory: Path, jars: Path, authority: Authority) -> Broker:
    """Not started yet. Its first listener is plain, for tests to look in by; `USER` may come in with `PASSWORD`."""
    pair = authority.issue("broker")
    names = ("PLAINTEXT", SASL, MUTUAL, SASL_TLS)
    *ports, controller = free_ports(len(names) + 1)
    at = ",".join(f"{name}://127.0.0.1:{port}" for name, port in zip(names, ports, strict=True))
    settings = {
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"{at},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": at,
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": (
            f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{SASL}:SASL_PLAINTEXT,{MUTUAL}:SSL,{SASL_TLS}:SASL_SSL"
        ),
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(pair.both),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
        f"listener.name.{MUTUAL.lower()}.ssl.client.auth": "required",
    }
    for listener in (SASL, SASL_TLS):
        begin = f"listener.name.{listener.lower()}"
        settings[f"{begin}.plain.sasl.jaas.config"] = f'{_PLAIN} required user_{USER}="{PASSWORD}";'
        for mechanism in MECHANISMS[1:]:
            settings[f"{begin}.{mechanism.lower()}.sasl.jaas.config"] = f"{_SCRAM} required;"
    users = [f"{mechanism}=[name={USER},password={PASSWORD}]" for mechanism in MECHANISMS[1:]]
    format_with = tuple(part for user in users for part in ("--add-scram", user))
    return Broker(directory, jars, settings, format_with=format_with)
