"""What the OTLP receivers hand requests to: this process's journal, or Kafka."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from collector.ingest import Receipt
from collector.journal.rows import Signal


class Intake(Protocol):
    def problem(self) -> str | None:
        """Why nothing can be taken just now; None when all is well."""

    def admit(self, size: int) -> None:
        """Raises `Refused` when a request of this many bytes has no room now. Cheap."""

    def arriving(self) -> AbstractContextManager[Callable[[int], None]]:
        """While a body is being received: call for each part with its bytes. Raises `Refused`."""

    async def accept(self, signal: Signal, request: bytes, tenant: str = "") -> Receipt:
        """Take an uncompressed Export{Trace,Logs}ServiceRequest; durable on return.

        Raises `Malformed`, `TooLarge`, or `Refused` when it should be sent again.
        """
