"""Hand out closed sessions to be evaluated, count what came of it, and mark their closings as done.

Everything from here can be done again after a crash and yields the same ids, so a closing is marked as done in the
journal only after its verdicts are in the store.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.evaluation.evaluation import dead_letter
from collector.evaluation.tally import count
from collector.evaluation.task import Evaluating, EvaluationLost, Report, Task
from collector.journal.journal import Journal
from collector.metrics import Metrics
from collector.reading import Rules as Rules  # noqa: PLC0414 - where many look for it
from collector.sessions.book import Claim, SessionBook
from collector.sessions.keys import Digest
from collector.store.store import Store
from judge.verdict import SessionRef

log = structlog.get_logger(__name__)

GROUP = 64
"""Most closings handed out together: enough to share a transaction, few enough that none waits long for the others."""
_MOST_LOSSES = 2
_CAUSES = {"died": "died", "timeout": "was busy with it for evaluation.timeout_seconds", "stopped": "stopped"}
_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A closing that is to be evaluated. `losses` is how many processes ended at it; `alone` when it is to be handed
    out by itself, so that it is known whose doing the next end is."""

    task: Task
    losses: int = 0
    alone: bool = False


async def _tell_nobody(_claims: Sequence[Claim]) -> None:
    """Where the store is all that has to know."""


