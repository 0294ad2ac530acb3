"""One question's turn: answered from what is known, or put to the judge once, within the budget."""

from __future__ import annotations

import asyncio

import structlog

from collector.clock import Clock
from collector.judge_queue.circuits import Call
from collector.judge_queue.gate import Gate
from collector.judge_queue.keeping import Keeping
from collector.judge_queue.preparing import Prepared, Preparing
from collector.judge_queue.settling import Settling
from collector.metrics import Metrics
from collector.store.ledger import Reservation
from collector.store.store import PendingQuestion
from judge.errors import JudgeDeclined, JudgeError, JudgeMisconfigured
from judge.question import Answer, Judge

log = structlog.get_logger(__name__)


class Turns:
    """A question with several votes has several turns, so that all rules hold for each asking."""

    def __init__(
        self,
        judge: Judge,
        gate: Gate,
        keeping: Keeping,
        settling: Settling,
        preparing: Preparing,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._judge = judge
        self._gate = gate
        self._keeping = keeping
        self._settling = settling
        self._preparing = preparing
        self._clock = clock
        self._metrics = metrics

    async def take(self, pending: PendingQuestion) -> bool:
        """Whether the judge answered. A question that is not settled stays in the store. Raises
        `StoreUnavailable`."""
        vote = next(iter(await self._settling.open_votes(pending)), None)
        if vote is None:
            return False  # all was answered before a crash, and is settled now
        prepared = await asyncio.to_thread(self._preparing.prepare, pending.question, vote)
        if await self._keeping.known(pending, vote, prepared):
            return False
        call = self._gate.begins(self._clock.now_ns(), prepared.model, [pending.id])
        if call is None:
            return False
        try:
            reservation = await self._keeping.reserve(pending, prepared.most)
        except BaseException:
            self._gate.abandoned(call)
            raise
        if reservation is None:
            self._gate.abandoned(call)
            return False
        return await self._ask(pending, vote, prepared, call, reservation)

    async def _ask(
        self, pending: PendingQuestion, vote: int, prepared: Prepared, call: Call, reservation: Reservation
    ) -> bool:
        outcome = await self._outcome(prepared, call)
        if isinstance(outcome, (Answer, JudgeDeclined)):
            self._gate.answered(call, self._clock.now_ns())
            await self._keeping.keep(pending, vote, outcome, reservation, model=prepared.model, key=prepared.key)
            return True
        if not isinstance(outcome, JudgeError):
            self._gate.abandoned(call)
            await self._settling.give_up(pending, "judge_error", type(outcome).__name__)
            return False
        # The gate is told first: whatever the store does, it must know that the call has ended.
        counts = self._told(call, outcome)
        await self._keeping.charge_failed(reservation, outcome)
        if counts:
            await self._keeping.failed(pending, outcome)
        return False

    def _told(self, call: Call, error: JudgeError) -> bool:
        """Tell the gate; whether this was an attempt of the question."""
        now_ns = self._clock.now_ns()
        if isinstance(error, JudgeMisconfigured) and error.concerns == "request":
            self._gate.rejected(call, now_ns)
            return True
        return self._gate.failed(call, error, now_ns)

    async def _outcome(self, prepared: Prepared, call: Call) -> Answer | Exception:
        try:
            outcome: Answer | Exception = await self._judge.ask(prepared.question)
        except JudgeError as error:
            outcome = error
        except Exception as error:  # a defect of ours must not be asked for ever
            log.exception("judge_failed", evaluator=prepared.question.evaluator)
            outcome = error
        said = "answered" if isinstance(outcome, Answer) else getattr(outcome, "reason", "judge_error")
        self._metrics.judge_asked(prepared.model, said, (self._clock.now_ns() - call.began_ns) / 1e9)
        return outcome
