"""Put the stored questions to the judge, a few at a time, and keep the answers.

A question stays in the store until it has a verdict: with the judge away nothing is lost, and nothing that was not
answered becomes a score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.metrics import Metrics
from collector.store.store import PendingQuestion, Store
from judge.errors import JudgeDeclined, JudgeError
from judge.question import Judge, settle, unanswered
from judge.retry import RetryPolicy
from judge.verdict import Verdict

log = structlog.get_logger(__name__)

_LOOK_S = 1.0


class Asking:
    """`jitter` spreads retries; it is given so that tests can repeat a run."""

    def __init__(
        self,
        store: Store,
        judge: Judge,
        retry: RetryPolicy,
        clock: Clock,
        metrics: Metrics,
        *,
        concurrency: int,
        exporters: Sequence[str],
        on_verdict: Callable[[], None],
        jitter: Random,
    ) -> None:
        self._store = store
        self._judge = judge
        self._retry = retry
        self._clock = clock
        self._metrics = metrics
        self._concurrency = concurrency
        self._exporters = exporters
        self._on_verdict = on_verdict
        self._jitter = jitter
        self._asked: set[str] = set()
        self._poked = asyncio.Event()

    def poke(self) -> None:
        """There may be new questions."""
        self._poked.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._poked.clear()
                for pending in await self._next():
                    self._asked.add(pending.id)
                    tasks.create_task(self._ask(pending))
                try:
                    await asyncio.wait_for(self._poked.wait(), _LOOK_S)
                except TimeoutError:
                    continue

    async def _next(self) -> list[PendingQuestion]:
        free = self._concurrency - len(self._asked)
        try:
            self._metrics.questions_pending(await self._store.pending_questions())
            if free <= 0:
                return []
            due = await self._store.due_questions(self._clock.now_ns(), self._concurrency)
        except StoreUnavailable as error:
            log.warning("store_unavailable", error=str(error))
            return []
        return [pending for pending in due if pending.id not in self._asked][:free]

    async def _ask(self, pending: PendingQuestion) -> None:
        try:
            verdict = await self._answer(pending)
            if verdict is not None:
                await self._settle(pending, verdict)
        except StoreUnavailable as error:
            # The question is still in the store and will be asked again.
            log.warning("verdict_not_kept", error=str(error), question=pending.id)
        finally:
            self._asked.discard(pending.id)
            self._poked.set()

    async def _answer(self, pending: PendingQuestion) -> Verdict | None:
        """The verdict, or None when the question is to be asked again later."""
        question = pending.question
        model = question.model or self._judge.model
        began_ns = self._clock.now_ns()
        try:
            answer = await self._judge.ask(question)
        except JudgeError as error:
            self._metrics.judge_asked(model, error.reason, (self._clock.now_ns() - began_ns) / 1e9)
            return await self._failed(pending, error)
        except Exception as error:  # a defect of ours must not be asked for ever
            log.exception("judge_failed", question=pending.id)
            return unanswered(question, "judge_error", type(error).__name__)
        self._metrics.judge_asked(model, "answered", (self._clock.now_ns() - began_ns) / 1e9)
        self._metrics.judge_answered(answer)
        return settle(question, answer)

    async def _failed(self, pending: PendingQuestion, error: JudgeError) -> Verdict | None:
        asked = pending.asked + 1
        wait_s = self._retry.wait_s(error, asked, self._jitter.random())
        if wait_s is None:
            log.warning("not_judged", reason=error.reason, detail=error.detail, attempts=asked, question=pending.id)
            spent = (error.input_tokens, error.output_tokens) if isinstance(error, JudgeDeclined) else (0, 0)
            return unanswered(pending.question, error.reason, error.detail, *spent)
        log.info("judge_retry", reason=error.reason, detail=error.detail, attempts=asked, wait_s=round(wait_s, 1))
        await self._store.postpone_question(pending.id, asked, self._clock.now_ns() + int(wait_s * 1e9))
        return None

    async def _settle(self, pending: PendingQuestion, verdict: Verdict) -> None:
        judged = replace(pending.draft, verdict=verdict, judged_ns=self._clock.now_ns())
        if await self._store.settle(judged, self._exporters):
            self._metrics.verdict(judged)
            self._on_verdict()
