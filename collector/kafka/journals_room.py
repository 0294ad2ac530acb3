"""Is there room for the journals of all partitions that a worker has?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from collector.journal.journal import Journal
from collector.metrics import Metrics

log = structlog.get_logger(__name__)

_LOOK_S = 1.0


class JournalsRoom:
    """`watch` it in a task of its own. `problem` is why nothing more fits, None when something does."""

    def __init__(self, journals: Callable[[], Sequence[Journal]], most_bytes: int, metrics: Metrics) -> None:
        """`most_bytes` of all journals together."""
        self.problem: str | None = None
        self._journals = journals
        self._most_bytes = most_bytes
        self._metrics = metrics

    async def watch(self) -> None:
        while True:
            try:
                problem = await asyncio.to_thread(self._look, self._journals())
            except OSError as error:
                problem = f"the journals' disk cannot be read: {error}"
            if problem != self.problem:
                log.warning("journal_room", problem=problem or "none any more")
            self.problem = problem
            await asyncio.sleep(_LOOK_S)

    def _look(self, journals: Sequence[Journal]) -> str | None:
        size = sum(journal.size() for journal in journals)
        left = min((journal.room_bytes() for journal in journals), default=None)
        if left is not None:
            self._metrics.journal_room(min(left, self._most_bytes - size))
        if size > self._most_bytes:
            most = self._most_bytes >> 20
            return f"the journals have grown to {size >> 20} MiB, {most} MiB allowed (journal.max_bytes)"
        return next((problem for journal in journals if (problem := journal.room()) is not None), None)