class Judging:
    """`run` as many workers as groups are to be out at once. `max_waiting` is how many closings may wait before no
    more sessions are closed; `retry_s` is how long to wait for a store that is away. `on_kept` is awaited for closings
    whose verdicts are in the store, before they are marked as done; what it raises ends the worker."""

    def __init__(
        self,
        book: SessionBook,
        journal: Journal,
        store: Store,
        evaluating: Evaluating,
        clock: Clock,
        metrics: Metrics,
        *,
        workers: int,
        max_waiting: int,
        on_finished: Callable[[], None],
        on_kept: Callable[[Sequence[Claim]], Awaitable[None]] = _tell_nobody,
        retry_s: float = 5.0,
    ) -> None:
        self._book = book
        self._journal = journal
        self._store = store
        self._evaluating = evaluating
        self._clock = clock
        self._metrics = metrics
        self.workers = workers
        self._max_waiting = max_waiting
        self._on_finished = on_finished
        self._on_kept = on_kept
        self._retry_s = retry_s
        self._queue: deque[_Waiting] = deque()
        self._later: dict[Digest, deque[Claim]] = {}
        """by session or trace with a closing here, those to come after it: its own, as revisions are kept in order, and
        those of sessions that have taken the trace, see `_line_up`"""
        self._since_ns: dict[tuple[Digest, int], int] = {}
        """since when each closing has been here, in steady time, oldest first"""
        self._there = asyncio.Event()
        self._done = asyncio.Event()
        self._done.set()

    def add(self, claims: Sequence[Claim]) -> None:
        """Those that are here already, as after the journal was read again, are not added twice."""
        now_ns = self._clock.steady_ns()
        for claim in claims:
            if _key(claim) in self._since_ns:
                continue
            self._since_ns[_key(claim)] = now_ns
            if claim.digest in self._later:
                self._later[claim.digest].append(claim)
            else:
                self._later[claim.digest] = deque()
                self._line_up(claim)
        if self._since_ns:
            self._done.clear()

    def _line_up(self, claim: Claim) -> None:
        """Into the queue, or behind a trace that this session has taken, as long as that is being judged alone: what is
        not in the store could not be superseded, and would come there after the session."""
        taken = next((trace for trace, _ in claim.absorbed if trace in self._later), None)
        if taken is not None:
            self._later[taken].append(claim)
        else:
            self._queue.append(_Waiting(Task(claim)))
            self._there.set()

    @property
    def waiting(self) -> int:
        """Closings not yet finished."""
        return len(self._since_ns)

    @property
    def room(self) -> int:
        """How many closings may be added now."""
        return max(0, self._max_waiting - self.waiting)

    def oldest_s(self) -> float:
        """How long the oldest has been here; 0 when none is."""
        since_ns = next(iter(self._since_ns.values()), None)
        return 0.0 if since_ns is None else (self._clock.steady_ns() - since_ns) / 1e9

    def let_go(self) -> None:
        """Hand out nothing of what waits: somebody else has it now. What is out already is finished."""
        gone = [one.task.claim for one in self._queue]
        gone += [claim for later in self._later.values() for claim in later]
        for claim in gone:
            del self._since_ns[_key(claim)]
        self._queue.clear()
        self._later = {digest: deque() for digest, _ in self._since_ns}
        if not self._since_ns:
            self._done.set()

    async def drained(self) -> None:
        """Wait until nothing is waiting."""
        await self._done.wait()

    async def run(self) -> None:
        """One worker; start as many as groups are to be out at once."""
        while True:
            group = await self._next()
            try:
                await self._finish(group, await self._evaluating.evaluate([one.task for one in group]))
            except EvaluationLost as lost:
                await self._try_again(group, lost)

    async def _next(self) -> list[_Waiting]:
        """What waits, shared among the workers; or the one that is to be alone."""
        while not self._queue:
            self._there.clear()
            await self._there.wait()
        if self._queue[0].alone:
            return [self._queue.popleft()]
        most = min(GROUP, -(-len(self._queue) // self.workers))
        group: list[_Waiting] = []
        while self._queue and len(group) < most and not self._queue[0].alone:
            group.append(self._queue.popleft())
        return group

    async def _finish(self, group: Sequence[_Waiting], report: Report) -> None:
        count(report.tally, self._metrics)
        now_ns = self._clock.now_ns()
        finished = [one for one, status in zip(group, report.statuses, strict=True) if status != "unfinished"]
        for one, status in zip(group, report.statuses, strict=True):
            if status == "kept":
                self._metrics.verdict_lag((now_ns - one.task.claim.closed_ms * _MS) / 1e9)
        if finished:
            self._on_finished()
            await self._mark_done([one.task.claim for one in finished])
        if len(finished) < len(group):
            log.warning("store_unavailable", error=report.problem, sessions=len(group) - len(finished))
            await asyncio.sleep(self._retry_s)
            self._put_back(one for one in group if one not in finished)

    async def _try_again(self, group: Sequence[_Waiting], lost: EvaluationLost) -> None:
        """After the end of the process that had the group. Without a culprit each is tried alone, so that the next
        end is known to be of its doing; a process that ends at the same closing again and again must not."""
        self._metrics.evaluation_retried(len(group))
        if lost.culprit is None:
            self._put_back(replace(one, alone=True) for one in group)
            return
        culprit = group[lost.culprit]
        culprit = replace(culprit, losses=culprit.losses + 1, alone=True)
        self._put_back(one for at, one in enumerate(group) if at != lost.culprit)
        if culprit.losses < _MOST_LOSSES:
            self._put_back([culprit])
        else:
            await self._give_up(culprit.task.claim, lost)

    def _put_back(self, group: Iterable[_Waiting]) -> None:
        """To the front: they have waited longest."""
        again = [replace(one, task=replace(one.task, handed_before=True)) for one in group]
        self._queue.extendleft(reversed(again))
        if self._queue:
            self._there.set()

    async def _give_up(self, claim: Claim, lost: EvaluationLost) -> None:
        """Keep a dead letter: the session is listed, and has no verdicts."""
        digest = claim.digest.hex()
        log.error("session_unreadable", digest=digest, revision=claim.revision, reason=lost.cause)
        why = f"{_MOST_LOSSES} evaluation processes ended at it, the last one because it {_CAUSES[lost.cause]}"
        letter = dead_letter(claim, SessionRef(f"unreadable:{digest}", claim.revision), why)
        while True:
            try:
                if await self._store.finish(letter, (), (), ()):
                    self._metrics.session_closed("unreadable")
                break
            except StoreUnavailable as error:
                log.warning("store_unavailable", error=str(error))
                await asyncio.sleep(self._retry_s)
        await self._mark_done([claim])

    async def _mark_done(self, claims: Sequence[Claim]) -> None:
        """In the journal; a closing that is not marked there is read again, and found finished in the store."""
        await self._on_kept(claims)
        try:
            if self._journal.failure is None:
                now_ms = self._clock.steady_ns() // _MS
                for claim in claims:
                    self._book.finished(claim.digest, claim.revision, now_ms)
                rows, size = self._book.take_rows()
                if rows:
                    await self._journal.append(rows, size)
        except StoreUnavailable as error:
            log.warning("journal_failed_at_done", error=str(error))
        for claim in claims:
            self._forget(claim)
        if not self._since_ns:
            self._done.set()

    def _forget(self, claim: Claim) -> None:
        del self._since_ns[_key(claim)]
        later = self._later.pop(claim.digest)
        while later:
            following = later.popleft()
            if following.digest == claim.digest:
                self._later[claim.digest] = later
                self._line_up(following)
                return
            self._line_up(following)


def _key(claim: Claim) -> tuple[Digest, int]:
    return claim.digest, claim.revision
