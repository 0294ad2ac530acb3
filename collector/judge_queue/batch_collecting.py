"""Fetch what became of a batch: answers are kept, failures asked again. A batch that cannot be fetched is let go."""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.judge_queue.batch_judge import BatchJudge
from collector.judge_queue.gate import Gate
from collector.judge_queue.keeping import Keeping
from collector.judge_queue.settling import Settling
from collector.metrics import Metrics
from collector.store.ledger import Batch, BatchItem, Ledger
from collector.store.store import PendingQuestion, Store
from judge.errors import JudgeDeclined, JudgeError, JudgeMisconfigured, JudgeUnavailable
from judge.question import Answer

log = structlog.get_logger(__name__)

_LOST = JudgeUnavailable("judge_unavailable", "the batch ended without a result for this question", perhaps_billed=True)
_OVERDUE_NS = 48 * 3_600 * 1_000_000_000
"""A batch ends within a day."""
_PATIENCE_NS = 3_600 * 1_000_000_000
"""So long we go on trying to fetch one that is overdue."""


class BatchCollecting:
    def __init__(
        self,
        store: Store,
        judge: BatchJudge,
        gate: Gate,
        keeping: Keeping,
        settling: Settling,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._store = store
        self._judge = judge
        self._gate = gate
        self._keeping = keeping
        self._settling = settling
        self._clock = clock
        self._metrics = metrics
        self._overdue_since_ns: dict[str, int] = {}

    async def collect(self, batch: Batch) -> None:
        """Take its results if it has ended. Raises `StoreUnavailable` and nothing else: what fails is tried again at
        the next look."""
        try:
            if await self._judge.ended(batch.id):
                await self._take_results(batch)
                return
        except JudgeError as error:
            log.warning("batch_not_collected", batch=batch.id, reason=error.reason, detail=error.detail)
        except StoreUnavailable:
            raise
        except Exception:  # a connection that breaks while results come, a defect of ours
            log.exception("batch_not_collected", batch=batch.id)
        await self._let_go_if_overdue(batch)

    async def _let_go_if_overdue(self, batch: Batch) -> None:
        now_ns = self._clock.now_ns()
        if now_ns - batch.created_ns < _OVERDUE_NS:
            return
        if now_ns - self._overdue_since_ns.setdefault(batch.id, now_ns) >= _PATIENCE_NS:
            del self._overdue_since_ns[batch.id]
            await let_go(self._store.ledger, batch)

    async def _take_results(self, batch: Batch) -> None:
        items = {item.id: item for item in await self._store.ledger.batch_items(batch.id)}
        pending = await self._pending(items.values())
        questions = {
            name: pending[item.question_id].question for name, item in items.items() if item.question_id in pending
        }
        failures: dict[str, JudgeError] = dict.fromkeys(questions, _LOST)
        async for name, outcome in self._judge.results(batch.id, questions):
            if name not in failures:
                continue
            item = items[name]
            self._count(item, outcome)
            if isinstance(outcome, (Answer, JudgeDeclined)):
                one = pending[item.question_id]
                self._gate.answered_in_batch(item.model, self._clock.now_ns())
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
        await self._keeping.charge_failed(item.reservation, error)
        refused = isinstance(error, JudgeMisconfigured) and error.concerns != "request"
        if refused and not self._gate.refused_in_batch(item.model, item.question_id, error, self._clock.now_ns()):
            return
        # Looked up anew: another vote of the same question may have settled it, or used up an attempt.
        for pending in (await self._pending([item])).values():
            await self._keeping.failed(pending, error)

    async def _pending(self, items: Iterable[BatchItem]) -> dict[str, PendingQuestion]:
        found = await self._store.questions_by_id({item.question_id for item in items})
        return {one.id: one for one in await self._settling.readable(found)}

    def _count(self, item: BatchItem, outcome: Answer | JudgeError) -> None:
        said = "answered" if isinstance(outcome, Answer) else outcome.reason
        self._metrics.judge_asked(item.model, said, None)


async def let_go(ledger: Ledger, batch: Batch) -> None:
    """Nobody will collect this batch: its questions may be asked again. What was set aside for them stays spent, since
    the service may have done the work."""
    await ledger.end_batch(batch.id)
    log.warning("batch_let_go", batch=batch.id, questions="are asked again")
