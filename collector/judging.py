"""Claim a closed session, have it read, keep what code decided with the questions that are open.

Everything from here can be done again after a crash and yields the same ids, so a closing is marked as done in the
journal only after its verdicts are in the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.journal.journal import Journal
from collector.metrics import Metrics
from collector.reading import Reader, Reading
from collector.reading import Rules as Rules  # noqa: PLC0414 - whoever starts the judging looks for it here
from collector.sampling import SampledOut
from collector.sessions.book import Claim, SessionBook
from collector.sessions.keys import Kind
from collector.store.store import ClosedSession, Store
from extractors.registry import UNRECOGNISED
from extractors.trajectory import Trajectory
from judge.verdict import NotJudged, SessionRef

log = structlog.get_logger(__name__)

_MS = 1_000_000


class Judging:
    """Takes claims from its queue, a few at a time. `judge_problem` is None when there is a judge to ask, else the
    `NotJudged` reason that questions get at once; `exporters` are the names of those that verdicts are queued for;
    `retry_s` is how long to wait for a store that is away."""

    def __init__(
        self,
        book: SessionBook,
        journal: Journal,
        store: Store,
        rules: Rules,
        clock: Clock,
        metrics: Metrics,
        *,
        exporters: Sequence[str],
        judge_problem: NotJudged | None,
        on_finished: Callable[[], None],
        retry_s: float = 5.0,
    ) -> None:
        self._book = book
        self._journal = journal
        self._store = store
        self._reader = Reader(journal, clock, judge_problem)
        self.rules = rules
        self._clock = clock
        self._metrics = metrics
        self._exporters = exporters
        self._on_finished = on_finished
        self._retry_s = retry_s
        self._claims: asyncio.Queue[Claim] = asyncio.Queue()
        self._unfinished = 0

    def add(self, claims: Sequence[Claim]) -> None:
        self._unfinished += len(claims)
        for claim in claims:
            self._claims.put_nowait(claim)

    @property
    def waiting(self) -> int:
        """Closings not yet finished."""
        return self._unfinished

    async def drained(self) -> None:
        """Wait until nothing is waiting."""
        await self._claims.join()

    async def run(self) -> None:
        """One worker; start as many as sessions may be worked on at once."""
        while True:
            claim = await self._claims.get()
            await self._finish(claim)
            self._unfinished -= 1
            self._claims.task_done()

    async def _finish(self, claim: Claim) -> None:
        """Until it is done: a store that is away comes back, and the session stays in the journal till then."""
        while True:
            try:
                await self._judge(claim)
                break
            except StoreUnavailable as error:
                log.warning("store_unavailable", error=str(error))
                await asyncio.sleep(self._retry_s)
        await self._mark_done(claim)

    async def _judge(self, claim: Claim) -> None:
        """Read and keep; one session with which that cannot be done must not stop the ones behind it."""
        reading = await asyncio.to_thread(self._reader.attempt, claim, self.rules)
        match reading:
            case StoreUnavailable():
                raise reading
            case Exception():
                await self._keep_dead_letter(
                    claim, SessionRef(f"unreadable:{claim.digest.hex()}", claim.revision), reading
                )
            case Reading():
                try:
                    await self._keep(claim, reading)
                except StoreUnavailable:
                    raise
                except Exception as error:  # noqa: BLE001 - told there
                    await self._keep_dead_letter(claim, reading.ref, error)

    async def _keep_dead_letter(self, claim: Claim, ref: SessionRef, error: Exception) -> None:
        """The session is listed, with what went wrong, and has no verdicts."""
        log.error("session_unreadable", digest=claim.digest.hex(), revision=claim.revision, exc_info=error)
        note = f"the session could not be read: {type(error).__name__}: {error}"[:2000]
        closed = ClosedSession(
            ref, claim.closed_ms * _MS, claim.reason, claim.inclusion_probability, None, 0, 0, note, judged=False
        )
        if await self._store.finish(closed, (), (), ()):
            self._metrics.session_closed("unreadable")

    async def _mark_done(self, claim: Claim) -> None:
        if self._journal.failure is not None:
            return  # the closing is read from the journal again, and found finished in the store
        self._book.finished(claim.digest, claim.revision, self._clock.steady_ns() // _MS)
        rows, size = self._book.take_rows()
        if rows:
            try:
                await self._journal.append(rows, size)
            except StoreUnavailable as error:
                log.warning("journal_failed_at_done", error=str(error))

    async def _keep(self, claim: Claim, reading: Reading) -> None:
        if claim.kind == Kind.TRACE and nothing_happened(reading.trajectory):
            # Other software that shares the pipeline, or a harness's housekeeping: nobody would look for it here.
            if reading.trajectory.harness == UNRECOGNISED:
                self._metrics.unrecognised(reading.trajectory.scopes)
            self._metrics.session_discarded("nothing_happened")
            return
        sampled = reading.sampled
        if isinstance(sampled, SampledOut):
            self._metrics.session_discarded("sampled_out")
            return
        session, closed_ns = reading.session, claim.closed_ms * _MS
        closed = ClosedSession(
            reading.ref,
            closed_ns,
            claim.reason,
            sampled.probability,
            reading.trajectory,
            len(session.spans),
            len(session.records),
            note="; ".join((*sampled.notes, *reading.trajectory.notes))[:2000],
        )
        earlier = await self._store.closings(session.session_id, session.tenant)
        if any(closing.closed_ns == closed_ns for closing in earlier):
            return  # this very closing, kept before a crash
        # The book forgets a session after its late window, the store does not: a revision that was there before is
        # counted anew, by a book that knows nothing of it, for what came too late.
        if any(closing.revision >= claim.revision for closing in earlier):
            await self._keep_late(closed, max(closing.revision for closing in earlier))
            return
        await self._supersede(closed, reading.absorbed)
        if await self._store.finish(closed, reading.verdicts, reading.questions, self._exporters):
            self._count(claim, reading)
        self._on_finished()

    async def _supersede(self, closed: ClosedSession, traces: Sequence[SessionRef]) -> None:
        """What was judged of a trace alone is superseded by a closing without verdicts that says where it belongs."""
        for ref in traces:
            if await self._store.closings(ref.session_id, ref.tenant):
                note = f"named since: what it has is judged as part of session {closed.ref.session_id}"
                moved = replace(closed, ref=ref, trajectory=None, spans=0, records=0, note=note)
                await self._store.finish(moved, (), (), ())

    async def _keep_late(self, closed: ClosedSession, latest: int) -> None:
        note = "telemetry after the late window of an earlier revision: kept, not judged"
        late = replace(closed, ref=replace(closed.ref, revision=latest + 1), judged=False, note=note)
        if await self._store.finish(late, (), (), ()):
            self._metrics.session_closed("late")
            self._metrics.late("traces", closed.spans)
            self._metrics.late("logs", closed.records)

    def _count(self, claim: Claim, reading: Reading) -> None:
        metrics, session = self._metrics, reading.session
        metrics.session_closed(claim.reason)
        metrics.undecodable("traces", session.lost_spans)
        metrics.undecodable("logs", session.lost_records)
        if reading.trajectory.harness == UNRECOGNISED:
            metrics.unrecognised(reading.trajectory.scopes)
        for judged in reading.verdicts:
            metrics.verdict(judged)
        metrics.verdict_lag((self._clock.now_ns() - claim.closed_ms * _MS) / 1e9)
        for evaluator, error in reading.defects:
            log.error("evaluator_failed", evaluator=evaluator, session=session.session_id, exc_info=error)


def nothing_happened(trajectory: Trajectory) -> bool:
    """Did no person ask, no model answer, and no agent load a skill or fail? Tool calls alone are no agent's work to
    judge: servers of tools report the calls they get, each in a trace of its own that names no session."""
    return not (
        trajectory.prompts
        or trajectory.steps
        or trajectory.skill_invocations
        or trajectory.failures
        or trajectory.answer
    )
