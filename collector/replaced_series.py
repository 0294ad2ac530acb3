"""A gauge that is told as a whole, again and again: series that stay are never gone, not even for a scrape that comes
in between, and those that are not told any more go."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import Gauge


class ReplacedSeries:
    """Nobody else sets the gauge."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._told: frozenset[tuple[str, ...]] = frozenset()

    def tell(self, values: Mapping[tuple[str, ...], float]) -> None:
        """By the values of the labels, in their order."""
        for labels, value in values.items():
            self._gauge.labels(*labels).set(value)
        for gone in self._told - values.keys():
            self._gauge.remove(*gone)
        self._told = frozenset(values)
