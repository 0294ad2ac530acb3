"""One partition of the topic of sessions, for as long as this worker has it: its book, its journal, its closings.

The journal is a spill of what Kafka holds, and goes when the partition does. What was decided is in the topic of
verdicts: a closing is written there before it is evaluated, and again when its verdicts are durable, so whoever takes
the partition over closes the same sessions at the same places and judges nothing twice.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog

from collector.clock import Clock
from collector.errors import Malformed, StoreUnavailable, TooLarge
from collector.evaluation.task import Evaluating
from collector.journal.journal import Journal, JournalSettings
from collector.judging import Judging
from collector.kafka.dead_letters import Cause
from collector.kafka.filing import Filing
from collector.kafka.moved_traces import MOVED, Move, superseding, told_before
from collector.kafka.places import OpenPlaces, directory_of, first_row
from collector.kafka.polling import Unreadable
from collector.kafka.progress import Progress
from collector.kafka.session_topic import UnknownVersion, read_message
from collector.kafka.telling import Telling
from collector.kafka.verdict_records import Closed, SessionRecord
from collector.kafka.verdict_topic import NotOurs, VerdictWriter
from collector.kafka.watermark import ReadOffsets
from collector.metrics import Metrics
from collector.sessions.book import Claim, Discarded, Policy, SessionBook
from collector.sessions.index import Ref
from collector.sessions.keys import Digest, Owner
from collector.sessions.surroundings import Marks
from collector.store.store import Store

log = structlog.get_logger(__name__)

_TICK_S, _PENDING_S, _SWEEP_S = 0.2, 2.0, 10.0
_MOST_AT_ONCE = 500  # closings in one transaction
_MS = 1_000_000

Bury = Callable[[Any, Cause, str], Awaitable[None]]
"""Puts a message among the dead letters; it is there on return."""


@dataclass(frozen=True, slots=True)
class Means:
    """What all shares of a worker have in common."""

    directory: Path
    policy: Callable[[], Policy]
    marks: Marks
    journal: JournalSettings
    places: OpenPlaces
    store: Store
    evaluating: Evaluating
    clock: Clock
    metrics: Metrics
    bury: Bury
    on_finished: Callable[[], None]
    workers: int
    max_waiting: int
    retry_s: float = 5.0


class Share:
    """`take` what was read of the partition, `run` beside it; `end` when it is lost for good. While `held` is false
    nothing is taken and no session is closed, and all that is known stays: the partition may come back."""

    def __init__(
        self,
        partition: int,
        place: int,
        start: int,
        known: dict[Digest, SessionRecord],
        writer: VerdictWriter,
        means: Means,
    ) -> None:
        """`start` is the offset to read from. Opens the journal: raises `StoreUnavailable`."""
        clock, policy = means.clock, means.policy()
        now_ms = clock.steady_ns() // _MS
        self.partition = partition
        self.held = True
        self.pressed = False
        """Reading has stopped for want of room: time goes by our clock then, for only closing makes room."""
        self.lost: str | None = None
        """Why nothing can be done with the partition until it is begun anew; None when all is well."""
        self.progress = Progress(("sessions",), now_ms)
        self.offsets = ReadOffsets(start)
        self._place = place
        self._means = means
        self._writer = writer
        self._telling = Telling(known, start, writer, means.store, means.retry_s)
        self._ahead = self._telling.ahead(start)
        self._owners: dict[Digest, Owner] = {}
        self._again: list[Claim] = []
        self._moves: list[Move] = []
        self._book, _ = SessionBook.read(policy, (), first_row(place) - 1, now_ms)
        self._filing = Filing(self._book, means.marks)
        self._path = directory_of(means.directory, place)
        self.journal = Journal(
            self._path, means.journal, lambda: clock.steady_ns() // _MS, means.metrics.journal_committed
        )
        means.places.add(place, self.journal)
        self.judging = Judging(
            self._book,
            self.journal,
            means.store,
            means.evaluating,
            clock,
            means.metrics,
            workers=means.workers,
            max_waiting=means.max_waiting,
            on_finished=means.on_finished,
            on_kept=self._kept,
            retry_s=means.retry_s,
        )
        self.journal.start()

    # -- reading ------------------------------------------------------------------------------------------------

    async def take(self, messages: Iterable[Any]) -> None:
        """Messages of the partition, in order; in the journal on return. Raises `StoreUnavailable` when they cannot be
        written: the share is lost then."""
        now_ms = self._means.clock.steady_ns() // _MS
        unreadable: list[tuple[Any, Cause, str]] = []
        for message in messages:
            try:
                self._take(message, now_ms)
            except UnknownVersion as error:
                unreadable.append((message, "unknown_version", str(error)))
            except (Malformed, TooLarge, ValueError) as error:
                unreadable.append((message, "malformed", str(error)))
            self.offsets.read(message.offset)
        claims, self._again = self._again, []
        await self._append()
        for message, cause, detail in unreadable:
            await self._means.bury(message, cause, detail)
        self.judging.add(claims)

    def stands(self, position: int) -> None:
        """How far the consumer has read. It goes back only where Kafka has not any more what comes next, as in a topic
        that was made anew: what it reads there would be taken for what was read before."""
        if position < self.offsets.next_offset and self.lost is None:
            read = self.offsets.next_offset
            self.lost = f"partition {self.partition} was read up to {read}, and goes on at {position}"
        self.offsets.read(position - 1)

    def _take(self, message: Any, now_ms: int) -> None:
        offset: int = message.offset
        if offset < self.offsets.next_offset:  # read before a rebalance, and once more after it
            return
        if isinstance(message, Unreadable):
            raise Malformed(message.why)
        row = self._book.next_row
        about = read_message(message.key, message.headers)
        digest = about.owner.digest
        self._catch_up(digest, offset - 1, now_ms)
        if about.moved_to is not None:
            if not told_before(self._telling.known(digest), offset):
                self._moves.append(Move(about.owner, about.moved_to, offset))
            self._catch_up(digest, offset, now_ms)
            return
        if about.followed:
            self._filing.followed(about.owner, now_ms)
        filed = self._filing.file(about, message.value or b"", now_ms)
        self._means.metrics.kafka.worker.filed(about.signal, filed.kept, filed.sampled_out, filed.full)
        if self._book.next_row > row:
            self._owners[digest] = about.owner
            self.offsets.filed(offset, row)
        self._catch_up(digest, offset, now_ms)

    def _catch_up(self, digest: Digest, offset: int, now_ms: int) -> None:
        """Close the session as it was closed before, where all up to this offset has been read."""
        ahead = self._ahead.get(digest)
        while ahead and ahead[0].last_offset <= offset:
            self._close_again(digest, ahead.popleft(), now_ms)

    def _close_again(self, digest: Digest, closed: Closed, now_ms: int) -> None:
        book = self._book
        slot = book.index.find(digest)
        if slot is None:  # its telemetry is not kept any longer
            return
        since_ms = max(0, self._means.clock.now_ns() // _MS - closed.closed_ms)
        then_ms = max(0, now_ms - since_ms)
        book.index.revision[slot] = closed.revision - 1
        claim = book.close(book.index.ref(slot), closed.reason, then_ms, closed.closed_ms)
        if not isinstance(claim, Claim):
            return
        if closed.judged:
            book.finished(digest, closed.revision, then_ms)
        else:
            self._again.append(replace(claim, inclusion_probability=closed.probability))

    async def _append(self) -> None:
        rows, size = self._book.take_rows()
        if not rows:
            return
        try:
            await self.journal.append(rows, size)
        except StoreUnavailable as error:
            self.lost = str(error)
            raise

    # -- closing ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until it is lost: then it says why in `lost`, and returns."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._every(_TICK_S, self.close_due))
                tasks.create_task(self._every(_PENDING_S, self._look_at_pending))
                tasks.create_task(self._every(_SWEEP_S, self._sweep))
                for _ in range(self._means.workers):
                    tasks.create_task(self.judging.run())
        except* (NotOurs, StoreUnavailable) as problems:
            self.lost = self.lost or str(problems.exceptions[0])
            log.warning("kafka_share_lost", partition=self.partition, problem=self.lost)

    @staticmethod
    async def _every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await work()
            await asyncio.sleep(seconds)

    async def close_due(self) -> None:
        """Close what is over, by the moment up to which everything has been read. Raises `NotOurs`: nothing of it is
        evaluated then."""
        clock = self._means.clock
        now_ms = clock.steady_ns() // _MS if self.pressed else self.progress.read_ms()
        if self.held and self._moves:
            await self._move(now_ms)
        while self.held and self.lost is None and (most := min(self.judging.room, _MOST_AT_ONCE)):
            due = self._book.due(now_ms, most)
            await self._close(due, now_ms, clock.now_ns() // _MS)
            if not self._book.behind:
                return
            await asyncio.sleep(0)  # where nothing was due there was nothing to wait for

    async def _close(self, due: Sequence[tuple[Ref, str]], now_ms: int, wall_ms: int) -> None:
        claims: list[Claim] = []
        for ref, reason in due:
            closing = self._book.close(ref, reason, now_ms, wall_ms)
            if isinstance(closing, Discarded):
                self._means.metrics.session_discarded(closing.reason)
            elif closing is not None:
                claims.append(closing)
                self._note(closing)
        await self._append()
        await self._telling.closing([claim.digest for claim in claims])
        self.judging.add(claims)

    def _note(self, claim: Claim) -> None:
        closed = Closed(
            claim.revision,
            claim.reason,
            claim.closed_ms,
            self.offsets.of(max(claim.heads)),
            claim.inclusion_probability,
        )
        record = self._telling.known(claim.digest)
        self._telling.note(self._owners[claim.digest] if record is None else record.owner, closed)

    async def _move(self, now_ms: int) -> None:
        """Let traces go that belong to sessions, once what is being judged of them is."""
        for move in list(self._moves):
            slot = self._book.index.find(move.trace.digest)
            if slot is not None:
                if not self._book.leave(slot, now_ms):
                    continue
                self._means.metrics.session_discarded(MOVED)
                await self._append()
            try:
                await self._supersede(move)
            except StoreUnavailable as error:
                log.warning("store_unavailable", error=str(error))
                return
            self._moves.remove(move)

    async def _supersede(self, move: Move) -> None:
        store, trace = self._means.store, move.trace
        latest = next(iter(await store.closings(trace.name, trace.tenant)), None)
        if latest is None:
            return
        session, closed = superseding(move, latest.revision, self._means.clock.now_ns() // _MS)
        await store.finish(session, (), (), ())
        await self._telling.superseded(trace, closed)

    async def _kept(self, claims: Sequence[Claim]) -> None:
        """Their verdicts are in the store."""
        await self._telling.kept([(claim.digest, claim.revision) for claim in claims])

    async def _look_at_pending(self) -> None:
        if self.held:
            await self._telling.look_at_pending()

    async def _sweep(self) -> None:
        """Forget what nobody asks for, and let files of the journal go."""
        find, low = self._book.index.find, self.low()
        self._owners = {digest: owner for digest, owner in self._owners.items() if find(digest) is not None}
        self._telling.forget(lambda digest: find(digest) is not None, low)
        self._ahead = {digest: ahead for digest, ahead in self._ahead.items() if ahead}
        self.journal.drop_before(self._book.oldest_needed())

    # -- figures, and the end -------------------------------------------------------------------------------------

    def low(self) -> int:
        """The offset to commit."""
        low = self.offsets.low(self._book.index.needed.lowest())
        return min([low, *(move.offset for move in self._moves)])

    def open_sessions(self) -> tuple[int, int]:
        """Sessions and unnamed traces that collect telemetry."""
        return self._book.open_sessions(), self._book.open_traces()

    def sample(self, rate: float) -> None:
        self._book.policy = replace(self._book.policy, rate=rate)

    async def end(self, within_s: float) -> None:
        """Hand out nothing more, let what is being evaluated be kept, and go. The journal goes too."""
        self.held = False
        self.judging.let_go()
        if self.lost is None:
            try:
                async with asyncio.timeout(within_s):
                    await self.judging.drained()
            except TimeoutError:
                log.warning("kafka_closings_left", partition=self.partition, closings=self.judging.waiting)

    async def close(self) -> None:
        """After `end`, once `run` is over."""
        self._means.places.remove(self._place)
        await self._writer.stop()
        if await self.journal.stop():
            await asyncio.to_thread(shutil.rmtree, self._path, ignore_errors=True)
