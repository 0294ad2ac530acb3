"""Admit, route, append, acknowledge: what a sender is told is true is on disk by then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import structlog

from collector.arriving import Arriving
from collector.clock import Clock
from collector.errors import Refused, StoreUnavailable
from collector.journal.journal import Journal
from collector.journal.rows import Signal
from collector.metrics import Metrics
from collector.sessions.book import Claim, SessionBook
from collector.sessions.routing import MOST_AT_ONCE, Routed, Router

log = structlog.get_logger(__name__)

_ROOM_CHECK_S = 1.0
_MEND_S = 2.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be under way at once; above it senders are told to come back."""

    pending_bytes: int = 256 * 1024**2
    in_flight: int = 512
    open_sessions: int = 2_000_000


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was not taken of an accepted request, and why. Sending it again would not help."""

    rejected: int = 0
    cause: str = ""


class Ingest:
    """Every receiver ends here. Belongs to the event loop."""

    def __init__(
        self,
        book: SessionBook,
        router: Router,
        journal: Journal,
        limits: Limits,
        clock: Clock,
        metrics: Metrics,
        on_recovered: Callable[[list[Claim]], None],
    ) -> None:
        self._book = book
        self._router = router
        self._journal = journal
        self._limits = limits
        self._clock = clock
        self._metrics = metrics
        self._on_recovered = on_recovered
        self._in_flight = 0
        self._arriving = Arriving(self.admit)
        self._no_room: str | None = None
        self._stopping = False

    def problem(self) -> str | None:
        """Why nothing can be taken just now, for the ready probe; None when all is well."""
        if self._stopping:
            return "stopping"
        return self._journal.failure or self._no_room

    def stop_taking(self) -> None:
        self._stopping = True

    def admit(self, size: int) -> None:
        """Raises `Refused` when a request of this many bytes has no room now. Cheap: called before anything else."""
        if self._stopping:
            raise Refused("stopping", "shutting down; send this to the next instance", retry_after_s=1)
        if self._journal.failure is not None:
            raise StoreUnavailable(self._journal.failure)
        if self._no_room is not None:
            raise Refused("disk_full", self._no_room, retry_after_s=30)
        limits = self._limits
        if self._in_flight >= limits.in_flight:
            raise Refused("in_flight", f"{self._in_flight} requests are waiting for the disk", retry_after_s=1)
        pending = self._journal.pending_bytes + self._arriving.bytes
        if pending + size > limits.pending_bytes:
            raise Refused("pending_bytes", f"{pending} bytes are being received, or wait for the disk", 1)
        if len(self._book.index) > limits.open_sessions:
            raise Refused("open_sessions", f"{len(self._book.index)} sessions are open", retry_after_s=15)

    def arriving(self) -> AbstractContextManager[Callable[[int], None]]:
        """While a body is being received in parts: call for each part with its bytes. Raises `Refused`."""
        return self._arriving.body()

    async def accept(self, signal: Signal, request: bytes, tenant: str = "") -> Receipt:
        """Take an uncompressed Export{Trace,Logs}ServiceRequest; durable on return.

        Raises `Malformed` when the envelope is no OTLP, `Refused` or `StoreUnavailable` when it should be sent again.
        """
        self.admit(len(request))
        # No await between routing and appending: rows must reach the journal in the order of their numbers.
        now_ms = self._clock.steady_ns() // 1_000_000
        lost = Routed()
        self._in_flight += 1
        try:
            for routed in self._router.turns(signal, request, tenant, now_ms):
                if routed.rows:
                    await self._appended(signal, routed)
                elif routed.received >= MOST_AT_ONCE:
                    await asyncio.sleep(0)  # nothing to wait for, and others have waited
                self._count(signal, routed)
                lost.add_lost(routed)
        finally:
            self._in_flight -= 1
        return Receipt(lost.rejected + lost.no_session + lost.full, self._cause(lost))

    async def _appended(self, signal: Signal, routed: Routed) -> None:
        done = self._journal.append(routed.rows, routed.size)
        try:
            await asyncio.shield(done)
        except StoreUnavailable:
            self._count_refused(signal, routed)
            raise
        except asyncio.CancelledError:  # the sender has gone away; what it sent is stored all the same
            done.add_done_callback(
                lambda done: (
                    self._count(signal, routed) if done.exception() is None else self._count_refused(signal, routed)
                )
            )
            raise

    def _count_refused(self, signal: Signal, routed: Routed) -> None:
        self._metrics.received(signal, routed.received)
        self._metrics.dropped(signal, "refused", routed.received)

    def _count(self, signal: Signal, routed: Routed) -> None:
        metrics = self._metrics
        metrics.received(signal, routed.received)
        metrics.stored(signal, routed.kept)
        metrics.dropped(signal, "sampled_out", routed.sampled_out)
        metrics.dropped(signal, "own", routed.own)
        metrics.dropped(signal, "no_session", routed.no_session)
        metrics.dropped(signal, "session_full", routed.full)
        metrics.dropped(signal, "malformed", routed.rejected)

    @staticmethod
    def _cause(routed: Routed) -> str:
        causes = [f"{routed.rejected} rejected, the first because {routed.cause}"] if routed.rejected else []
        if routed.no_session:
            causes.append(f"{routed.no_session} name no session and no trace")
        if routed.full:
            causes.append(f"{routed.full} are of sessions that are full (sessions.max_spans, sessions.max_bytes)")
        return "; ".join(causes)

    async def watch(self) -> None:
        """Keep an eye on the disk, and come back by ourselves when the journal has failed."""
        while True:
            try:
                room = await asyncio.to_thread(self._journal.room)
                self._metrics.journal_room(await asyncio.to_thread(self._journal.room_bytes))
            except OSError as error:
                room = f"the journal's disk cannot be read: {error}"
            if room != self._no_room:
                log.warning("journal_room", problem=room or "none any more")
            self._no_room = room
            if self._journal.failure is not None:
                await self._mend()
            await asyncio.sleep(_ROOM_CHECK_S)

    async def _mend(self) -> None:
        log.error("journal_failed", error=self._journal.failure)
        await asyncio.sleep(_MEND_S)
        try:
            book, claims = await asyncio.to_thread(self._read_anew)
        except Exception:  # whatever it is: we are still broken, stay refused, and try again
            log.exception("journal_unreadable")
            return
        self._book.become(book)
        self._journal.restart()
        log.info("journal_recovered", sessions=len(self._book.index), claims=len(claims))
        self._on_recovered(claims)

    def _read_anew(self) -> tuple[SessionBook, list[Claim]]:
        """In a thread: it may take seconds, and senders, probes and scrapes want an answer meanwhile."""
        journal = self._journal
        journal.reopen()
        now_ms = self._clock.steady_ns() // 1_000_000
        return SessionBook.read(self._book.policy, journal.entries(), journal.last_row(), now_ms)
