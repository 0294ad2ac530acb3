"""Which closing of a session is meant: told before any record is read, since one may be large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collector.store.listing import Tenants
from collector.store.store import ClosedSession, Store
from judge.verdict import SessionRef


@dataclass(frozen=True, slots=True)
class Closings:
    """Those of a session that may be seen, newest first; of one tenant, unless there are several `tenants`."""

    refs: Sequence[SessionRef]

    @property
    def tenants(self) -> list[str]:
        return sorted({one.tenant for one in self.refs})

    @property
    def revisions(self) -> tuple[int, ...]:
        return tuple(one.revision for one in self.refs)

    def chosen(self, revision: int | None) -> SessionRef | None:
        """The newest unless a revision is given."""
        return next((one for one in self.refs if revision in {None, one.revision}), None)


async def closings_seen(store: Store, session_id: str, tenant: str | None, tenants: Tenants) -> Closings:
    """`tenant` is the one asked for, `tenants` are those that may be seen; None: all. Raises `StoreUnavailable`."""
    found = await store.refs(session_id, tenant)
    return Closings([one for one in found if tenants is None or one.tenant in tenants])


async def closing_of(store: Store, ref: SessionRef) -> ClosedSession | None:
    """None where it is not kept any more. Raises `StoreUnavailable`."""
    return next(iter(await store.session(ref.session_id, ref.tenant, ref.revision)), None)
