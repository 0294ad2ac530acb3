"""Claim a closed session, extract what the agent did, decide what code can decide, keep it with the open questions.

Everything from here can be done again after a crash and yields the same ids, so a closing is marked as done in the
journal only after its verdicts are in the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from collector.attribution import attribute
from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.journal.journal import Journal
from collector.metrics import Metrics
from collector.sessions.assembly import assemble
from collector.sessions.book import Claim, SessionBook
from collector.sessions.keys import Kind, SessionNames
from collector.store.store import ClosedSession, PendingQuestion, Store
from extractors.registry import UNRECOGNISED, extract
from extractors.spans import Session
from extractors.trajectory import Trajectory
from judge.catalog import Evaluator, plan_all
from judge.question import Question, unanswered
from judge.suites import Suite, expectations_for
from judge.verdict import Judged, NotJudged, SessionRef, Verdict

log = structlog.get_logger(__name__)

_RETRY_S = 5.0
_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Rules:
    """What sessions are judged by; replaced as a whole when the configuration is read again."""

    evaluators: Sequence[Evaluator]
    suites: Sequence[Suite]
    session_names: SessionNames


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one claim turned out to hold."""

    session: Session
    first_ms: int
    """when the first of it arrived"""
    trajectory: Trajectory
    verdicts: tuple[Judged, ...]
    questions: tuple[PendingQuestion, ...]
    defects: tuple[tuple[str, Exception], ...]


class Judging:
    """Takes claims from its queue, a few at a time. `judge_problem` is None when there is a judge to ask, else the
    `NotJudged` reason that questions get at once; `exporters` are the names of those that verdicts are queued for."""

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
    ) -> None:
        self._book = book
        self._journal = journal
        self._store = store
        self.rules = rules
        self._clock = clock
        self._metrics = metrics
        self._exporters = exporters
        self._judge_problem = judge_problem
        self._on_finished = on_finished
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
                try:
                    reading = await asyncio.to_thread(self._read, claim)
                except Exception as error:  # one session that cannot be read must not stop the ones behind it
                    log.exception("session_unreadable", digest=claim.digest.hex(), revision=claim.revision)
                    await self._keep_unreadable(claim, error)
                else:
                    await self._keep(claim, reading)
                break
            except StoreUnavailable as error:
                log.warning("store_unavailable", error=str(error))
                await asyncio.sleep(_RETRY_S)
        await self._mark_done(claim)

    async def _keep_unreadable(self, claim: Claim, error: Exception) -> None:
        """The dead letter: the session is listed, with what went wrong, and has no verdicts."""
        ref = SessionRef(f"unreadable:{claim.digest.hex()}", claim.revision)
        note = f"the session could not be read: {type(error).__name__}: {error}"[:2000]
        closed = ClosedSession(
            ref, claim.closed_ms * _MS, claim.reason, claim.inclusion_probability, None, 0, 0, note, judged=False
        )
        if await self._store.finish(closed, (), (), ()):
            self._metrics.session_closed("unreadable")

    async def _mark_done(self, claim: Claim) -> None:
        if self._journal.failure is not None:
            return  # the closing is read from the journal again, and found finished in the store
        self._book.finished(claim.digest, claim.revision, self._clock.now_ns() // _MS)
        rows, size = self._book.take_rows()
        if rows:
            try:
                await self._journal.append(rows, size)
            except StoreUnavailable as error:
                log.warning("journal_failed_at_done", error=str(error))

    def _read(self, claim: Claim) -> _Reading:
        """In a thread: rows, session, trajectory, verdicts, questions."""
        own = [row for head in claim.heads for row in self._journal.chain(head)]
        neighbours = [row for head in claim.neighbours for row in self._journal.chain(head)]
        rules = self.rules
        session = assemble(claim, own, neighbours, rules.session_names)
        trajectory = extract(session)
        plan = plan_all(trajectory, expectations_for(trajectory, rules.suites), rules.evaluators)
        ref = SessionRef(session.session_id, claim.revision, session.tenant)
        now_ns = self._clock.now_ns()
        verdicts = list(plan.verdicts)
        questions: list[PendingQuestion] = []
        for question in plan.questions:
            if self._judge_problem is not None:
                verdicts.append(unanswered(question, self._judge_problem.reason, self._judge_problem.detail))
            else:
                questions.append(self._pending(question, trajectory, ref, claim, now_ns))
        judged = tuple(self._attribute(verdict, trajectory, ref, claim, now_ns) for verdict in verdicts)
        first_ms = min((key.at_ms for key, _ in own if key.digest == claim.digest), default=claim.closed_ms)
        return _Reading(session, first_ms, trajectory, judged, tuple(questions), plan.errors)

    @staticmethod
    def _attribute(verdict: Verdict, trajectory: Trajectory, ref: SessionRef, claim: Claim, now_ns: int) -> Judged:
        return attribute(
            verdict,
            trajectory,
            ref,
            close_reason=claim.reason,
            inclusion_probability=claim.inclusion_probability,
            judged_ns=now_ns,
        )

    def _pending(
        self, question: Question, trajectory: Trajectory, ref: SessionRef, claim: Claim, now_ns: int
    ) -> PendingQuestion:
        draft = self._attribute(unanswered(question, "pending", "waiting for a judge"), trajectory, ref, claim, now_ns)
        return PendingQuestion(draft.id, question, draft, created_ns=now_ns, next_ns=now_ns)

    async def _keep(self, claim: Claim, reading: _Reading) -> None:
        if claim.kind == Kind.TRACE and nothing_happened(reading.trajectory):
            # Other software that shares the pipeline, or a harness's housekeeping: nobody would look for it here.
            if reading.trajectory.harness == UNRECOGNISED:
                self._metrics.unrecognised(reading.trajectory.scopes)
            self._metrics.session_discarded("nothing_happened")
            return
        session, closed_ns = reading.session, claim.closed_ms * _MS
        ref = SessionRef(session.session_id, claim.revision, session.tenant)
        closed = ClosedSession(
            ref,
            closed_ns,
            claim.reason,
            claim.inclusion_probability,
            reading.trajectory,
            len(session.spans),
            len(session.records),
            note="; ".join(reading.trajectory.notes)[:2000],
        )
        earlier = await self._store.session(session.session_id, session.tenant)
        if any(closing.closed_ns == closed_ns for closing in earlier):
            return  # this very closing, kept before a crash
        # The book forgets a session after its late window, the store does not: what began to arrive after a judged
        # closing, with the book knowing nothing of it, came too late.
        if any(closing.judged and closing.closed_ns < reading.first_ms * _MS for closing in earlier):
            await self._keep_late(closed, max(closing.ref.revision for closing in earlier))
            return
        if await self._store.finish(closed, reading.verdicts, reading.questions, self._exporters):
            self._count(claim, reading)
        self._on_finished()

    async def _keep_late(self, closed: ClosedSession, latest: int) -> None:
        note = "telemetry after the late window of an earlier revision: kept, not judged"
        late = replace(closed, ref=replace(closed.ref, revision=latest + 1), judged=False, note=note)
        if await self._store.finish(late, (), (), ()):
            self._metrics.late("traces", closed.spans)
            self._metrics.late("logs", closed.records)

    def _count(self, claim: Claim, reading: _Reading) -> None:
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
