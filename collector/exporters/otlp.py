"""Verdicts to an OTLP receiver, usually the Collector's verdict pipeline: as spans, as events, or as both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from collector.config import OtlpExport
from collector.exporters.otlp_grpc import GrpcSender
from collector.exporters.otlp_http import HttpSender
from collector.exporters.otlp_status import Request, Signal
from collector.exporting import Delivered, Later, Outcome, Rejected
from collector.otlp.encode import verdict_events, verdict_spans
from collector.tls.export_credentials import ExportCredentials
from judge.masking import masked_judged
from judge.redaction import NOTHING, Redaction
from judge.verdict import Judged

NOT_SERVED = ("unimplemented", "not_found", "http_404", "http_405")
"""The endpoint does not know the signal, or is no OTLP endpoint."""


class Sender(Protocol):
    """One transport. Never raises for what the network or the receiver does, and repeats none of our secrets."""

    @property
    def credentials(self) -> ExportCredentials: ...

    async def send(self, signal: Signal, request: Request) -> Outcome: ...

    async def close(self) -> None: ...


class OtlpExporter:
    """A `collector.exporting.Exporter`.

    The two signals travel in two requests. What was taken of one is remembered (in memory) until the other is
    taken too, so that a retry sends only what is missing.
    """

    name = "otlp"

    def __init__(self, settings: OtlpExport, version: str = "", redaction: Redaction = NOTHING) -> None:
        """Does not connect. Raises `ValueError` for an endpoint that is not an http:// or https:// URL."""
        self._version = version
        self._redaction = redaction
        self._sender: Sender = GrpcSender(settings) if settings.protocol == "grpc" else HttpSender(settings)
        encoders: Mapping[Signal, Callable[[Sequence[Judged], str], Request]] = {
            "traces": verdict_spans,
            "logs": verdict_events,
        }
        wanted = {"traces": settings.spans, "logs": settings.events}
        self._encoders = {signal: encode for signal, encode in encoders.items() if wanted[signal]}
        self._taken: dict[Signal, set[str]] = {signal: set() for signal in self._encoders}

    async def send(self, judged: Sequence[Judged]) -> Outcome:
        rejected = 0
        remarks: list[str] = []
        for number, signal in enumerate(self._encoders):
            outcome = await self._send_missing(signal, judged)
            match outcome:
                case Rejected(reason=reason, detail=detail) if reason in NOT_SERVED and number == 0:
                    # More likely a wrong address than a receiver that will never want verdicts: keep them.
                    return Later(reason, f"{signal}: {detail}; check export.otlp.endpoint")
                case Rejected(reason=reason, detail=detail) if reason in NOT_SERVED:
                    remarks.append(f"the endpoint takes no {signal} ({detail}); set export.otlp.events: false")
                case Delivered():
                    rejected = max(rejected, outcome.rejected)
                    remarks += [outcome.detail] if outcome.detail else []
                case Rejected() if len(judged) == 1:
                    self._forget(judged)
                    return outcome
                case _:
                    return outcome
        self._forget(judged)
        return Delivered(rejected, "; ".join(remarks))

    async def close(self) -> None:
        await self._sender.close()

    async def _send_missing(self, signal: Signal, judged: Sequence[Judged]) -> Outcome:
        missing = [item for item in judged if item.id not in self._taken[signal]]
        # Elsewhere: a batch takes tens of milliseconds, and the event loop has telemetry to take.
        request = await asyncio.to_thread(self._encoded, signal, missing)
        if request is None:
            return Delivered()
        outcome = await self._sender.send(signal, request)
        if isinstance(outcome, Delivered):
            self._taken[signal].update(item.id for item in missing)
        return outcome

    def _encoded(self, signal: Signal, judged: Sequence[Judged]) -> Request | None:
        """None when there is nothing to say about them."""
        # Masked before encoding, which cuts long texts: half a secret would not be known for one.
        masked = [masked_judged(item, self._redaction) for item in judged]
        request = self._encoders[signal](masked, self._version)
        return request if request.ByteSize() else None

    def _forget(self, judged: Sequence[Judged]) -> None:
        for taken in self._taken.values():
            taken.difference_update(item.id for item in judged)
