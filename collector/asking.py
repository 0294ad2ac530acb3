"""Put the stored questions to the judge, a few at a time, in order of risk and age, and keep the answers.

A question stays in the store until it has a verdict: with the judge away nothing is lost, and nothing that was not
answered becomes a score. Asking itself is in `judge_queue`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.judge_queue.expiring import Expiring
from collector.judge_queue.gate import Gate, Waiting
from collector.judge_queue.prefixes import Prefixes
from collector.judge_queue.settling import Settling
from collector.judge_queue.terms import Terms
from collector.judge_queue.turns import Turns
from collector.metrics import Metrics
from collector.store.obstacles import Obstacle, Told
from collector.store.store import Held, Hold, OfModel, PendingQuestion, Store

log = structlog.get_logger(__name__)

_LOOK_S = 1.0
_SWEEP_NS = 10 * 1_000_000_000
_FORGET_NS = 3_600 * 1_000_000_000
_KEEP_SPENDING_NS = 8 * 86_400 * 1_000_000_000
_REST_NS = 5 * 1_000_000_000
_ORDINARY = Held(None, high_risk=False)


class Asking:
    """With `only_high_risk` the others are left to batches."""

    def __init__(
        self,
        store: Store,
        turns: Turns,
        gate: Gate,
        settling: Settling,
        terms: Terms,
        clock: Clock,
        metrics: Metrics,
        *,
        only_high_risk: bool = False,
    ) -> None:
        self._store = store
        self._turns = turns
        self._gate = gate
        self._settling = settling
        self._terms = terms
        self._clock = clock
        self._metrics = metrics
        self._held: list[Hold] = [_ORDINARY] if only_high_risk else []
        self._expiring = Expiring(store, settling, metrics, self._why, max_wait_s=terms.max_wait_s)
        self._prefixes = Prefixes(once=terms.answer_cache_s > 0)
        self._asked: set[str] = set()
        self._set_aside: set[str] = set()
        """questions on which we failed ourselves: kept, and asked again by the next process"""
        self._told: tuple[Obstacle, ...] | None = None
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
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_S):  # not `wait_for`, which may swallow a cancellation in 3.11
                        await self._poked.wait()

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
        chosen: list[PendingQuestion] = []
        for model in self._gate.to_try(now_ns)[:free]:
            chosen += self._prefixes.choose(await self._try(model, now_ns), 1, now_ns)
        # Twice as many as are wanted: some may have to wait for another that shares their record.
        due = await self._due(now_ns, 2 * free, self._gate.refused())
        return chosen + self._prefixes.choose(due, free - len(chosen), now_ns)

    async def _due(self, now_ns: int, most: int, refused: Sequence[OfModel]) -> list[PendingQuestion]:
        """Those that try whether the judge is back take turns, and when all have tried the first does again."""
        tried = self._gate.tried()
        due = await self._read(now_ns, most, tried, held=refused)
        if due or not tried:
            return due
        self._gate.start_over()
        return await self._read(now_ns, most, held=refused)

    async def _try(self, model: str, now_ns: int) -> list[PendingQuestion]:
        """The question that is to find out whether the model is still refused."""
        tried, only = self._gate.tried(model), self._gate.of_model(model)
        due = await self._read(now_ns, 1, tried, only=only)
        if due or not tried:
            return due
        self._gate.start_over(model)
        return await self._read(now_ns, 1, only=only)

    async def _read(
        self,
        now_ns: int,
        most: int,
        passed_over: frozenset[str] = frozenset(),
        *,
        held: Sequence[OfModel] = (),
        only: Sequence[OfModel] = (),
    ) -> list[PendingQuestion]:
        holds = [*self._held, *self._gate.held(now_ns), *held]
        but_not = self._asked | self._set_aside | passed_over
        found = await self._store.due_questions(now_ns, most, held=holds, but_not=but_not, only=only)
        return await self._settling.readable(found)

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
        more = await self._expiring.sweep(now_ns, self._asked)
        if self._terms.budget.limits:
            spent = await self._store.ledger.spent(now_ns)
            self._metrics.judge.budget(self._terms.budget.remaining(spent, now_ns))
        if now_ns - self._forgot_ns >= _FORGET_NS:
            answers_before_ns = now_ns - int(self._terms.answer_cache_s * 1e9)
            await self._store.ledger.forget(answers_before_ns, now_ns - _KEEP_SPENDING_NS)
            self._forgot_ns = now_ns
        await self._tell(now_ns)
        self._swept_ns = self._swept_ns if more else now_ns

    async def _tell(self, now_ns: int) -> None:
        """Those who read the store beside us know nothing of circuits and budgets but what stands there."""
        obstacles = self._gate.obstacles(now_ns)
        if obstacles != self._told:
            await self._store.obstacles.tell(Told(now_ns, obstacles))
            self._told = obstacles

    def _why(self, pending: PendingQuestion, now_ns: int) -> Waiting:
        question = pending.question
        model, high_risk = question.model, question.high_risk
        return self._gate.waiting(now_ns, question.evaluator, high_risk=high_risk, model=model) or _BACKLOG


_BACKLOG = Waiting("judge_unavailable", "more questions came than could be asked in this time")
