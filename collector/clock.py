"""What time it is. Only `collector` holds a clock; pure code is given `now_ns`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """`now_ns` is wall time in nanoseconds since the Unix epoch and never goes backward within the process.

    `steady_ns` began as wall time and goes on at the pace of the world, however the wall clock is set meanwhile: what
    waits for a time to pass goes by it. Instants of the two are not to be compared.
    """

    def now_ns(self) -> int: ...

    def steady_ns(self) -> int: ...

    def stepped_ns(self) -> int:
        """By how much the wall clock has been set forward (or backward, below zero) since the start."""


class SystemClock:
    """The machine's clocks; the one for wall time is held still while it would go backward (an NTP step must not
    reopen the past)."""

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns
        self._anchor_ns = wall_ns() - monotonic_ns()
        self._latest_ns = 0

    def now_ns(self) -> int:
        self._latest_ns = max(self._latest_ns, self._wall_ns())
        return self._latest_ns

    def steady_ns(self) -> int:
        return self._anchor_ns + self._monotonic_ns()

    def stepped_ns(self) -> int:
        return self._wall_ns() - self.steady_ns()
