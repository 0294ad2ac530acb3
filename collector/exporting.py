"""Deliver verdicts from the durable outbox to one exporter, in batches, for as long as it takes.

What cannot be delivered now waits in the store; what the receiver refuses for good is counted, logged, and not sent
again. A batch is retried later than the next batch is tried, so that one batch nobody can swallow (too slow to
process, say) does not stand in the way of the others.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.metrics import Metrics
from collector.store.store import OutboxItem, Store
from judge.verdict import Judged

_log = structlog.get_logger(__name__)

_EVER_NS = 2**63 - 1

EXPORTER_ERROR = "exporter_error"
"""Reason when an exporter raised: a bug, perhaps about one item."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has taken the batch but for `rejected` items, which it will never take (`detail` says why)."""

    rejected: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Later:
    """Not delivered, may well be later; not before `after_s` seconds if the receiver said so."""

    reason: str
    detail: str
    after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """Will not be taken however often it is sent. `by_item`: the fault is some item's, others may be fine."""

    reason: str
    detail: str
    by_item: bool = True


Outcome: TypeAlias = Delivered | Later | Rejected


class Exporter(Protocol):
    """Where verdicts go. `send` may see a verdict again, under the same id, after a crash or a retry."""

    @property
    def name(self) -> str:
        """Names its outbox; must not change between restarts."""

    async def send(self, judged: Sequence[Judged]) -> Outcome: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait after so many failures in a row: doubling from `first_s`, at most `max_s`, with jitter."""

    first_s: float = 0.5
    max_s: float = 60.0

    def wait_s(self, failures: int, chance: float) -> float:
        """`failures` from 1; `chance` is 0..1. Between half of the full wait and all of it."""
        full = min(self.max_s, self.first_s * 2.0 ** min(failures - 1, 30))
        return full * (0.5 + chance / 2)


class Exporting:
    """Drains one exporter's outbox. `run` it in a task of its own, `poke` it when something was queued."""

    def __init__(
        self,
        store: Store,
        exporter: Exporter,
        clock: Clock,
        metrics: Metrics,
        *,
        backoff: Backoff = Backoff(),
        batch: int = 200,
        idle_s: float = 1.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._store = store
        self._exporter = exporter
        self._clock = clock
        self._metrics = metrics
        self._backoff = backoff
        self._batch = batch
        self._idle_s = idle_s
        self._chance = chance
        self._poked = asyncio.Event()
        self._failures = 0
        self._settled: list[str] = []
        """delivered or refused, and not yet taken out of the outbox"""

    @property
    def name(self) -> str:
        """Of the exporter."""
        return self._exporter.name

    def poke(self) -> None:
        """Something was queued: look at once. Does not cut short the wait after a failure."""
        self._poked.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set; the batch under way is finished first."""
        while not stop.is_set():
            self._poked.clear()
            pause_s = await self._step(self._clock.now_ns())
            if pause_s is None:
                await _any_of((stop, self._poked), self._idle_s)
            elif pause_s > 0:
                await _any_of((stop,), pause_s)

    async def drain(self, deadline_ns: int) -> int:
        """Send what is queued, waiting or not, until the deadline or the first failure. Call it when `run` has
        ended. Returns how many verdicts stay queued for the next start; raises `StoreUnavailable`."""
        try:
            async with asyncio.timeout(max(0, deadline_ns - self._clock.now_ns()) / 1e9):
                while await self._step(_EVER_NS) == 0:
                    pass
        except TimeoutError:
            _log.warning("export_cut_short", exporter=self._exporter.name)
        return await self._store.outbox_size(self._exporter.name)

    async def _step(self, due_ns: int) -> float | None:
        """One batch. How long to pause before the next, 0 after progress, None when nothing was due."""
        name = self._exporter.name
        try:
            await self._unqueue_settled()
            items = await self._store.due_exports(name, due_ns, self._batch)
            failure = await self._deliver(items)
            await self._unqueue_settled()
            if failure is None and items:
                return 0
            self._metrics.export_pending(name, await self._store.outbox_size(name))
        except StoreUnavailable as error:
            failure = Later(error.reason, str(error), error.retry_after_s)
        if failure is None:
            return None
        return max(self._wait_s(self._failures) / 2, failure.after_s or 0)

    async def _deliver(self, items: Sequence[OutboxItem]) -> Later | None:
        """Send the items; a batch refused because of some item is halved until that item is alone."""
        if not items:
            return None
        outcome = await self._send([item.judged for item in items])
        match outcome:
            case Delivered():
                self._delivered(items, outcome)
                return None
            case Rejected(by_item=True) if len(items) > 1:
                return await self._deliver_halves(items)
            case Rejected(reason, detail):
                self._give_up(items, reason, detail)
                return None
            case Later() if outcome.reason == EXPORTER_ERROR and len(items) > 1:
                return await self._deliver_halves(items)
            case Later():
                await self._postpone(items, outcome)
                return outcome

    async def _deliver_halves(self, items: Sequence[OutboxItem]) -> Later | None:
        half = len(items) // 2
        failure = await self._deliver(items[:half])
        if failure is not None and failure.reason != EXPORTER_ERROR:
            return failure  # the receiver is not there; the other half stays due
        return await self._deliver(items[half:]) or failure

    async def _send(self, judged: Sequence[Judged]) -> Outcome:
        try:
            return await self._exporter.send(judged)
        except Exception as error:  # noqa: BLE001 - a bug in an exporter must not lose its outbox
            if len(judged) == 1:  # a larger batch is halved and comes by again
                _log.exception("exporter_error", exporter=self._exporter.name, verdict=judged[0].id)
            return Later(EXPORTER_ERROR, f"{type(error).__name__}: {error}")

    def _delivered(self, items: Sequence[OutboxItem], outcome: Delivered) -> None:
        name = self._exporter.name
        if self._failures:
            _log.info("export_recovered", exporter=name, after_failures=self._failures)
        self._failures = 0
        self._settle(items)
        now_ns = self._clock.now_ns()
        self._metrics.export_sent(name, len(items) - min(outcome.rejected, len(items)), now_ns)
        self._metrics.export_lag(name, [(now_ns - item.created_ns) / 1e9 for item in items])
        if outcome.rejected:
            self._metrics.export_failed(name, "partial_success", outcome.rejected)
        if outcome.detail:
            _log.warning("export_partial", exporter=name, rejected=outcome.rejected, detail=outcome.detail)

    def _give_up(self, items: Sequence[OutboxItem], reason: str, detail: str) -> None:
        self._settle(items)
        self._metrics.export_failed(self._exporter.name, reason, len(items))
        _log.error("export_refused", exporter=self._exporter.name, verdicts=len(items), reason=reason, detail=detail)

    async def _postpone(self, items: Sequence[OutboxItem], later: Later) -> None:
        self._failures += 1
        wait_s = max(self._wait_s(self._failures), later.after_s or 0)
        name = self._exporter.name
        self._metrics.export_retried(name, later.reason)
        _log.warning(
            "export_postponed", exporter=name, reason=later.reason, detail=later.detail, wait_s=round(wait_s, 1)
        )
        next_ns = self._clock.now_ns() + round(wait_s * 1e9)
        await self._store.postpone_exports(name, [item.judged.id for item in items], next_ns)

    def _wait_s(self, failures: int) -> float:
        return self._backoff.wait_s(max(1, failures), self._chance())

    def _settle(self, items: Sequence[OutboxItem]) -> None:
        self._settled.extend(item.judged.id for item in items)

    async def _unqueue_settled(self) -> None:
        """Kept in memory until the store has it, so that a store that fails here does not cause a second sending."""
        if self._settled:
            await self._store.mark_exported(self._exporter.name, self._settled)
            self._settled = []


async def _any_of(events: Sequence[asyncio.Event], within_s: float) -> None:
    """Return when one of the events is set, at the latest after so many seconds."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
