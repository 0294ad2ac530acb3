"""How much the verdict store takes, and deleting what is old."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoreSize:
    """In bytes: what files or tables take, and how much of it is in use; the rest is filled again before they grow."""

    on_disk: int
    used: int


class Retention(Protocol):
    """Every method raises `StoreUnavailable` when the database is not to be had, and then nothing was deleted.
    `tests/contracts/retention.py` states what any does."""

    async def purge(self, before_ns: int, limit: int, *, only_done: bool = False) -> int:
        """Delete up to `limit` closings older than `before_ns`, oldest first, with all that belongs to them; how many
        that were. With `only_done` those stay that have open questions or verdicts not sent yet, and others go in
        their stead. Labels and baselines are copies, and stay."""

    async def size(self) -> StoreSize: ...

    async def give_back(self) -> bool:
        """Return some of what deletions left empty to the file system; whether there may be more to return."""
