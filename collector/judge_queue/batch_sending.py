"""Put questions that nobody is in a hurry for together in a batch, when there are enough or one waited long enough."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import structlog

from collector.clock import Clock
from collector.judge_queue.batch_judge import BatchJudge, BatchRules
from collector.judge_queue.circuits import Call
from collector.judge_queue.gate import MESSAGE_BATCHES, Gate
from collector.judge_queue.keeping import Keeping
from collector.judge_queue.preparing import Preparing
from collector.judge_queue.settling import Settling
from collector.store.ledger import Batch, BatchItem, item_id
from collector.store.store import DueQuestion, Hold, PendingQuestion, Store
from judge.errors import JudgeError, JudgeMisconfigured
from judge.question import Question

log = structlog.get_logger(__name__)

MOST_BYTES = 64 * 1024 * 1024
"""Of prompts in one batch: well under what the service takes, and little enough to hold in memory."""
_PAGE = 20
"""Questions read at a time: each holds a session's record."""


@dataclass(slots=True)
class _Packed:
    """What is to be sent, by the names that items have in the batch."""

    questions: dict[str, Question] = field(default_factory=dict)
    items: list[BatchItem] = field(default_factory=list)
    size: int = 0

    @property
    def ids(self) -> list[str]:
        return list(dict.fromkeys(item.question_id for item in self.items))


class BatchSending:
    """`asked` tells which questions have their turn alone just now."""

    def __init__(
        self,
        store: Store,
        judge: BatchJudge,
        gate: Gate,
        keeping: Keeping,
        settling: Settling,
        preparing: Preparing,
        rules: BatchRules,
        clock: Clock,
        asked: Callable[[], Collection[str]],
    ) -> None:
        self._store = store
        self._judge = judge
        self._gate = gate
        self._keeping = keeping
        self._settling = settling
        self._preparing = preparing
        self._rules = rules
        self._clock = clock
        self._asked = asked
        self._most = rules.max_questions
        self._set_aside: set[str] = set()
        """questions on which we failed ourselves: kept, and tried again by the next process"""

    async def send(self) -> None:
        """Send one batch, if it is time for one. Raises `StoreUnavailable`."""
        now_ns = self._clock.now_ns()
        if self._gate.room(now_ns, 0) <= 0:
            return
        waiting = await self._waiting(now_ns, self._gate.tried())
        if not self._enough(waiting, now_ns) and self._gate.tried():
            self._gate.start_over()
            waiting = await self._waiting(now_ns)
        if self._enough(waiting, now_ns):
            packed = await self._pack([one.id for one in waiting])
            if packed.items:
                await self._put(packed, now_ns)

    async def _waiting(self, now_ns: int, passed_over: frozenset[str] = frozenset()) -> list[DueQuestion]:
        """A refused model is tried again as part of a batch: the batch costs no more for it."""
        to_try = {one for model in self._gate.to_try(now_ns) for one in self._gate.of_model(model)}
        held: list[Hold] = [*self._gate.held(now_ns), *(one for one in self._gate.refused() if one not in to_try)]
        but_not = {*self._asked(), *self._set_aside, *passed_over}
        return await self._store.due_for_batch(now_ns, self._most, held=held, but_not=but_not)

    def _enough(self, waiting: Sequence[DueQuestion], now_ns: int) -> bool:
        if not waiting:
            return False
        return len(waiting) >= self._most or (now_ns - waiting[0].created_ns) / 1e9 >= self._rules.max_wait_s

    async def _pack(self, ids: Sequence[str]) -> _Packed:
        """As much as fits and the budget allows. What was answered before needs no place."""
        packed = _Packed()
        for start in range(0, len(ids), _PAGE):
            for pending in await self._page(ids[start : start + _PAGE]):
                if packed.size >= MOST_BYTES or not await self._pack_one(pending, packed):
                    return packed
        return packed

    async def _page(self, ids: Sequence[str]) -> list[PendingQuestion]:
        found = await self._settling.readable(await self._store.questions_by_id(ids))
        return sorted(found, key=lambda one: ids.index(one.id))

    async def _pack_one(self, pending: PendingQuestion, packed: _Packed) -> bool:
        """False when the budget has no room for more."""
        for vote in await self._settling.open_votes(pending):
            try:
                prepared = await asyncio.to_thread(self._preparing.prepare, pending.question, vote)
            except Exception:  # a defect of ours costs one question its place, not the process
                log.exception("question_set_aside", question=pending.id)
                self._set_aside.add(pending.id)
                return True
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
        call = self._gate.begins(now_ns, MESSAGE_BATCHES, packed.ids)
        if call is None:
            await self._release(packed.items)
            return
        try:
            batch_id = await self._judge.send(packed.questions)
        except JudgeError as error:
            await self._not_taken(packed, call, error)
        except Exception as error:  # a defect of ours, of one question perhaps
            log.exception("batch_not_sent", questions=len(packed.items))
            self._gate.abandoned(call)
            await self._rejected(packed, JudgeError("judge_error", type(error).__name__))
        else:
            self._gate.answered(call, self._clock.now_ns())
            self._most = self._rules.max_questions
            await self._keeping.insist(lambda: self._store.ledger.add_batch(Batch(batch_id, now_ns), packed.items))
            log.info("batch_sent", batch=batch_id, questions=len(packed.items))

    async def _not_taken(self, packed: _Packed, call: Call, error: JudgeError) -> None:
        if isinstance(error, JudgeMisconfigured) and error.concerns == "request":
            self._gate.rejected(call, self._clock.now_ns())
            await self._rejected(packed, error)
            return
        self._gate.failed(call, error, self._clock.now_ns())
        for item in packed.items:  # the service may have taken the batch before it fell silent
            await self._keeping.charge_failed(item.reservation, error)

    async def _rejected(self, packed: _Packed, error: JudgeError) -> None:
        """One bad question, or too many. Smaller batches find out which; a single one is given up."""
        await self._release(packed.items)
        log.warning("batch_rejected", detail=error.detail, questions=len(packed.items))
        if self._most > 1:
            self._most = max(1, min(self._most, len(packed.items)) // 2)
            return
        for pending in await self._settling.readable(await self._store.questions_by_id(packed.ids)):
            await self._settling.give_up(pending, error.reason, error.detail)

    async def _release(self, items: Sequence[BatchItem]) -> None:
        for item in items:
            await self._keeping.release(item.reservation)
