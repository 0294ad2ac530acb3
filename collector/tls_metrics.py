"""Certificates, and files that could not be taken. A part of `collector.metrics.Metrics`, which declares and
documents."""

from __future__ import annotations

from typing import get_args

from collector.errors import Denial
from collector.judge_metrics import Declare, DeclareGauge

_TRANSPORTS = ("grpc", "http")


class TlsMetrics:
    def __init__(self, counter: Declare, gauge: DeclareGauge) -> None:
        self._expiry = gauge(
            "tls_certificate_expiry_timestamp_seconds",
            "When the certificate that a listener (grpc, http, admin) shows expires, Unix time",
            "listener",
        )
        self._unusable = gauge(
            "credential_files_unusable",
            "1 while what is in files of certificates or tokens (by key of the configuration) cannot be used, and what "
            "was in them before is used instead; the log and /readyz say what is wrong",
            "key",
        )
        self._replaced = counter(
            "credential_files_replaced_total", "Times that new certificates or tokens were taken from files", "key"
        )
        self._denied = counter(
            "requests_denied_total",
            "OTLP requests turned away for their bearer token: missing, malformed, unknown, read_only (it may not "
            "send), tenant (it may not send for the tenant named)",
            "transport",
            "reason",
        )

    def expires(self, listener: str, at_s: float) -> None:
        self._expiry.labels(listener).set(at_s)

    def watched(self, key: str) -> None:
        """These files are looked at, and were sound at the start."""
        self._unusable.labels(key).set(0)
        self._replaced.labels(key)

    def usable(self, key: str, yes: bool) -> None:
        self._unusable.labels(key).set(0 if yes else 1)

    def replaced(self, key: str) -> None:
        self._replaced.labels(key).inc()

    def authenticating(self) -> None:
        """Tokens are asked for: `rate()` needs a zero to start from."""
        for transport in _TRANSPORTS:
            for reason in get_args(Denial):
                self._denied.labels(transport, reason)

    def denied(self, transport: str, reason: Denial) -> None:
        self._denied.labels(transport, reason).inc()
