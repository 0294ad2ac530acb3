"""Finding a baseline by its name, or the current one of a service."""

from __future__ import annotations

from collector.commands.files import fail
from collector.commands.terminal import safe, short
from collector.store.baselines import Baseline, KeptSession
from collector.store.store import Store

_LISTED = 10


async def baseline_named(store: Store, name: str | None, service: str | None) -> Baseline:
    """The baseline of this name, or without one the current baseline of the service, or the only current one there is.
    Exits with 1, and what to do, when that is none."""
    known = await store.baselines.all()
    if name is not None:
        if found := next((one for one in known if one.name == name), None):
            return found
        names = ", ".join(short(one.name, 60) for one in known[:_LISTED])
        raise fail(f"there is no baseline {safe(name)}; there are: {names or 'none'}")
    current = [one for one in known if one.promoted_ns is not None and service in {None, one.service}]
    if len(current) == 1:
        return current[0]
    if not current:
        of = f" of service {safe(service)}" if service is not None else ""
        raise fail(f"no current baseline{of}: name one with --baseline, or promote one (spanjudge baseline promote)")
    names = ", ".join(f"{short(one.name, 60)} of {short(one.service, 60)}" for one in current[:_LISTED])
    raise fail(f"several services have a current baseline ({names}): choose with --service or --baseline")


async def sessions_of_baseline(store: Store, name: str) -> list[KeptSession]:
    """Exits with 1 when there is no baseline of the name."""
    found = await baseline_named(store, name, None)
    return await store.baselines.sessions(found.name)
