"""Say what is wrong with what senders send, without letting them fill the log."""

from __future__ import annotations

import structlog

from collector.clock import Clock

log = structlog.get_logger(__name__)

_EVERY_NS = 10_000_000_000
_MOST = 100  # kinds of complaint remembered


class Complaints:
    """One log line a kind and ten seconds; the next one says how many were held back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[tuple[str, str], tuple[int, int]] = {}

    def say(self, event: str, transport: str, **fields: object) -> None:
        """`event` and `transport` make the kind; `fields` must hold no content."""
        now_ns, kind = self._clock.now_ns(), (event, transport)
        last_ns, held = self._held.get(kind, (-_EVERY_NS, 0))
        if now_ns - last_ns < _EVERY_NS:
            self._held[kind] = (last_ns, held + 1)
            return
        if len(self._held) >= _MOST:
            self._held.clear()
        self._held[kind] = (now_ns, 0)
        log.warning(event, transport=transport, **fields, **({"as_many_before": held} if held else {}))
