"""Close what is due, by our clock, and hand it on to be judged."""

from __future__ import annotations

import asyncio

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.journal.journal import Journal
from collector.judging import Judging
from collector.metrics import Metrics
from collector.sessions.book import Claim, Discarded, SessionBook

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

    async def run(self) -> None:
        while True:
            await self.tick()
            await asyncio.sleep(TICK_S)

    async def tick(self) -> None:
        """Close everything whose time has come. A claim is handed on only once its closing is on disk."""
        if self._journal.failure is not None:
            return
        now_ms, wall_ms = self._clock.steady_ns() // 1_000_000, self._clock.now_ns() // 1_000_000
        due = self._book.due(now_ms)
        for start in range(0, max(len(due), 1), _MOST_AT_ONCE):
            part = due[start : start + _MOST_AT_ONCE]
            closings = [self._book.close(ref, reason, now_ms, wall_ms) for ref, reason in part]
            claims = [closing for closing in closings if isinstance(closing, Claim)]
            rows, size = self._book.take_rows()
            if rows:
                try:
                    await self._journal.append(rows, size)
                except StoreUnavailable as error:
                    log.warning("journal_failed_at_closing", error=str(error))
                    return  # the book is read from the journal again; what was to close comes up once more
            for closing in closings:
                if isinstance(closing, Discarded):
                    self._metrics.session_discarded(closing.reason)
            self._judging.add(claims)
