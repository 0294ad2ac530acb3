"""Put the stored questions to the judge, a few at a time, in order of risk and age, and keep the answers.

A question stays in the store until it has a verdict: with the judge away nothing is lost, and nothing that was not
answered becomes a score. Asking itself is in `judge_queue`.
"""

from __future__ import annotations

import asyncio

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.judge_queue.gate import Gate, Waiting
from collector.judge_queue.keeping import Keeping
from collector.judge_queue.prefixes import Prefixes
from collector.judge_queue.terms import Terms
from collector.judge_queue.turns import Turns
from collector.metrics import Metrics
from collector.store.store import Held, PendingQuestion, Store

log = structlog.get_logger(__name__)

_LOOK_S = 1.0
_SWEEP_NS = 10 * 1_000_000_000
_FORGET_NS = 3_600 * 1_000_000_000
_KEEP_SPENDING_NS = 8 * 86_400 * 1_000_000_000
_EXPIRE_AT_ONCE = 100
_REST_NS = 5 * 1_000_000_000
_ORDINARY = Held(None, high_risk=False)


class Asking:
    """With `only_high_risk` the others are left to batches."""

    def __init__(
        self,
        store: Store,
        turns: Turns,
        gate: Gate,
        keeping: Keeping,
        terms: Terms,
        clock: Clock,
        metrics: Metrics,
        *,
        only_high_risk: bool = False,
    ) -> None:
        self._store = store
        self._turns = turns
        self._gate = gate
        self._keeping = keeping
        self._terms = terms
        self._clock = clock
        self._metrics = metrics
        self._held = [_ORDINARY] if only_high_risk else []
        self._prefixes = Prefixes(once=terms.answer_cache_s > 0)
        self._asked: set[str] = set()
        self._set_aside: set[str] = set()
        """questions on which we failed ourselves: kept, and asked again by the next process"""
        self._swept_ns = 0
        self._forgot_ns = 0
        self._rests_until_ns = 0
        self._poked = asyncio.Event()

    def poke(self) -> None:
        """There may be new questions."""
        self._poked.set()

    @property
    def in_flight(self) -> frozenset[str]:
        """Ids of the questions whose turn it is."""
        return frozenset(self._asked)

    def problem(self) -> str | None:
        """Why questions wait just now, None when they do not."""
        waiting = self._gate.waiting(self._clock.now_ns())
        return None if waiting is None else f"{waiting.reason}: {waiting.detail}"

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._poked.clear()
                await self.look(tasks)
                try:
                    await asyncio.wait_for(self._poked.wait(), _LOOK_S)
                except TimeoutError:
                    continue

    async def look(self, tasks: asyncio.TaskGroup) -> int:
        """Begin what may be asked now; how many that were."""
        if self._clock.now_ns() < self._rests_until_ns:
            return 0
        try:
            await self._sweep()
            chosen = await self._choose()
        except StoreUnavailable as error:
            self._store_failed(error)
            return 0
        for pending in chosen:
            self._asked.add(pending.id)
            tasks.create_task(self._take(pending))
        return len(chosen)

    async def _choose(self) -> list[PendingQuestion]:
        now_ns = self._clock.now_ns()
        free = self._gate.room(now_ns, len(self._asked))
        if free <= 0:
            return []
        # Twice as many as are wanted: some may have to wait for another that shares their record.
        held = [*self._held, *self._gate.held(now_ns)]
        due = await self._store.due_questions(now_ns, 2 * free, held=held, but_not=self._asked | self._set_aside)
        return self._prefixes.choose(due, free, now_ns)

    async def _take(self, pending: PendingQuestion) -> None:
        answered = False
        try:
            answered = await self._turns.take(pending)
        except StoreUnavailable as error:
            self._store_failed(error)  # the question is still there and will have another turn
        except Exception:  # a defect of ours costs one question its turn, not the process
            log.exception("question_set_aside", question=pending.id)
            self._set_aside.add(pending.id)
        finally:
            self._asked.discard(pending.id)
            self._prefixes.ended(pending.question, self._clock.now_ns(), answered=answered)
            self._poked.set()

    def _store_failed(self, error: StoreUnavailable) -> None:
        """Asking at once again would cost money each time and keep nothing."""
        log.warning("store_unavailable", error=str(error))
        self._rests_until_ns = self._clock.now_ns() + _REST_NS

    async def _sweep(self) -> None:
        """Now and then: give up what waited too long, show how things are, forget what is old."""
        now_ns = self._clock.now_ns()
        if now_ns - self._swept_ns < _SWEEP_NS:
            return
        more = await self._expire(now_ns)
        oldest = await self._store.old_questions(now_ns, 1)
        self._metrics.judge.oldest_question((now_ns - oldest[0].created_ns) / 1e9 if oldest else 0.0)
        if self._terms.budget.limits:
            spent = await self._store.ledger.spent(now_ns)
            self._metrics.judge.budget(self._terms.budget.remaining(spent, now_ns))
        if now_ns - self._forgot_ns >= _FORGET_NS:
            answers_before_ns = now_ns - int(self._terms.answer_cache_s * 1e9)
            await self._store.ledger.forget(answers_before_ns, now_ns - _KEEP_SPENDING_NS)
            self._forgot_ns = now_ns
        self._swept_ns = self._swept_ns if more else now_ns

    async def _expire(self, now_ns: int) -> bool:
        """Whether there may be more."""
        before_ns = now_ns - int(self._terms.max_wait_s * 1e9)
        old = await self._store.old_questions(before_ns, _EXPIRE_AT_ONCE, self._asked)
        for pending in old:
            question = pending.question
            why = self._gate.waiting(now_ns, question.evaluator, high_risk=question.high_risk) or _BACKLOG
            self._metrics.judge.question_expired(why.reason)
            detail = f"waited {(now_ns - pending.created_ns) / 3.6e12:.1f} h; {why.detail}"
            log.warning("question_expired", question=pending.id, reason=why.reason, detail=detail)
            await self._keeping.give_up(pending, why.reason, detail)
        return len(old) == _EXPIRE_AT_ONCE


_BACKLOG = Waiting("judge_unavailable", "more questions came than could be asked in this time")
