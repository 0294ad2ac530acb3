"""The receiving half on a real journal, for tests of what stands before and behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from collector.clock import Clock
from collector.ingest import Ingest, Limits
from collector.journal.journal import Journal, JournalSettings
from collector.metrics import Metrics
from collector.sessions.book import Claim, Policy, SessionBook
from collector.sessions.routing import Marks, Router
from tests.collector.sessions.desk import NAMES
from tests.fakes.clock import FakeClock


@dataclass
class Receiving:
    book: SessionBook
    journal: Journal
    metrics: Metrics
    ingest: Ingest
    recovered: list[Claim] = field(default_factory=list)

    def value(self, name: str, **labels: str) -> float:
        """A metric's value; `spanjudge_` goes without saying. 0 when it was never counted."""
        return self.metrics.registry.get_sample_value(f"spanjudge_{name}", labels) or 0.0


USUAL_LIMITS = Limits()
ROOMY = JournalSettings(min_free_bytes=0)
USUAL = Policy()


@asynccontextmanager
async def receiving(
    directory: Path,
    *,
    limits: Limits = USUAL_LIMITS,
    settings: JournalSettings = ROOMY,
    policy: Policy = USUAL,
    clock: Clock | None = None,
    writing: bool = True,
) -> AsyncIterator[Receiving]:
    """While the block runs. Without `writing` the disk never answers: what is sent waits."""
    clock = clock or FakeClock()
    book = SessionBook(policy, clock.steady_ns() // 1_000_000)
    journal = Journal(directory / "journal", settings, lambda: clock.steady_ns() // 1_000_000)
    metrics = Metrics("test")
    recovered: list[Claim] = []
    ingest = Ingest(book, Router(book, Marks(names=NAMES)), journal, limits, clock, metrics, recovered.extend)
    if writing:
        journal.start()
    try:
        yield Receiving(book, journal, metrics, ingest, recovered)
    finally:
        await journal.stop()
