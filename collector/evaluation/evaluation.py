"""Evaluate closings in this process: read what a claim names, judge it by code, keep a group in one transaction.

Doing any of it again yields the same ids, and the first write wins. One closing that cannot be read or kept is listed
with what went wrong, and the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import structlog

from collector.errors import StoreUnavailable
from collector.evaluation.tally import NOTHING, Counts, counted, tally
from collector.evaluation.task import Report, Status, Task
from collector.reading import Reader, Reading, Rules
from collector.sampling import SampledOut
from collector.sessions.book import Claim
from collector.sessions.keys import Kind
from collector.skill_metrics import asked_for
from collector.store.finishing import Fate, Finishing, Kept, KeptBefore, TooLate, finishing
from collector.store.store import ClosedSession, Store
from extractors.registry import UNRECOGNISED
from extractors.trajectory import Trajectory
from judge.verdict import Judged, SessionRef

log = structlog.get_logger(__name__)

_MS = 1_000_000
_NAMED_SINCE = "named since"
MOST_BYTES = 16 * 1024 * 1024
"""Of rows held before they are written: sessions can be large."""

Progress: TypeAlias = Callable[[int | None, bool], None]
"""Told the place in its group of the task that is worked on, None for the group as a whole, and whether it is being
kept (rather than read)."""


Follows: TypeAlias = Callable[[Sequence[Judged]], Sequence[Judged]]
"""What to keep beside all the verdicts of a closing."""


def _tell_nobody(_at: int | None, _keeping: bool) -> None:
    """For who does not need to know."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A closing that is ready to be written, and what is to be counted once it is."""

    task: Task
    closed: ClosedSession
    rows: Finishing
    counts: Counts
    dead_letter: bool = False


@dataclass(frozen=True, slots=True)
class _Ended:
    status: Status
    counts: Counts = NOTHING
    problem: str | None = None


