"""One closing of a session as the page reads it from the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.access.rejected import Rejected
from collector.store.finding import closing_of, closings_seen
from collector.store.labels import Label
from collector.store.listing import Tenants
from collector.store.store import ClosedSession, Store
from collector.waiting import Why, why_open
from judge.verdict import Judged, SessionRef


class Ambiguous(Rejected):
    """Several tenants, of those that may be seen, have such a session."""

    def __init__(self, tenants: Sequence[str]) -> None:
        super().__init__(409, "ambiguous", ("", "several tenants have such a session: choose one"))
        self.tenants = tenants


@dataclass(frozen=True, slots=True)
class Found:
    """`revisions` are those of all closings, newest first."""

    session: ClosedSession
    revisions: tuple[int, ...]


async def find(store: Store, session_id: str, tenant: str | None, revision: int | None, tenants: Tenants) -> Found:
    """The newest closing unless a revision is given. Raises `Rejected`: 404 also for what is of tenants that may not
    be seen, `Ambiguous` where several tenants have such a session."""
    closings = await closings_seen(store, session_id, tenant, tenants)
    if len(closings.tenants) > 1:
        raise Ambiguous(closings.tenants)
    chosen = closings.chosen(revision)
    session = None if chosen is None else await closing_of(store, chosen)
    if session is None:
        raise Rejected(404, "not found", ("", "there is no such session, or it is not kept any more"))
    return Found(session, closings.revisions)


async def labels_of(store: Store, verdicts: Sequence[Judged]) -> Mapping[str, list[Label]]:
    """By verdict, oldest first."""
    labels: dict[str, list[Label]] = {}
    for label in await store.labels.of_verdicts([one.id for one in verdicts]):
        labels.setdefault(label.verdict_id, []).append(label)
    return labels


async def waiting_of(store: Store, ref: SessionRef, now_ns: int) -> Mapping[str, Why]:
    """Why the closing's questions are open, by their ids."""
    questions = await store.open_questions(ref)
    told = await store.obstacles.told() if questions else None
    return {one.id: why_open(one, told, now_ns) for one in questions}
