"""What becomes of an asking: its answer is kept and paid for, its question asked again later or left to `settling`.

An answer is on disk before its question is settled. Killed at any moment, we ask again at most what was on its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.judge_queue.gate import Gate
from collector.judge_queue.preparing import Prepared
from collector.judge_queue.settling import Settling
from collector.judge_queue.terms import Terms
from collector.metrics import Metrics
from collector.store.ledger import Charge, Reservation, Vote
from collector.store.store import PendingQuestion, Store
from judge.budget import Amount, Refusal
from judge.errors import JudgeDeclined, JudgeError, JudgeUnavailable
from judge.prices import Usage, nano_dollars, usage_of
from judge.question import Answer

log = structlog.get_logger(__name__)

_NOTHING = Amount()
_REST_S = 5.0


async def _rest() -> None:
    await asyncio.sleep(_REST_S)


class Keeping:
    """`jitter` spreads retries, `rest` waits for a store that is away; both are given so that tests can repeat a
    run."""

    def __init__(
        self,
        store: Store,
        gate: Gate,
        settling: Settling,
        terms: Terms,
        clock: Clock,
        metrics: Metrics,
        *,
        jitter: Random,
        rest: Callable[[], Awaitable[None]] = _rest,
    ) -> None:
        self._store = store
        self._gate = gate
        self._settling = settling
        self._terms = terms
        self._clock = clock
        self._metrics = metrics
        self._jitter = jitter
        self._rest = rest

    async def known(self, pending: PendingQuestion, vote: int, prepared: Prepared) -> bool:
        """Whether the same was answered before; then that is this vote."""
        if prepared.key is None:
            return False
        now_ns = self._clock.now_ns()
        answer = await self._store.ledger.answer(prepared.key, now_ns - int(self._terms.answer_cache_s * 1e9))
        if answer is None:
            return False
        free = replace(answer, input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)
        kept = Vote(free, cached=True)
        await self._store.ledger.keep_vote(pending.id, vote, kept, None, key=None, now_ns=now_ns)
        self._metrics.judge.cache_hit(pending.question.evaluator)
        await self._settling.open_votes(pending)
        return True

    async def reserve(self, pending: PendingQuestion, most: Amount) -> Reservation | None:
        """Set aside what an asking may cost. None when it must wait for the budget, or was given up since no budget
        will ever do."""
        question = pending.question
        reserved = await self._store.ledger.reserve(
            self._terms.budget, most, question.evaluator, self._clock.now_ns(), high_risk=question.high_risk
        )
        if not isinstance(reserved, Refusal):
            return reserved
        if reserved.hopeless:
            await self._settling.give_up(pending, "budget_spent", reserved.detail)
        else:
            self._gate.hold(reserved, high_risk=question.high_risk)
        return None

    async def release(self, reservation: Reservation) -> None:
        """The call was not made, or cost nothing."""
        await self._store.ledger.charge(Charge(reservation, _NOTHING))
        self._gate.spent_less()

    async def keep(
        self,
        pending: PendingQuestion,
        vote: int,
        outcome: Answer | JudgeDeclined,
        reservation: Reservation,
        *,
        model: str,
        key: str | None,
        batch: bool = False,
    ) -> None:
        """Keep the vote and pay for it; settle the question with its last one."""
        usage = usage_of(outcome) if isinstance(outcome, Answer) else _usage_of_declined(outcome)
        charge = Charge(reservation, self._used(usage, model, reservation, batch=batch))
        now_ns, ledger = self._clock.now_ns(), self._store.ledger
        await self.insist(lambda: ledger.keep_vote(pending.id, vote, _vote(outcome), charge, key=key, now_ns=now_ns))
        self._gate.spent_less()
        self._metrics.judge.cost(model, pending.question.evaluator, charge.used.nano_dollars)
        if isinstance(outcome, Answer):
            self._metrics.judge_answered(outcome)
        await self._settling.open_votes(pending)

    async def insist(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write until it is done: what is paid for is not thrown away. Meanwhile this takes the place of another
        asking, so with the store away no more than those few are asked."""
        while True:
            try:
                await write()
            except StoreUnavailable as error:
                log.warning("answer_not_kept_yet", error=str(error))
                await self._rest()
            else:
                return

    async def failed(self, pending: PendingQuestion, error: JudgeError) -> None:
        """An attempt that brought nothing: ask again later, or give up."""
        attempts = pending.asked + 1
        wait_s = self._terms.retry.wait_s(error, attempts, self._jitter.random())
        if wait_s is None:
            log.warning("not_judged", reason=error.reason, detail=error.detail, attempts=attempts, question=pending.id)
            await self._settling.give_up(pending, error.reason, error.detail)
            return
        log.info("judge_retry", reason=error.reason, detail=error.detail, attempts=attempts, wait_s=round(wait_s, 1))
        next_ns = self._clock.now_ns() + int(wait_s * 1e9)
        await self._store.postpone_question(pending.id, attempts, next_ns, str(error))

    async def charge_failed(self, reservation: Reservation, error: JudgeError) -> None:
        """What was set aside stays spent when the service may have done the work."""
        if not (isinstance(error, JudgeUnavailable) and error.perhaps_billed):
            await self.release(reservation)

    def _used(self, usage: Usage, model: str, reservation: Reservation, *, batch: bool) -> Amount:
        if usage.tokens == 0:
            # Some endpoints tell no usage. A limit that then counts nothing would be none.
            return reservation.amount
        price = self._terms.price_of(model)
        return Amount(usage.tokens, 0 if price is None else nano_dollars(price, usage, batch=batch))


def _vote(outcome: Answer | JudgeDeclined) -> Vote:
    if isinstance(outcome, Answer):
        return Vote(outcome)
    return Vote(None, outcome.reason, outcome.detail, outcome.input_tokens, outcome.output_tokens)


def _usage_of_declined(error: JudgeDeclined) -> Usage:
    return Usage(fresh=error.input_tokens, output=error.output_tokens)
