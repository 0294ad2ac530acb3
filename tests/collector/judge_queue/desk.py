"""The queue with a real store, a judge that is told what to say, and a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from collector.asking import Asking
from collector.judge_queue.batch_collecting import BatchCollecting
from collector.judge_queue.batch_judge import BatchRules
from collector.judge_queue.batch_sending import BatchSending
from collector.judge_queue.batching import Batching
from collector.judge_queue.gate import Gate
from collector.judge_queue.keeping import Keeping
from collector.judge_queue.preparing import Preparing
from collector.judge_queue.settling import Settling
from collector.judge_queue.terms import Terms
from collector.judge_queue.turns import Turns
from collector.metrics import Metrics
from collector.store.sqlite import SqliteStore
from collector.store.store import PendingQuestion
from judge.breaker import CircuitPolicy
from judge.concurrency import Concurrency, Pace
from judge.prices import ModelPrice
from judge.verdict import Judged
from tests.fakes.clock import FakeClock
from tests.fakes.judges import ScriptedBatches, ScriptedJudge
from tests.fakes.verdicts import NOW_NS, closed, pending

PRICE = ModelPrice(input=5, output=25)
"""An answer of `judges.yes` costs $0.0075."""


def price_of(_: str) -> ModelPrice | None:
    return PRICE


async def _no_rest() -> None:
    await asyncio.sleep(0)


class Desk:
    """Made anew on the same path, it is the same queue after a restart."""

    def __init__(
        self,
        path: Path,
        judge: ScriptedJudge,
        clock: FakeClock | None = None,
        terms: Terms | None = None,
        *,
        concurrency: int = 4,
        per_minute: float | None = None,
        batches: ScriptedBatches | None = None,
        batch_rules: BatchRules | None = None,
        rest: Callable[[], Awaitable[None]] = _no_rest,
    ) -> None:
        self.clock = clock or FakeClock(NOW_NS)
        self.judge = judge
        self.metrics = Metrics()
        self.store = SqliteStore.open(path / "verdicts.db", busy_timeout_s=0.5)
        self.told = 0
        terms = terms or Terms(price_of=price_of)
        self.gate = Gate(
            CircuitPolicy(failures=3, first_s=5, max_s=60),
            Concurrency(concurrency),
            Pace(per_minute),
            self.metrics.judge,
            default_model=judge.model,
        )
        settling = Settling(self.store, self.clock, self.metrics, exporters=["otlp"], on_verdict=self._tell)
        keeping = Keeping(self.store, self.gate, settling, terms, self.clock, self.metrics, jitter=Random(0), rest=rest)
        preparing = Preparing(terms, judge.model)
        turns = Turns(judge, self.gate, keeping, settling, preparing, self.clock, self.metrics)
        self.asking = Asking(
            self.store, turns, self.gate, settling, terms, self.clock, self.metrics, only_high_risk=batches is not None
        )
        service, rules = batches or ScriptedBatches(), batch_rules or BatchRules()
        sending = BatchSending(
            self.store,
            service,
            self.gate,
            keeping,
            settling,
            preparing,
            rules,
            self.clock,
            lambda: self.asking.in_flight,
        )
        collecting = BatchCollecting(self.store, service, self.gate, keeping, settling, self.clock, self.metrics)
        self.batching = Batching(self.store.ledger, sending, collecting, rules, self.metrics)

    def _tell(self) -> None:
        self.told += 1

    async def add(self, *questions: PendingQuestion, session: str = "s-1") -> None:
        await self.store.finish(closed(session), [], questions, ["otlp"])

    async def round(self) -> int:
        """Look once and let everything that begins come to its end; how many that were."""
        async with asyncio.TaskGroup() as tasks:
            return await self.asking.look(tasks)

    async def rounds(self, most: int = 200) -> int:
        """Until nothing begins any more, without the clock moving."""
        begun = 0
        for _ in range(most):
            if not (now := await self.round()):
                return begun
            begun += now
        raise AssertionError(f"still busy after {most} rounds")

    async def verdicts(self, session: str = "s-1") -> list[Judged]:
        return [one for one in await self.store.verdicts(closed(session).ref) if one.judged_ns and not _waits(one)]

    async def verdict(self, question: PendingQuestion) -> Judged | None:
        found = await self.store.verdicts(question.draft.session)
        return next((one for one in found if one.id == question.id and not _waits(one)), None)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"spanjudge_{name}", labels)

    async def close(self) -> None:
        await self.store.close()


def _waits(judged: Judged) -> bool:
    return getattr(judged.verdict.outcome, "reason", "") == "pending"


def ask(
    ref: str,
    session: str = "s-1",
    *,
    votes: int = 1,
    high_risk: bool = False,
    created_ns: int = NOW_NS,
    evaluator: str | None = None,
    model: str | None = None,
    prefix: str | None = None,
    text: str | None = None,
) -> PendingQuestion:
    """A question whose text names it, so that no two are the same unless told."""
    one = pending(session, ref, high_risk=high_risk, created_ns=created_ns)
    prompt = replace(one.question.prompt, question=text or f"About {session} {ref}?")
    if prefix is not None:
        prompt = replace(prompt, prefix=prefix)
    evaluator = evaluator or one.question.evaluator
    question = replace(one.question, prompt=prompt, votes=votes, evaluator=evaluator, model=model)
    return replace(one, question=question)


def refs(judge: ScriptedJudge) -> Sequence[str]:
    """What the judge was asked about, in order."""
    return [question.subject.ref for question in judge.asked]
