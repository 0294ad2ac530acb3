"""How many questions may be asked at the same time, and how many a minute.

The service's limits are not known and change. So the number grows by one for each round of answers and is halved
when the service is in trouble, as congestion control does in networks.
"""

from __future__ import annotations

_MINUTE_NS = 60 * 1_000_000_000
_FIRST = 4


class Concurrency:
    """Between 1 and `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(min(most, _FIRST))
        self._lowered_ns = -1

    @property
    def limit(self) -> int:
        return int(self._limit)

    def answered(self) -> None:
        self._limit = min(float(self._most), self._limit + 1 / self._limit)

    def overloaded(self, began_ns: int, now_ns: int) -> None:
        """A call that began at `began_ns` failed. Calls that were already on their way when the number was last
        lowered say nothing new."""
        if began_ns > self._lowered_ns:
            self._limit = max(1.0, self._limit / 2)
            self._lowered_ns = now_ns


class Pace:
    """At most `per_minute` questions a minute, spread evenly; None sets no bound."""

    def __init__(self, per_minute: float | None) -> None:
        self._per_minute = per_minute
        self._burst = max(1.0, (per_minute or 0) / 60)  # what fits into a second may come at once
        self._saved = self._burst
        self._seen_ns: int | None = None

    def room(self, now_ns: int) -> int | None:
        """How many may begin now; None for any number."""
        if self._per_minute is None:
            return None
        self._save(now_ns)
        return int(self._saved + 1e-9)

    def begins(self, now_ns: int) -> None:
        if self._per_minute is not None:
            self._save(now_ns)
            self._saved -= 1

    def _save(self, now_ns: int) -> None:
        passed_ns = 0 if self._seen_ns is None else max(0, now_ns - self._seen_ns)
        self._seen_ns = now_ns if self._seen_ns is None else max(now_ns, self._seen_ns)
        self._saved = min(self._burst, self._saved + passed_ns * (self._per_minute or 0) / _MINUTE_NS)
