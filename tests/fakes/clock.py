"""A clock that moves only when told to."""

from __future__ import annotations

SECOND_NS = 1_000_000_000


class FakeClock:
    """A `collector.clock.Clock` that starts at a fixed instant (2026-01-01 UTC unless told) and stands still."""

    def __init__(self, now_ns: int = 1_767_225_600 * SECOND_NS) -> None:
        self._now_ns = self._steady_ns = now_ns

    def now_ns(self) -> int:
        return self._now_ns

    def steady_ns(self) -> int:
        return self._steady_ns

    def stepped_ns(self) -> int:
        return self._now_ns - self._steady_ns

    def advance(self, seconds: float) -> int:
        """Move on by so many seconds and return the new instant."""
        if seconds < 0:
            raise ValueError("a clock does not go backward")
        self._now_ns += round(seconds * SECOND_NS)
        self._steady_ns += round(seconds * SECOND_NS)
        return self._now_ns

    def step(self, seconds: float) -> None:
        """Somebody sets the wall clock, forward or backward; no time passes."""
        self._now_ns += round(seconds * SECOND_NS)
