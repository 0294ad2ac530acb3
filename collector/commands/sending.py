"""Sending recorded requests to a running server, one after the other, each until it is taken or refused for good."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.exporters.otlp import Sender
from collector.exporters.otlp_status import CREDENTIALS_REFUSED, Request
from collector.exporting import Delivered, Later, Rejected
from collector.recordings import Recorded

MAX_ATTEMPTS = 6
FIRST_WAIT_S = 0.5
MAX_WAIT_S = 10.0


@dataclass(slots=True)
class Totals:
    """What became of the spans and records sent: `items` = `taken` + `rejected`."""

    requests: int = 0
    items: int = 0
    taken: int = 0
    rejected: int = 0
    retries: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return self.rejected == 0 and not self.problems


class Unreachable(Exception):
    """Nobody took anything, however often it was tried; the rest would fare no better."""


class NotLetIn(Unreachable):
    """The server wants a token or certificate that it was not shown; asking again changes nothing."""


async def send(
    sender: Sender,
    recorded: Recorded,
    totals: Totals,
    told: Callable[[str], None],
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Send one request and count what became of it. `told` hears of retries.

    Waits (by `pause`) as long as the server asks (RetryInfo, Retry-After), else ever longer. Raises `Unreachable`
    when it was not taken after `MAX_ATTEMPTS` tries, and `NotLetIn` at once.
    """
    totals.requests += 1
    totals.items += recorded.items
    try:
        request = _message(recorded)
    except DecodeError as error:
        _refused(totals, recorded, f"is no OTLP request: {error}")
        return
    for attempt in range(1, MAX_ATTEMPTS + 1):
        match await sender.send(recorded.signal, request):
            case Delivered(rejected, detail):
                totals.taken += recorded.items - rejected
                totals.rejected += rejected
                if rejected or detail:
                    totals.problems.append(f"{recorded.where}: {rejected} of {recorded.items} not taken: {detail}")
                return
            case Rejected(reason, detail):
                _refused(totals, recorded, f"{reason}: {detail}")
                return
            case Later(reason, detail) if reason in CREDENTIALS_REFUSED:
                _refused(totals, recorded, f"{reason}: {detail}")
                raise NotLetIn(f"{reason}: {detail}")
            case Later(reason, detail, after_s):
                if attempt == MAX_ATTEMPTS:
                    _refused(totals, recorded, f"not taken after {attempt} tries: {reason}: {detail}")
                    raise Unreachable(f"{reason}: {detail}")
                wait_s = min(MAX_WAIT_S, FIRST_WAIT_S * 2 ** (attempt - 1)) if after_s is None else after_s
                totals.retries += 1
                told(f"{recorded.where}: {reason}: {detail or 'no reason given'}; again in {wait_s:g} s")
                await pause(wait_s)


def _refused(totals: Totals, recorded: Recorded, why: str) -> None:
    totals.rejected += recorded.items
    totals.problems.append(f"{recorded.where}: {why}")


def _message(recorded: Recorded) -> Request:
    kind = ExportTraceServiceRequest if recorded.signal == "traces" else ExportLogsServiceRequest
    return kind.FromString(recorded.payload)
