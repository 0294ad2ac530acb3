"""Questions sent together in message batches, for half the price, and their answers collected up to a day later.

What is in a batch is written down before anything else happens, so a restart finds its batches again. A batch that
the service took in the moment of a crash, before we knew its name, is the one that is asked twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.judge_queue.gate import Gate
from collector.judge_queue.keeping import Keeping
from collector.judge_queue.preparing import Preparing
from collector.metrics import Metrics
from collector.store.ledger import Batch, BatchItem, item_id
from collector.store.store import PendingQuestion, Store
from judge.breaker import opens_at_once
from judge.errors import JudgeDeclined, JudgeError, JudgeUnavailable
from judge.question import Answer, Question

log = structlog.get_logger(__name__)

MOST_BYTES = 64 * 1024 * 1024
"""Of prompts in one batch: well under what the service takes, and little enough to hold in memory."""
_LOST = JudgeUnavailable("judge_unavailable", "the batch ended without a result for this question")


class BatchJudge(Protocol):
    """Implemented by `judge.clients.anthropic_batches.AnthropicBatches`. Every method raises `JudgeError`."""

    async def send(self, questions: Mapping[str, Question]) -> str: ...

    async def ended(self, batch_id: str) -> bool: ...

    def results(
        self, batch_id: str, questions: Mapping[str, Question]
    ) -> AsyncIterator[tuple[str, Answer | JudgeError]]: ...


@dataclass(frozen=True, slots=True)
class BatchRules:
    max_wait_s: float = 300
    max_questions: int = 500
    max_open: int = 4
    poll_s: float = 60


@dataclass(slots=True)
class _Packed:
    """What is to be sent, by the names that items have in the batch."""

    questions: dict[str, Question] = field(default_factory=dict)
    items: list[BatchItem] = field(default_factory=list)
    size: int = 0


class Batching:
    """`asked` tells which questions have their turn alone just now."""

    def __init__(
        self,
        store: Store,
        judge: BatchJudge,
        gate: Gate,
        keeping: Keeping,
        preparing: Preparing,
        rules: BatchRules,
        clock: Clock,
        metrics: Metrics,
        asked: Callable[[], Collection[str]],
    ) -> None:
        self._store = store
        self._judge = judge
        self._gate = gate
        self._keeping = keeping
        self._preparing = preparing
        self._rules = rules
        self._clock = clock
        self._metrics = metrics
        self._asked = asked
        self._most = rules.max_questions

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self._rules.poll_s)

    async def look(self) -> None:
        """Collect what has come, send what waits."""
        try:
            batches = await self._store.ledger.batches()
            for batch in batches:
                await self._collect(batch)
            batches = await self._store.ledger.batches()
            self._metrics.judge.batches_open(len(batches))
            if len(batches) < self._rules.max_open:
                await self._send()
        except StoreUnavailable as error:
            log.warning("store_unavailable", error=str(error))

    # -- sending ----------------------------------------------------------------------------------------------------

    async def _send(self) -> None:
        now_ns = self._clock.now_ns()
        if self._gate.room(now_ns, 0) <= 0:
            return
        due = await self._store.due_questions(now_ns, self._most, held=self._gate.held(now_ns), but_not=self._asked())
        waiting = [pending for pending in due if not pending.question.high_risk]
        if not waiting or not (len(waiting) >= self._most or self._oldest_s(waiting, now_ns) >= self._rules.max_wait_s):
            return
        packed = await self._pack(waiting)
        if packed.items:
            await self._put(packed, now_ns)

    @staticmethod
    def _oldest_s(waiting: Sequence[PendingQuestion], now_ns: int) -> float:
        return (now_ns - min(pending.created_ns for pending in waiting)) / 1e9

    async def _pack(self, waiting: Sequence[PendingQuestion]) -> _Packed:
        """As much as fits and the budget allows. What was answered before needs no place."""
        packed = _Packed()
        for pending in waiting:
            if packed.size >= MOST_BYTES or not await self._pack_one(pending, packed):
                break
        return packed

    async def _pack_one(self, pending: PendingQuestion, packed: _Packed) -> bool:
        """False when the budget has no room for more."""
        for vote in await self._keeping.open_votes(pending):
            prepared = await asyncio.to_thread(self._preparing.prepare, pending.question, vote)
            if await self._keeping.known(pending, vote, prepared):
                continue
            reservation = await self._keeping.reserve(pending, prepared.batch_most)
            if reservation is None:
                return not self._gate.held(self._clock.now_ns())
            name = item_id(pending.id, vote)
            packed.questions[name] = prepared.question
            packed.items.append(BatchItem(name, pending.id, vote, reservation, prepared.model, prepared.key))
            packed.size += len(prepared.question.prompt.prefix) + len(prepared.question.prompt.question)
        return True

    async def _put(self, packed: _Packed, now_ns: int) -> None:
        call = self._gate.begins(now_ns)
        if call is None:
            await self._release(packed.items)
            return
        try:
            batch_id = await self._judge.send(packed.questions)
        except JudgeError as error:
            if isinstance(error, JudgeUnavailable) or opens_at_once(error):
                self._gate.failed(call, error, self._clock.now_ns())
                for item in packed.items:  # the service may have taken the batch before it fell silent
                    await self._keeping.charge_failed(item.reservation, error)
            else:
                self._gate.answered(self._clock.now_ns())
                await self._rejected(packed, error)
            return
        self._gate.answered(self._clock.now_ns())
        self._most = self._rules.max_questions
        await self._keeping.insist(lambda: self._store.ledger.add_batch(Batch(batch_id, now_ns), packed.items))
        log.info("batch_sent", batch=batch_id, questions=len(packed.items))

    async def _rejected(self, packed: _Packed, error: JudgeError) -> None:
        """One bad question, or too many. Smaller batches find out which; a single one is given up."""
        await self._release(packed.items)
        log.warning("batch_rejected", detail=error.detail, questions=len(packed.items))
        if self._most > 1:
            self._most = max(1, min(self._most, len(packed.items)) // 2)
            return
        for pending in await self._store.questions_by_id({item.question_id for item in packed.items}):
            await self._keeping.give_up(pending, error.reason, error.detail)

    async def _release(self, items: Sequence[BatchItem]) -> None:
        for item in items:
            await self._keeping.release(item.reservation)

    # -- collecting -------------------------------------------------------------------------------------------------

    async def _collect(self, batch: Batch) -> None:
        try:
            if not await self._judge.ended(batch.id):
                return
            await self._take_results(batch)
        except JudgeError as error:
            log.warning("batch_not_collected", batch=batch.id, reason=error.reason, detail=error.detail)
        except StoreUnavailable:
            raise
        except Exception:  # a connection that breaks while results come, a defect of ours: tried again at the next look
            log.exception("batch_not_collected", batch=batch.id)

    async def _take_results(self, batch: Batch) -> None:
        items = {item.id: item for item in await self._store.ledger.batch_items(batch.id)}
        pending = {
            one.id: one for one in await self._store.questions_by_id({item.question_id for item in items.values()})
        }
        questions = {
            name: pending[item.question_id].question for name, item in items.items() if item.question_id in pending
        }
        failures: dict[str, JudgeError] = dict.fromkeys(questions, _LOST)
        async for name, outcome in self._judge.results(batch.id, questions):
            item = items[name]
            self._count(item, outcome)
            if isinstance(outcome, (Answer, JudgeDeclined)):
                one = pending[item.question_id]
                await self._keeping.keep(
                    one, item.vote, outcome, item.reservation, model=item.model, key=item.key, batch=True
                )
                del failures[name]
            else:
                failures[name] = outcome
        for name, error in failures.items():
            await self._failed(items[name], error)
        await self._store.ledger.end_batch(batch.id)
        log.info("batch_collected", batch=batch.id, answers=len(questions) - len(failures), failures=len(failures))

    async def _failed(self, item: BatchItem, error: JudgeError) -> None:
        await self._store.ledger.release([item.id])
        await self._keeping.release(item.reservation)
        # Looked up anew: another vote of the same question may have settled it, or used up an attempt.
        for pending in await self._store.questions_by_id([item.question_id]):
            if not opens_at_once(error):
                await self._keeping.failed(pending, error)

    def _count(self, item: BatchItem, outcome: Answer | JudgeError) -> None:
        said = "answered" if isinstance(outcome, Answer) else outcome.reason
        self._metrics.judge_asked(item.model, said, None)
