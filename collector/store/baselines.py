"""Baselines: sessions and verdicts of one agent version, kept to compare later ones with.

As with the store, what a method promises is on disk when it returns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from collector.store.store import ClosedSession
from judge.significance import Count
from judge.verdict import Judged
from judge.yardstick import Rates, Yardstick


@dataclass(frozen=True, slots=True)
class Baseline:
    """`agent_version` is None where it was not recorded, or where sessions of any version were taken. `promoted_ns` is
    None unless this is the current baseline of its service; `sessions` is how many it holds."""

    name: str
    service: str
    agent_version: str | None
    saved_ns: int
    sessions: int
    note: str = ""
    promoted_ns: int | None = None


@dataclass(frozen=True, slots=True)
class KeptSession:
    """One session of a baseline, or of what is compared with one."""

    session: ClosedSession
    verdicts: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class LiveCount:
    """Scored verdicts of sessions that closed in one hour (number of the hour since 1970)."""

    hour: int
    service: str
    agent_version: str
    yardstick: Yardstick
    count: Count


@dataclass(frozen=True, slots=True)
class Seen:
    """How far live traffic was counted: the numbers of the newest verdict and the newest closing."""

    verdict: int = 0
    closing: int = 0


@dataclass(frozen=True, slots=True)
class LiveCounts:
    """What to add to the counts so far; less than nothing where a closing that was counted is superseded. `seen` is to
    be given next time."""

    seen: Seen
    counts: tuple[LiveCount, ...]


class Baselines(Protocol):
    """Implemented by `sql_baselines.SqlBaselines`. Every method raises `StoreUnavailable`."""

    async def save(self, baseline: Baseline, sessions: Sequence[KeptSession]) -> bool:
        """Keep it, not promoted. False, and nothing written, when the name is taken."""

    async def all(self) -> list[Baseline]:
        """Newest first."""

    async def sessions(self, name: str) -> list[KeptSession]:
        """In the order in which they were given; none for a name that there is not."""

    async def promote(self, name: str, now_ns: int) -> bool:
        """Make it the current baseline of its service, in place of any other. False when there is none of the name."""

    async def delete(self, name: str) -> bool:
        """False when there is none of the name."""

    async def counts(self) -> Mapping[str, Rates]:
        """Service → verdicts of the service's current baseline. Services without one are left out."""

    async def live_counts(self, services: Collection[str], after: Seen, since_ns: int) -> LiveCounts:
        """Scored verdicts of these services that came since `after`, of sessions that closed at `since_ns` or later.
        Of each session its newest closing counts."""
