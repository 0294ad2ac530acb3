"""Live traffic beside the current baseline of each service, as metrics, worked out from what is new in the store."""

from __future__ import annotations

import asyncio

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.metrics import Metrics
from collector.store.baselines import Seen
from collector.store.store import Store
from judge.significance import Count
from judge.yardstick import Yardstick

log = structlog.get_logger(__name__)

_HOUR_NS = 3_600 * 1_000_000_000
_INTERVAL_S = 15.0

_Hourly = tuple[int, str, str, Yardstick]
"""hour, service, agent version, yardstick"""


class BaselineWatch:
    """`hours` is how far back live traffic is looked at, by when sessions closed. Each look reads only verdicts that
    are new since the one before; without a current baseline nothing is read at all."""

    def __init__(self, store: Store, clock: Clock, metrics: Metrics, *, hours: int) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._hours = hours
        self._services: frozenset[str] = frozenset()
        self._seen = Seen()
        self._counts: dict[_Hourly, Count] = {}

    def look_back(self, hours: int) -> None:
        """From the next look on."""
        self._hours = hours

    async def run(self) -> None:
        while True:
            try:
                await self.look()
            except StoreUnavailable as error:
                log.warning("store_unavailable", error=str(error))
            await asyncio.sleep(_INTERVAL_S)

    async def look(self) -> None:
        """Set the gauges. Raises `StoreUnavailable`, and then they stay as they were."""
        baselines = await self._store.baselines.counts()
        if self._services != baselines.keys():
            self._services, self._seen, self._counts = frozenset(baselines), Seen(), {}
        first_hour = self._clock.now_ns() // _HOUR_NS - self._hours + 1
        if baselines:
            await self._read(first_hour)
        self._counts = {key: count for key, count in self._counts.items() if key[0] >= first_hour}
        live: dict[tuple[str, str], dict[Yardstick, Count]] = {}
        for (_, service, version, yardstick), count in self._counts.items():
            rates = live.setdefault((service, version), {})
            rates[yardstick] = rates.get(yardstick, Count()) + count
        self._metrics.baselines.show(baselines, live)

    async def _read(self, first_hour: int) -> None:
        found = await self._store.baselines.live_counts(self._services, self._seen, first_hour * _HOUR_NS)
        for one in found.counts:
            key = (one.hour, one.service, one.agent_version, one.yardstick)
            self._counts[key] = self._counts.get(key, Count()) + one.count
        self._seen = found.seen
