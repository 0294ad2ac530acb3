"""A cache in front of the exact reading: which session did an item of this trace name last, and how? And which session
is it that is spelled like this?

Two generations of dicts, so that it stays bounded without bookkeeping for each use. A miss costs one exact reading
and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from collector.otlp.spelled import SPAN_ATTRIBUTE, TRACE_ID_FIRST, attribute
from collector.sessions.keys import Naming

SAMPLED_OUT = -1
_MOST = 20_000  # traces and sessions of one tenant in one generation; each takes some 400 bytes
_MOST_OF_ALL = 100_000  # of all tenants, and the tenants: a sender may name another one in every request
_MOST_BEFORE = 1
"""Of an item that names its session by a weaker attribute it must be shown that no stronger one is in it; each takes a
look at all its bytes."""


@dataclass(slots=True, eq=False)
class Hot:
    """A session that was named. Not frozen, as that would triple what it costs to make one; nobody changes it, and all
    traces of the session share it.

    `slot` is SAMPLED_OUT for a session that is not kept, `head` how its rows begin. `wire` is how a span names it: the
    whole attribute, in which `key` begins at `lead`. That counts where `absent`, the key of the stronger attribute, is
    not in the span; and only among these `names`, since other scopes may name sessions by other attributes. `names` is
    None where a span has to be read to know.
    """

    name: str
    slot: int
    generation: int
    head: bytes
    names: tuple[str, ...] | None
    key: bytes
    lead: int
    wire: bytes
    absent: bytes | None


OUTSIDE = Hot("", SAMPLED_OUT, 0, b"", None, b"", 0, b"", None)
"""For a trace of some session that is not kept, whose name is not known any more."""


def hot(naming: Naming, names: tuple[str, ...], slot: int, generation: int, head: bytes) -> Hot:
    """For a session that an item has named, by one of `names`."""
    name, place = naming
    key = names[place].encode()
    wire = attribute(SPAN_ATTRIBUTE, key, name)
    quick = names if place <= _MOST_BEFORE else None
    absent = names[place - 1].encode() if place else None
    return Hot(name, slot, generation, head, quick, key, wire.index(key), wire, absent)


class HotTraces:
    """By tenant, then trace id, or how the session is spelled: the one's key begins with `TRACE_ID_FIRST`, the other's
    with the tag of an attribute. To be trusted only where the item names the session itself, by its bytes or when read
    exactly."""

    def __init__(self, now_ms: int) -> None:
        self._young: dict[str, dict[bytes, Hot]] = {}
        self._old: dict[str, dict[bytes, Hot]] = {}
        self._begun = 0
        """tenants, traces and sessions that came to the young generation"""
        self._turned_ms = now_ms

    def of(self, tenant: str) -> dict[bytes, Hot]:
        """The young generation, to be looked into directly by the hot path: by the first 18 bytes of a span, which
        are `TRACE_ID_FIRST` and the trace id."""
        young = self._young.get(tenant)
        return self._begin(tenant) if young is None else young

    def _begin(self, tenant: str) -> dict[bytes, Hot]:
        if self._begun >= _MOST_OF_ALL:
            self._turn()
        self._begun += 1
        young = self._young[tenant] = {}
        return young

    def get(self, tenant: str, trace: bytes) -> Hot | None:
        """From either generation."""
        return self._get(tenant, TRACE_ID_FIRST + trace)

    def spelled(self, tenant: str, wire: bytes) -> Hot | None:
        """The session that this attribute, all of it, names."""
        return self._get(tenant, wire)

    def _get(self, tenant: str, key: bytes) -> Hot | None:
        return self.of(tenant).get(key) or self._old.get(tenant, {}).get(key)

    def put(self, tenant: str, trace: bytes, hot: Hot) -> None:
        young = self.of(tenant)
        if self._begun >= _MOST_OF_ALL:
            self._turn()
            young = self._begin(tenant)
        elif len(young) >= _MOST:
            self._old[tenant] = young
            young = self._young[tenant] = {}
        before = len(young)
        young[TRACE_ID_FIRST + trace] = hot
        if hot.wire:
            young[hot.wire] = hot
        self._begun += len(young) - before

    def clear(self) -> None:
        self._young, self._old, self._begun = {}, {}, 0

    def turn(self, now_ms: int, after_ms: int) -> None:
        """Drop the old generation and begin a young one, when the young one is this old."""
        if now_ms - self._turned_ms >= after_ms:
            self._turn()
            self._turned_ms = now_ms

    def _turn(self) -> None:
        self._old, self._young, self._begun = self._young, {}, 0
