"""Close what is due, by our clock, and hand it on to be judged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.journal.journal import Journal
from collector.judging import Judging
from collector.metrics import Metrics
from collector.sessions.book import Claim, Discarded, SessionBook
from collector.sessions.index import Ref

log = structlog.get_logger(__name__)

TICK_S = 0.2
_MOST_AT_ONCE = 500  # closings between two looks at the event loop's other work


class Closing:
    def __init__(self, book: SessionBook, journal: Journal, judging: Judging, clock: Clock, metrics: Metrics) -> None:
        self._book = book
        self._journal = journal
        self._judging = judging
        self._clock = clock
        self._metrics = metrics
        self._stopped = False

    def stop(self) -> None:
        """Close nothing more: what is open stays so, on disk."""
        self._stopped = True

    async def run(self) -> None:
        while True:
            await self.tick()
            await asyncio.sleep(TICK_S)

    async def tick(self) -> None:
        """Close everything whose time has come, as far as there is room for it to be judged: the rest stays open, and
        on disk. A claim is handed on only once its closing is on disk."""
        now_ms, wall_ms = self._clock.steady_ns() // 1_000_000, self._clock.now_ns() // 1_000_000
        while not self._stopped and self._journal.failure is None and (most := min(self._judging.room, _MOST_AT_ONCE)):
            due = self._book.due(now_ms, most)
            if not await self._close(due, now_ms, wall_ms):
                return
            if not self._book.behind:
                self._metrics.closing_caught_up(self._clock.now_ns())
                return
            await asyncio.sleep(0)  # where nothing was due there was nothing to wait for

    async def _close(self, due: Sequence[tuple[Ref, str]], now_ms: int, wall_ms: int) -> bool:
        """False when the journal has failed."""
        closings = [self._book.close(ref, reason, now_ms, wall_ms) for ref, reason in due]
        rows, size = self._book.take_rows()
        if rows:
            try:
                await self._journal.append(rows, size)
            except StoreUnavailable as error:
                log.warning("journal_failed_at_closing", error=str(error))
                return False  # the book is read from the journal again; what was to close comes up once more
        for closing in closings:
            if isinstance(closing, Discarded):
                self._metrics.session_discarded(closing.reason)
        self._judging.add([closing for closing in closings if isinstance(closing, Claim)])
        return True
