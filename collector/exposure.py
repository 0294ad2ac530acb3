"""What a configuration leaves open to the network: told at the start and by `check-config`, and refused by neither, for
a mesh or proxy may do what we are not asked to do (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from collector.access.own_origin import is_loopback
from collector.config import Config, Listener, OtlpExport, StoreSettings
from collector.judge_config import JudgeSettings
from collector.kafka.settings import KafkaSettings

_PROXIED = "unless a mesh or proxy in front does it"
_CHECKED = {"verify-ca", "verify-full"}  # of PostgreSQL's sslmode: those that look whose certificate it is


@dataclass(frozen=True, slots=True)
class Exposure:
    """`key` is where it is set, `message` says what is open and what to set."""

    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}"


def exposures(config: Config) -> tuple[Exposure, ...]:
    """In the order of the configuration's sections."""
    found: list[Exposure] = []
    receivers = config.receivers
    if config.role in {"all", "receiver"}:
        for name, listener in (("grpc", receivers.grpc), ("http", receivers.http)):
            found += _of_receiver(f"receivers.{name}", listener, receivers.auth is not None)
    found += _of_admin(config)
    if config.role in {"all", "worker"}:
        found += [*_of_export(config.export.otlp), *_of_judge(config.judge), *_of_store(config.store)]
    if config.kafka is not None:
        found += _of_kafka(config.kafka)
    return tuple(found)


def _of_receiver(key: str, listener: Listener, asks_for_tokens: bool) -> Iterator[Exposure]:
    if not _is_open(listener):
        return
    at = f"{key}.listen"
    if listener.tls is None:
        yield Exposure(at, f"{listener.listen} takes telemetry in plain text: set {key}.tls, {_PROXIED}")
    mutual = listener.tls is not None and listener.tls.client_ca_file is not None
    if not asks_for_tokens and not mutual:
        yield Exposure(
            at,
            f"{listener.listen} takes telemetry of anybody: set receivers.auth.tokens_file or "
            f"{key}.tls.client_ca_file, {_PROXIED}",
        )


def _of_admin(config: Config) -> Iterator[Exposure]:
    if not _is_open(config.admin):
        return
    at, listen = "admin.listen", config.admin.listen
    if config.admin.tls is None:
        yield Exposure(at, f"{listen} serves metrics, page and API in plain text: set admin.tls, {_PROXIED}")
    if not config.access.configured:
        yield Exposure(
            at,
            f"{listen} lets nobody see page and API, and everybody see metrics: set access.tokens_file, or "
            "access.proxy",
        )


def _of_export(export: OtlpExport | None) -> Iterator[Exposure]:
    if export is None or not _is_plain(export.endpoint):
        return
    if export.headers or export.bearer_token_file is not None:
        yield Exposure(
            "export.otlp.endpoint",
            f"{export.endpoint} is sent headers or a token in plain text: write https://, {_PROXIED}",
        )


def _of_judge(judge: JudgeSettings) -> Iterator[Exposure]:
    if judge.base_url is not None and _is_plain(judge.base_url):
        yield Exposure(
            "judge.base_url",
            f"{judge.base_url} is asked in plain text, with the key and what agents did: write https://, {_PROXIED}",
        )


def _of_store(store: StoreSettings) -> Iterator[Exposure]:
    if store.url is None:
        return
    from collector.store.postgres_url import postgres_url  # slow, and seldom needed

    url = postgres_url(store.url.get_secret_value())
    given = url.normalized_query
    hosts = [*given.get("host", ()), url.host or ""]
    local = all(not host or host.startswith("/") or is_loopback(f"{host}:0") for host in hosts)
    if not local and not _CHECKED.issuperset(given.get("sslmode", ("prefer",))):
        yield Exposure(
            "store.url",
            f"the database may be another, or be reached in plain text: add sslmode=verify-full, {_PROXIED}",
        )


def _of_kafka(kafka: KafkaSettings) -> Iterator[Exposure]:
    if kafka.security_protocol == "SASL_PLAINTEXT" and not all(map(is_loopback, kafka.bootstrap_servers)):
        yield Exposure(
            "kafka.security_protocol", f"brokers are sent user and password in plain text: set SASL_SSL, {_PROXIED}"
        )


def _is_plain(url: str) -> bool:
    """Whether what is sent there can be read on the way."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(f"{parts.hostname or ''}:0")


def _is_open(listener: Listener) -> bool:
    return listener.enabled and not is_loopback(listener.listen)
