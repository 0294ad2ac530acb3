"""What a configuration leaves open to the network: told at the start and by `check-config`, and refused by neither, for
a mesh or proxy may do what we are not asked to do (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from collector.access.own_origin import is_loopback
from collector.config import Config, Listener, OtlpExport

_PROXIED = "unless a mesh or proxy in front does it"


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
    if config.export.otlp is not None and config.role in {"all", "worker"}:
        found += _of_export(config.export.otlp)
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


def _of_export(export: OtlpExport) -> Iterator[Exposure]:
    parts = urlsplit(export.endpoint)
    if parts.scheme != "http" or is_loopback(f"{parts.hostname or ''}:0"):
        return
    if export.headers or export.bearer_token_file is not None:
        yield Exposure(
            "export.otlp.endpoint",
            f"{export.endpoint} is sent headers or a token in plain text: write https://, {_PROXIED}",
        )


def _is_open(listener: Listener) -> bool:
    return listener.enabled and not is_loopback(listener.listen)