class Evaluation:
    """`exporters` are the names of those that verdicts are queued for."""

    def __init__(
        self,
        reader: Reader,
        store: Store,
        rules: Rules,
        follows: Follows,
        *,
        exporters: Sequence[str],
        progress: Progress = _tell_nobody,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._reader = reader
        self._store = store
        self._rules = rules
        self._follows = follows
        self._exporters = exporters
        self._progress = progress
        self._most_bytes = most_bytes

    def judge_by(self, rules: Rules, follows: Follows) -> None:
        """From the next group on."""
        self._rules, self._follows = rules, follows

    async def evaluate(self, tasks: Sequence[Task]) -> Report:
        ended: dict[int, _Ended] = {}
        while len(ended) < len(tasks):
            prepared = await asyncio.to_thread(self._prepare, tasks, len(ended), self._rules, self._follows)
            ended |= {at: one for at, one in prepared.items() if isinstance(one, _Ended)}
            ended |= await self._keep({at: one for at, one in prepared.items() if isinstance(one, _Prepared)})
        self._progress(None, False)
        inside = [ended[at] for at in range(len(tasks))]
        problem = next((one.problem for one in inside if one.problem is not None), None)
        return Report(tuple(one.status for one in inside), tally(one.counts for one in inside), problem)

    # -- reading, in a thread -----------------------------------------------------------------------------------

    def _prepare(
        self, tasks: Sequence[Task], start: int, rules: Rules, follows: Follows
    ) -> dict[int, _Prepared | _Ended]:
        """From `start` as many as are to be held at once."""
        prepared: dict[int, _Prepared | _Ended] = {}
        size = 0
        for at in range(start, len(tasks)):
            self._progress(at, False)
            one = prepared[at] = self._prepare_one(tasks[at], rules, follows)
            size += one.rows.size if isinstance(one, _Prepared) else 0
            if size > self._most_bytes:
                break
        return prepared

    def _prepare_one(self, task: Task, rules: Rules, follows: Follows) -> _Prepared | _Ended:
        claim = task.claim
        ref = SessionRef(f"unreadable:{claim.digest.hex()}", claim.revision)
        try:
            reading = self._reader.read(claim, rules)
            ref = reading.ref
            return _discarded(claim, reading) or self._prepared(task, reading, follows)
        except StoreUnavailable as error:
            return _Ended("unfinished", problem=str(error))
        except Exception as error:  # noqa: BLE001 - told there
            return _dead_letter(task, ref, error)

    @staticmethod
    def _prepared(task: Task, reading: Reading, follows: Follows) -> _Prepared | _Ended:
        sampled = reading.sampled
        if isinstance(sampled, SampledOut):
            return _Ended("settled", Counts(discarded="sampled_out"))
        claim, session, trajectory = task.claim, reading.session, reading.trajectory
        closed = ClosedSession(
            reading.ref,
            claim.closed_ms * _MS,
            claim.reason,
            sampled.probability,
            trajectory,
            len(session.spans),
            len(session.records),
            note="; ".join((*sampled.notes, *trajectory.notes))[:2000],
        )
        verdicts = reading.verdicts
        if not reading.questions:
            verdicts += tuple(follows(verdicts))
        for evaluator, error in reading.defects:
            log.error("evaluator_failed", evaluator=evaluator, session=session.session_id, exc_info=error)
        return _Prepared(
            task,
            closed,
            finishing(closed, verdicts, reading.questions, next_only=True, moved=_moved(closed, reading.absorbed)),
            Counts(
                closed=claim.reason,
                scopes=trajectory.scopes if trajectory.harness == UNRECOGNISED else None,
                lost_spans=session.lost_spans,
                lost_records=session.lost_records,
                skills=asked_for(trajectory),
                verdicts=counted(verdicts),
            ),
        )

    # -- keeping ------------------------------------------------------------------------------------------------

    async def _keep(self, prepared: Mapping[int, _Prepared]) -> dict[int, _Ended]:
        if not prepared:
            return {}
        self._progress(next(iter(prepared)) if len(prepared) == 1 else None, True)
        try:
            fates = await self._store.finish_all([one.rows for one in prepared.values()], self._exporters)
            return {at: await self._ended(one, fate) for (at, one), fate in zip(prepared.items(), fates, strict=True)}
        except StoreUnavailable as error:
            return dict.fromkeys(prepared, _Ended("unfinished", problem=str(error)))
        except Exception as error:
            if len(prepared) > 1:  # the fault is one's; the others go on without it
                return {at: ended for at in prepared for ended in (await self._keep({at: prepared[at]})).values()}
            ((at, one),) = prepared.items()
            if one.dead_letter:
                raise
            return await self._keep({at: _dead_letter(one.task, one.closed.ref, error)})

    async def _ended(self, one: _Prepared, fate: Fate) -> _Ended:
        match fate:
            case KeptBefore() if not one.task.handed_before:
                return _Ended("settled")
            case Kept() | KeptBefore():
                return _Ended("settled" if one.dead_letter else "kept", one.counts)
            case TooLate(latest) if await self._moved_since(one, latest):
                return _Ended("settled", Counts(discarded="moved"))
            case TooLate(latest):
                await self._keep_late(one.closed, latest)
                late = Counts(closed="late", late_spans=one.closed.spans, late_records=one.closed.records)
                return _Ended("settled", late)

    async def _moved_since(self, one: _Prepared, latest: int) -> bool:
        """Is it of a trace that became part of a session after this closing, which has judged what is in it?"""
        if one.task.claim.kind != Kind.TRACE:
            return False
        kept = await self._store.session(one.closed.ref.session_id, one.closed.ref.tenant)
        return any(
            each.ref.revision == latest
            and each.note.startswith(_NAMED_SINCE)
            and each.closed_ns >= one.closed.closed_ns
            for each in kept
        )

    async def _keep_late(self, closed: ClosedSession, latest: int) -> None:
        note = "telemetry after the late window of an earlier revision: kept, not judged"
        fate: Fate = TooLate(latest)
        while not isinstance(fate, Kept):
            latest += 1
            late = replace(closed, ref=replace(closed.ref, revision=latest), judged=False, note=note)
            (fate,) = await self._store.finish_all([finishing(late, (), ())], ())


def _moved(closed: ClosedSession, traces: Sequence[SessionRef]) -> list[ClosedSession]:
    """Closings that supersede what was judged of a trace alone, and say where it belongs."""
    note = f"{_NAMED_SINCE}: what it has is judged as part of session {closed.ref.session_id}"
    return [replace(closed, ref=ref, trajectory=None, spans=0, records=0, note=note) for ref in traces]


def _discarded(claim: Claim, reading: Reading) -> _Ended | None:
    """What is neither judged nor kept: other software that shares the pipeline, or a harness's housekeeping. Nobody
    would look for it here."""
    if claim.kind != Kind.TRACE or not nothing_happened(reading.trajectory):
        return None
    scopes = reading.trajectory.scopes if reading.trajectory.harness == UNRECOGNISED else None
    return _Ended("settled", Counts(discarded="nothing_happened", scopes=scopes))


def _dead_letter(task: Task, ref: SessionRef, error: Exception) -> _Prepared:
    log.error("session_unreadable", digest=task.claim.digest.hex(), revision=task.claim.revision, exc_info=error)
    closed = dead_letter(task.claim, ref, f"{type(error).__name__}: {error}")
    return _Prepared(task, closed, finishing(closed, (), ()), Counts(closed="unreadable"), dead_letter=True)


def dead_letter(claim: Claim, ref: SessionRef, why: str) -> ClosedSession:
    """The session as it is listed, with what went wrong, and without verdicts."""
    note = f"the session could not be read: {why}"[:2000]
    return ClosedSession(
        ref, claim.closed_ms * _MS, claim.reason, claim.inclusion_probability, None, 0, 0, note, judged=False
    )


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
