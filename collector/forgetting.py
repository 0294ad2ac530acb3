"""Delete closed sessions that are too old, or the oldest of more than there may be, a few at a time.

A deletion holds up those who finish sessions meanwhile: when one took long, fewer go at the next. By age everything
goes, for somebody promised that it would. By size nothing goes that is still in use: open questions, verdicts not sent
yet, and what closed a short while ago, whose session may go on.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.metrics import Metrics
from collector.store.retention import Retention, StoreSize
from collector.store_metrics import RemovalReason

log = structlog.get_logger(__name__)

MOST = 200
"""Closings that are deleted at once."""
_LONG_S, _SHORT_S = 0.25, 0.05  # a deletion may take; less than the latter, and more may go at once
_SOON_S, _LATER_S, _AFTER_FAILURE_S = 0.5, 60.0, 10.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """Delete what closed `keep_ns` ago, and the oldest above `max_bytes` (None: however much there is), but for what
    closed less than `settled_ns` ago."""

    keep_ns: int
    max_bytes: int | None
    settled_ns: int


class Forgetting:
    """`run` it in a task of its own."""

    def __init__(self, store: Retention, bounds: Bounds, clock: Clock, metrics: Metrics) -> None:
        self._store = store
        self._bounds = bounds
        self._clock = clock
        self._metrics = metrics.store
        self._at_once = MOST
        self._told = False

    async def run(self) -> None:
        while True:
            pause_s = await self.step()
            await asyncio.sleep(pause_s)

    async def step(self) -> float:
        """Delete once at most; how many seconds later to do so again."""
        try:
            if await self._delete("age", self._clock.now_ns() - self._bounds.keep_ns):
                return _SOON_S
            return await self._below(self._bounds.max_bytes)
        except StoreUnavailable as error:
            # Perhaps the disk is full: to delete little takes little room in the log of changes.
            self._at_once = max(1, self._at_once // 10)
            log.warning("store_unavailable", error=str(error), during="deleting old sessions")
            return _AFTER_FAILURE_S

    async def _below(self, max_bytes: int | None) -> float:
        size = await self._measured()
        if max_bytes is None or size.on_disk <= max_bytes:
            return self._fits()
        if size.used <= max_bytes:
            more = await self._store.give_back()
            await self._measured()
            return _SOON_S if more else self._fits()
        if await self._delete("size", self._clock.now_ns() - self._bounds.settled_ns, only_done=True):
            return _SOON_S
        return self._too_much(size, max_bytes)

    async def _measured(self) -> StoreSize:
        size = await self._store.size()
        self._metrics.size(size.on_disk, size.used, self._bounds.max_bytes)
        return size

    async def _delete(self, reason: RemovalReason, before_ns: int, *, only_done: bool = False) -> int:
        began_ns = self._clock.steady_ns()
        deleted = await self._store.purge(before_ns, self._at_once, only_done=only_done)
        if deleted:
            self._pace((self._clock.steady_ns() - began_ns) / 1e9)
            self._metrics.removed(reason, deleted)
            log.info("old_sessions_deleted", sessions=deleted, reason=reason)
        return deleted

    def _pace(self, took_s: float) -> None:
        if took_s > _LONG_S:
            self._at_once = max(1, self._at_once // 2)
        elif took_s < _SHORT_S:
            self._at_once = min(MOST, self._at_once * 2)

    def _fits(self) -> float:
        self._told = False
        return _LATER_S

    def _too_much(self, size: StoreSize, max_bytes: int) -> float:
        if not self._told:
            log.warning(
                "store_above_max_bytes",
                used_bytes=size.used,
                max_bytes=max_bytes,
                what="nothing more may be deleted yet: open questions, verdicts not sent, sessions closed just now",
            )
        self._told = True
        return _LATER_S
