"""Questions sent together in message batches, for half the price, and their answers collected up to a day later.

What is in a batch is written down before anything else happens, so a restart finds its batches again. A batch that
the service took in the moment of a crash, before we knew its name, is the one that is asked twice.
"""

from __future__ import annotations

import asyncio

import structlog

from collector.errors import StoreUnavailable
from collector.judge_queue.batch_collecting import BatchCollecting, let_go
from collector.judge_queue.batch_judge import BatchRules
from collector.judge_queue.batch_sending import BatchSending
from collector.metrics import Metrics
from collector.store.ledger import Ledger

log = structlog.get_logger(__name__)

_RETRY_S = 5.0


class Batching:
    """Where batches are not sent any more, those on their way are collected, and then there is nothing left to do."""

    def __init__(
        self, ledger: Ledger, sending: BatchSending, collecting: BatchCollecting, rules: BatchRules, metrics: Metrics
    ) -> None:
        self._ledger = ledger
        self._sending = sending
        self._collecting = collecting
        self._rules = rules
        self._metrics = metrics

    async def run(self) -> None:
        while True:
            if not await self.look() and not self._rules.sends:
                return
            await asyncio.sleep(self._rules.poll_s)

    async def look(self) -> bool:
        """Collect what has come, send what waits; whether there may be batches on their way."""
        try:
            for batch in await self._ledger.batches():
                await self._collecting.collect(batch)
            under_way = len(await self._ledger.batches())
            self._metrics.judge.batches_open(under_way)
            if self._rules.sends and under_way < self._rules.max_open:
                await self._sending.send()
        except StoreUnavailable as error:
            log.warning("store_unavailable", error=str(error))
            return True
        return under_way > 0


class LettingGo:
    """In place of `Batching` where the judge is one that has no batches: those of an earlier configuration are with a
    service that is not asked any more."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def run(self) -> None:
        while True:
            if await self.look():
                return
            await asyncio.sleep(_RETRY_S)

    async def look(self) -> bool:
        """Whether all are let go."""
        try:
            for batch in await self._ledger.batches():
                await let_go(self._ledger, batch)
        except StoreUnavailable as error:
            log.warning("store_unavailable", error=str(error))
            return False
        return True
