"""Where in the telemetry a fact was read, so that a verdict can hang beside it in a trace viewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Anchor:
    """A span, or a log record. Ids are hex text and None when the record is not tied to a span.

    `record` is `LogRecord.position`, for `signal == "record"`; None for a span.
    """

    signal: Literal["span", "record"]
    trace_id: str | None
    span_id: str | None
    record: int | None = None

    @property
    def ref(self) -> str:
        """Text that names this place within its session; the same on every run."""
        place = f"{self.trace_id or '-'}/{self.span_id or '-'}"
        return f"span:{place}" if self.signal == "span" else f"record:{place}:{self.record}"
