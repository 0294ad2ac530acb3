"""What time it is. Only `collector` holds a clock; pure code is given `now_ns`."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """`now_ns` is wall time in nanoseconds since the Unix epoch and never goes backward within the process."""

    def now_ns(self) -> int: ...


class SystemClock:
    """The machine's clock, held still while it would go backward (an NTP step must not reopen the past)."""

    def __init__(self) -> None:
        self._latest_ns = 0

    def now_ns(self) -> int:
        self._latest_ns = max(self._latest_ns, time.time_ns())
        return self._latest_ns
