"""Failures of gates that were kept just before the process began: it may have ended before anybody scraped them."""

from __future__ import annotations

import asyncio

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.gate_metrics import GateMetrics
from collector.store.store import Store, VerdictFilter
from judge.gate_failures import FAILING
from judge.verdict import Judged

log = structlog.get_logger(__name__)

_HOUR_NS = 3_600 * 1_000_000_000
_AGAIN_S = 5.0
_MOST = 2_000
"""Of one label, the newest. Those of ordinary risk are among them, and left out."""


async def recall(store: Store, clock: Clock, gates: GateMetrics) -> None:
    """Tell of all that were judged within the last hour. Waits for a store that is away."""
    since_ns = clock.now_ns() - _HOUR_NS
    for evaluator, labels in FAILING.items():
        for label in sorted(labels):
            where = VerdictFilter(evaluator=evaluator, label=label, since_ns=since_ns, limit=_MOST)
            for judged in await _found(store, where):
                gates.recall(judged)


async def _found(store: Store, where: VerdictFilter) -> list[Judged]:
    while True:
        try:
            return await store.find_verdicts(where)
        except StoreUnavailable as error:
            log.warning("store_unavailable", error=str(error))
            await asyncio.sleep(_AGAIN_S)
