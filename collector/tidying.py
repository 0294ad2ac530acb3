"""Keep the journal short and the clock in view: drop what nobody needs, and move long sessions out of the way.

The journal's files go oldest first and whole, so one session that stays open for hours would keep all files behind its
first row. When little else is needed of the oldest files, what is needed is written anew at the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.journal.journal import Journal
from collector.journal.segments import Extent, MissingRow
from collector.metrics import Metrics
from collector.sessions.book import SessionBook
from collector.sessions.moving import Straggler
from collector.sessions.needed import block_end

log = structlog.get_logger(__name__)

_LOOK_S = 10.0
_WORTH = 0.1  # of the files' bytes is the most that is copied to be rid of them
_MOST_STRAGGLERS = 10_000
_MOST_BYTES = 64 * 1024**2  # of one session: it is in memory while it is copied
_SLOTS_A_TURN = 10_000  # of the book, between two looks at the event loop's other work
_STEP_S = 5.0  # the wall clock may be set by this much before anybody is told


@dataclass(frozen=True, slots=True)
class Plan:
    """Copy these, and the files before row `below` can go."""

    below: int
    stragglers: tuple[Straggler, ...]


def plan(files: Sequence[Extent], stragglers: Sequence[Straggler]) -> Plan | None:
    """How many of the oldest files are worth being rid of; None when none are. `stragglers` are all that need rows in
    any of them but the newest, which stays."""
    for count in range(len(files) - 1, 0, -1):
        below = files[count].first_row
        needed = [each for each in stragglers if each.first_row < block_end(below)]
        size = sum(each.size for each in needed)
        if size <= _WORTH * sum(file.size for file in files[:count]) and all(e.size <= _MOST_BYTES for e in needed):
            return Plan(below, tuple(needed)) if needed else None
    return None


class Tidying:
    def __init__(self, book: SessionBook, journal: Journal, clock: Clock, metrics: Metrics) -> None:
        self._book = book
        self._journal = journal
        self._clock = clock
        self._metrics = metrics
        self._told_ns = 0

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            await self.step()

    async def step(self) -> None:
        self._tell_of_the_clock()
        if self._journal.failure is not None:
            return
        try:
            if self._journal.segments > 1:
                await self._move()
                self._journal.drop_before(self._book.oldest_needed())
            await self._tell_of_the_oldest()
        except StoreUnavailable as error:
            log.warning("journal_not_tidied", error=str(error))

    async def _move(self) -> None:
        """One session at a time, each in a commit of its own: whatever happens, it is in the journal once."""
        files = self._reach(self._journal.extents())
        chosen = plan(files, await self._stragglers(files))
        if chosen is None:
            return
        moved = [straggler for straggler in chosen.stragglers if await self._copy(straggler)]
        log.info("journal_sessions_moved", sessions=len(moved), of=len(chosen.stragglers), before_row=chosen.below)

    def _reach(self, files: Sequence[Extent]) -> Sequence[Extent]:
        """As many of the oldest files as have few enough sessions in them, and one more."""
        few = [n for n in range(1, len(files)) if self._needed(files[n]) <= _MOST_STRAGGLERS]
        return files[: max(few, default=0) + 1]

    def _needed(self, file: Extent) -> int:
        return self._book.needed_below(block_end(file.first_row))

    async def _stragglers(self, files: Sequence[Extent]) -> list[Straggler]:
        """What needs rows in these files, but for the newest of them."""
        below = block_end(files[-1].first_row)
        if not self._book.needed_below(below):
            return []
        found: list[Straggler] = []
        for start in range(0, self._book.slots, _SLOTS_A_TURN):
            found += self._book.stragglers(below, start, _SLOTS_A_TURN)
            await asyncio.sleep(0)
        return found

    async def _copy(self, straggler: Straggler) -> bool:
        if not self._book.can_move(straggler):
            return False
        try:
            chain = await asyncio.to_thread(self._journal.chain, straggler.last_row)
        except MissingRow as gone:  # told again, and as a dead letter, when the session is closed
            log.warning("journal_row_missing", row=gone.args[0])
            return False
        if self._journal.failure is not None or not self._book.move(straggler, chain):
            return False
        rows, size = self._book.take_rows()
        await self._journal.append(rows, size)
        self._metrics.journal_moved(size)
        return True

    async def _tell_of_the_oldest(self) -> None:
        arrived_ms = await asyncio.to_thread(self._journal.arrived_ms, self._book.oldest_needed())
        age_s = 0.0 if arrived_ms is None else self._clock.steady_ns() / 1e9 - arrived_ms / 1e3
        self._metrics.journal_oldest(age_s)

    def _tell_of_the_clock(self) -> None:
        stepped_ns = self._clock.stepped_ns()
        if abs(stepped_ns - self._told_ns) > _STEP_S * 1e9:
            log.warning("wall_clock_was_set", seconds=round(stepped_ns / 1e9, 1), since="the start")
            self._told_ns = stepped_ns
