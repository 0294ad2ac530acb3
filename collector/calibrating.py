"""Pass rates as metrics, worked out anew now and then from what the store has."""

from __future__ import annotations

import asyncio

import structlog

from collector.calibration import calibrations, pass_rates
from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.metrics import Metrics
from collector.store.store import Store
from judge.calibration import Minimum

log = structlog.get_logger(__name__)


class Calibrating:
    """`window_s` is how far back rates look, by when sessions closed; accuracy is that of all labels."""

    def __init__(
        self, store: Store, clock: Clock, metrics: Metrics, *, window_s: float, interval_s: float, minimum: Minimum
    ) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._window_ns = int(window_s * 1e9)
        self._interval_s = interval_s
        self._minimum = minimum

    async def run(self) -> None:
        while True:
            try:
                await self.look()
            except StoreUnavailable as error:
                log.warning("store_unavailable", error=str(error))
            await asyncio.sleep(self._interval_s)

    async def look(self) -> None:
        """Set the gauges. Raises `StoreUnavailable`, and then they stay as they were."""
        labels, rates = self._store.labels, self._metrics.rates
        given = await labels.given()
        of_labelled = await labels.counts(None, {one.yardstick.evaluator for one in given}) if given else []
        counts = await labels.counts(self._clock.now_ns() - self._window_ns)
        # In a thread: the first time, the statistics take seconds to load. Not under fewer labels than it takes.
        known = await asyncio.to_thread(calibrations, given, of_labelled, self._minimum)
        rates.show(await asyncio.to_thread(pass_rates, counts, known, rates.key))
