"""The `kafka` section of the configuration: how to reach Kafka, what topics are called, how much goes into one
message. What the client library takes beyond that can be given under `extra`, and is checked against it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationInfo, field_validator

from collector.config_section import Seconds, Section
from collector.kafka.extra_settings import Client, Setting, extra_fault
from collector.kafka.router_settings import KafkaRouterSettings

Security = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Encoding = Literal["otlp_proto", "otlp_json"]

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_KIB, _MIB = 1024, 1024 * 1024


def _servers(given: object) -> object:
    """One text with commas is a list too, as environment variables have it."""
    return tuple(part.strip() for part in given.split(",") if part.strip()) if isinstance(given, str) else given


class KafkaTopics(Section):
    """Names of the topics. The first three need the same number of partitions, and so do the next two."""

    spans: str = Field("otlp_spans", description="traces, by trace id: from receivers, or from a Collector")
    logs: str = Field("otlp_logs", description="log records, likewise")
    links: str = Field("spanjudge_links", description="what routers must not forget; compacted")
    sessions: str = Field("spanjudge_sessions", description="telemetry by session, from routers to workers")
    verdicts: str = Field("spanjudge_verdicts", description="what workers have judged; compacted")
    dead_letters: str = Field("spanjudge_dead_letters", description="messages that nobody can read, with the cause")

    @field_validator("*")
    @classmethod
    def _is_a_name_of_its_own(cls, name: str, info: ValidationInfo) -> str:
        if not _TOPIC.fullmatch(name) or name in {".", ".."}:
            raise ValueError(f"{name!r} is no name of a topic: take letters, digits, dots, dashes and underscores")
        for other, taken in info.data.items():
            if taken == name:
                raise ValueError(f"{name!r} is the topic of {other} already: each needs its own")
        return name


class KafkaTls(Section):
    """Certificates, as PEM files. Names of brokers are always checked against their certificates."""

    ca_file: Path | None = Field(None, description="authorities that sign brokers; the system's where left out")
    certificate_file: Path | None = Field(None, description="ours, where brokers ask for one")
    key_file: Path | None = Field(None, description="its key, where that is not in the same file")
    key_password: SecretStr | None = Field(None, description="where the key is encrypted")

    @field_validator("key_file", "key_password")
    @classmethod
    def _belongs_to_a_certificate(cls, value: Path | SecretStr | None, info: ValidationInfo) -> object:
        if value is not None and info.data.get("certificate_file") is None:
            raise ValueError("is of no use without certificate_file: add it")
        return value

    @property
    def given(self) -> tuple[str, ...]:
        """Keys that are set."""
        return tuple(key for key in type(self).model_fields if getattr(self, key) is not None)


class KafkaExtra(Section):
    """Settings of the client library (aiokafka) by its own names, for what has no key here."""

    producer: dict[str, Setting] = Field(
        default_factory=dict, description="of AIOKafkaProducer: texts, numbers, true or false"
    )
    consumer: dict[str, Setting] = Field(default_factory=dict, description="of AIOKafkaConsumer, likewise")

    @field_validator("producer", "consumer")
    @classmethod
    def _is_known_to_the_library(cls, given: dict[str, Setting], info: ValidationInfo) -> dict[str, Setting]:
        client: Client = "producer" if info.field_name == "producer" else "consumer"
        if faults := [fault for name, value in given.items() if (fault := extra_fault(client, name, value))]:
            raise ValueError("; ".join(faults))
        return given


class KafkaCreate(Section):
    """Topics that are missing are made at the start, unless somebody else is to do that."""

    enabled: bool = True
    partitions: int = Field(12, ge=1, description="of the topics of spans, logs and links")
    session_partitions: int = Field(12, ge=1, description="of the topics of sessions and verdicts")
    replicas: int = Field(3, ge=1, le=32_767, description="copies of each partition; at most as many as brokers")
    telemetry_seconds: Seconds = Field(86_400, description="how long telemetry stays in the topics")
    dead_letter_seconds: Seconds = Field(1_209_600, description="how long dead letters stay")


class KafkaSettings(Section):
    """Apache Kafka between receivers, routers and workers. Leave the section out for one process without it."""

    bootstrap_servers: Annotated[tuple[str, ...], BeforeValidator(_servers)] = Field(
        min_length=1, description="host:port of some brokers; also as one text with commas"
    )
    security_protocol: Security = "PLAINTEXT"
    sasl_mechanism: Mechanism | None = Field(None, description="for SASL_PLAINTEXT and SASL_SSL")
    username: str | None = Field(None, min_length=1, description="for SASL")
    password: SecretStr | None = Field(None, description="for SASL")
    tls: KafkaTls = Field(KafkaTls(), description="for SSL and SASL_SSL")
    client_id: str = Field("spanjudge", min_length=1, description="how brokers see us in their logs and quotas")
    router_group: str = Field("spanjudge-router", min_length=1, description="consumer group of routers")
    worker_group: str = Field("spanjudge-worker", min_length=1, description="consumer group of workers")
    transactional_id: str = Field(
        "spanjudge-router", min_length=1, description="beginning of the routers' transactional ids; one a partition"
    )
    instance_id: str | None = Field(
        None, min_length=1, description="a name that survives restarts (a pod of a StatefulSet): no rebalance for them"
    )
    topics: KafkaTopics = KafkaTopics()
    create: KafkaCreate = KafkaCreate()
    router: KafkaRouterSettings = KafkaRouterSettings()
    encoding: Encoding = Field(
        "otlp_proto", description="what a Collector writes into the topics of spans and logs; receivers mark theirs"
    )
    compression: Compression = Field("zstd", description="of what we write")
    max_message_bytes: int = Field(
        8 * _MIB, ge=16 * _KIB, le=1024 * _MIB, description="largest message we write, before compression"
    )
    batch_bytes: int = Field(512 * _KIB, ge=_KIB, description="messages to one partition are sent together up to this")
    linger_seconds: float = Field(0.005, ge=0, le=10, description="wait this long for more messages to send together")
    fetch_bytes: int = Field(8 * _MIB, ge=64 * _KIB, description="read at once of one partition")
    isolation: Literal["read_committed", "read_uncommitted"] = Field(
        "read_committed", description="of the topics of spans and logs; ours are always read committed"
    )
    start_from: Literal["earliest", "latest"] = Field(
        "earliest", description="where routers begin with spans and logs when their group was never there before"
    )
    request_seconds: Seconds = Field(20, description="a broker that has not answered by then is asked again")
    delivery_seconds: Seconds = Field(
        4, description="receivers ask senders to come back when Kafka has not taken a request within this long"
    )
    start_seconds: Seconds = Field(60, description="give up when Kafka cannot be reached within this long at the start")
    check_seconds: Seconds = Field(15, description="look this often whether the topics are as they should be")
    session_timeout_seconds: Seconds = Field(30, description="a member that is silent for this long loses its share")
    heartbeat_seconds: Seconds = Field(3, description="members tell this often that they live")
    rebalance_timeout_seconds: Seconds = Field(60, description="members have this long to give up their share")
    poll_seconds: Seconds = Field(300, description="a member that reads nothing for this long loses its share")
    extra: KafkaExtra = KafkaExtra()

    @field_validator("bootstrap_servers")
    @classmethod
    def _are_addresses(cls, servers: tuple[str, ...]) -> tuple[str, ...]:
        for server in servers:
            host, _, port = server.rpartition(":")
            if not host or "/" in host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65_536:
                raise ValueError(f"{server!r} must be host:port, as kafka-1:9092")
        return servers

    @field_validator("sasl_mechanism", "username", "password")
    @classmethod
    def _goes_with_the_protocol(cls, value: object, info: ValidationInfo) -> object:
        protocol = info.data.get("security_protocol", "")
        if protocol.startswith("SASL_") and value is None:
            example = ": PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512" if info.field_name == "sasl_mechanism" else ""
            raise ValueError(f"{info.field_name} is needed with security_protocol {protocol}: add it{example}")
        if protocol and not protocol.startswith("SASL_") and value is not None:
            fit = "SASL_SSL" if protocol == "SSL" else "SASL_SSL or SASL_PLAINTEXT"
            raise ValueError(f"is not used with security_protocol {protocol}: set that to {fit}, or remove this")
        return value

    @field_validator("batch_bytes")
    @classmethod
    def _is_a_message_too(cls, size: int, info: ValidationInfo) -> int:
        most = info.data.get("max_message_bytes")
        if most is not None and size > most:  # brokers measure what is sent together
            raise ValueError(f"batch_bytes ({size}) must be at most max_message_bytes ({most})")
        return size

    @field_validator("tls")
    @classmethod
    def _is_used(cls, tls: KafkaTls, info: ValidationInfo) -> KafkaTls:
        protocol = info.data.get("security_protocol", "")
        if tls.given and protocol.endswith("PLAINTEXT"):
            fit = "SASL_SSL" if protocol.startswith("SASL_") else "SSL"
            raise ValueError(
                f"{', '.join(tls.given)}: not used with security_protocol {protocol}; set that to {fit}, or remove this"
            )
        return tls

    @field_validator("heartbeat_seconds")
    @classmethod
    def _beats_within_a_session(cls, heartbeat: float, info: ValidationInfo) -> float:
        session = info.data.get("session_timeout_seconds")
        if session is not None and heartbeat * 3 > session:
            raise ValueError(
                f"heartbeat_seconds ({heartbeat:g}) must be at most a third of session_timeout_seconds ({session:g})"
            )
        return heartbeat
