"""Questions that waited too long end as `NotJudged`, with what they waited for; so does their session's waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import TypeAlias

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.judge_queue.gate import Waiting
from collector.judge_queue.settling import Settling
from collector.metrics import Metrics
from collector.store.obstacles import Obstacle, Told
from collector.store.store import PendingQuestion, Store

log = structlog.get_logger(__name__)

Why: TypeAlias = Callable[[PendingQuestion, int], Waiting]
"""What a question waits for at this moment."""

_AT_ONCE = 100
_LOOK_S = 10.0


class Expiring:
    """`in_batches`: also those on their way in a batch, whose results nobody is going to collect."""

    def __init__(
        self,
        store: Store,
        settling: Settling,
        metrics: Metrics,
        why: Why,
        *,
        max_wait_s: float,
        in_batches: bool = False,
    ) -> None:
        self._store = store
        self._settling = settling
        self._metrics = metrics
        self._why = why
        self._max_wait_s = max_wait_s
        self._in_batches = in_batches
        self._set_aside: set[str] = set()
        """questions that we failed to end: the next process tries again"""

    async def sweep(self, now_ns: int, but_not: Collection[str] = ()) -> bool:
        """End what waited too long, up to a hundred questions; whether there may be more. Raises
        `StoreUnavailable`."""
        before_ns = now_ns - int(self._max_wait_s * 1e9)
        left_alone = {*but_not, *self._set_aside}
        old = await self._store.old_questions(before_ns, _AT_ONCE, left_alone, in_batches=self._in_batches)
        for pending in await self._settling.readable(old):
            try:
                await self._end(pending, now_ns)
            except StoreUnavailable:
                raise
            except Exception:  # a defect of ours must not keep those behind it waiting
                log.exception("question_set_aside", question=pending.id)
                self._set_aside.add(pending.id)
        await self._tell_how_long(now_ns)
        return len(old) == _AT_ONCE

    async def _tell_how_long(self, now_ns: int) -> None:
        for of_high_risk in (False, True):
            oldest_ns = await self._store.oldest_question_ns(of_high_risk=of_high_risk)
            waited_s = 0.0 if oldest_ns is None else (now_ns - oldest_ns) / 1e9
            self._metrics.judge.oldest_question(waited_s, of_high_risk=of_high_risk)

    async def _end(self, pending: PendingQuestion, now_ns: int) -> None:
        why = self._why(pending, now_ns)
        detail = f"waited {(now_ns - pending.created_ns) / 3.6e12:.1f} h; {why.detail}"
        log.warning("question_expired", question=pending.id, reason=why.reason, detail=detail)
        await self._settling.give_up(pending, why.reason, detail)
        self._metrics.judge.question_expired(why.reason)


class WithoutJudge:
    """All that happens to stored questions where there is no judge to ask: their time runs."""

    def __init__(self, expiring: Expiring, store: Store, why: Waiting, clock: Clock) -> None:
        self._expiring = expiring
        self._store = store
        self._why = why
        self._clock = clock
        self._told = False

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(_LOOK_S)

    async def look(self) -> None:
        try:
            while await self._expiring.sweep(self._clock.now_ns()):
                pass
            if not self._told:
                obstacle = Obstacle(self._why.reason, self._why.detail)
                await self._store.obstacles.tell(Told(self._clock.now_ns(), (obstacle,)))
                self._told = True
        except StoreUnavailable as error:
            log.warning("store_unavailable", error=str(error))
