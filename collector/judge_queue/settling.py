"""How a question ends: with the verdict its votes make, given up, or found damaged. Whatever the way, its session can
be finished."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from collector.clock import Clock
from collector.metrics import Metrics
from collector.store.ledger import Vote
from collector.store.store import PendingQuestion, Store, StoredQuestion, UnreadableQuestion
from judge.question import unanswered
from judge.verdict import Judged, NotJudged, Verdict
from judge.voting import settle_votes

log = structlog.get_logger(__name__)

CACHED = {"spanjudge.judge.answer": "cached"}
"""On verdicts for which nobody was asked: the same question had been answered before."""
UNREADABLE = NotJudged(
    "question_unreadable", "the stored question was damaged, or written by another version of SpanJudge"
)


class Settling:
    """`exporters` are the names of those that verdicts are queued for. Every method raises `StoreUnavailable`."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        metrics: Metrics,
        *,
        exporters: Sequence[str],
        on_verdict: Callable[[], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._exporters = exporters
        self._on_verdict = on_verdict

    async def readable(self, found: Sequence[StoredQuestion]) -> list[PendingQuestion]:
        """Those that can be asked. The others end here."""
        for one in found:
            if isinstance(one, UnreadableQuestion):
                await self._end(one)
        return [one for one in found if isinstance(one, PendingQuestion)]

    async def open_votes(self, pending: PendingQuestion) -> list[int]:
        """The numbers of the askings that are still to be done. Without any, the question is settled."""
        votes = await self._store.ledger.votes(pending.id)
        missing = [vote for vote in range(pending.question.votes) if vote not in votes]
        if not missing:
            await self._settle_votes(pending, list(votes.values()))
        return missing

    async def give_up(self, pending: PendingQuestion, reason: str, detail: str) -> None:
        """Settle with the votes there are; without any, nothing is judged."""
        votes = list((await self._store.ledger.votes(pending.id)).values())
        if any(vote.answer is not None for vote in votes):
            await self._settle_votes(pending, votes)
        else:
            await self._settle(pending, unanswered(pending.question, reason, detail), cached=False)

    async def _end(self, one: UnreadableQuestion) -> None:
        log.error("question_unreadable", question=one.id, detail=UNREADABLE.detail)
        if await self._keep(replace(one.draft, verdict=replace(one.draft.verdict, outcome=UNREADABLE))):
            self._metrics.judge.question_unreadable()

    async def _settle_votes(self, pending: PendingQuestion, votes: Sequence[Vote]) -> None:
        question = pending.question
        answers = [vote.answer for vote in votes if vote.answer is not None]
        declined = [vote for vote in votes if vote.answer is None]
        if answers:
            verdict = settle_votes(question, answers)
        else:
            verdict = unanswered(question, declined[0].reason, declined[0].detail)
        verdict = replace(
            verdict,
            input_tokens=verdict.input_tokens + sum(vote.input_tokens for vote in declined),
            output_tokens=verdict.output_tokens + sum(vote.output_tokens for vote in declined),
        )
        await self._settle(pending, verdict, cached=all(vote.cached for vote in votes))

    async def _settle(self, pending: PendingQuestion, verdict: Verdict, *, cached: bool) -> None:
        draft = pending.draft
        attributes = {**draft.attributes, **(CACHED if cached else {})}
        await self._keep(replace(draft, verdict=verdict, attributes=attributes))

    async def _keep(self, verdict: Judged) -> bool:
        judged = replace(verdict, judged_ns=self._clock.now_ns())
        if settled := await self._store.settle(judged, self._exporters):
            self._metrics.verdict(judged)
            self._on_verdict()
        return settled
