"""A cache in front of the exact reading: which session did an item of this trace name last?

Two generations of dicts, so that it stays bounded without bookkeeping for each use. A miss costs one exact reading
and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

SAMPLED_OUT = -1
_MOST = 25_000  # traces in one generation; each takes some 450 bytes


@dataclass(frozen=True, slots=True)
class Hot:
    """The session last named in a trace: `wire` is how an item of it spells that, from the attribute key on, and
    `head` how its rows begin. `slot` is SAMPLED_OUT for a session that is not kept."""

    name: str
    slot: int
    generation: int
    wire: bytes
    head: bytes


class HotTraces:
    """By tenant, then trace id. To be trusted only where the item's bytes agree with `Hot.wire`, or its exactly read
    name with `Hot.name`."""

    def __init__(self, now_ms: int) -> None:
        self._young: dict[str, dict[bytes, Hot]] = {}
        self._old: dict[str, dict[bytes, Hot]] = {}
        self._turned_ms = now_ms

    def of(self, tenant: str) -> dict[bytes, Hot]:
        """The young generation, to be looked into directly by the hot path."""
        return self._young.setdefault(tenant, {})

    def get(self, tenant: str, trace: bytes) -> Hot | None:
        """From either generation."""
        return self.of(tenant).get(trace) or self._old.get(tenant, {}).get(trace)

    def put(self, tenant: str, trace: bytes, hot: Hot) -> None:
        young = self.of(tenant)
        if len(young) >= _MOST:
            self._old[tenant] = young
            young = self._young[tenant] = {}
        young[trace] = hot

    def turn(self, now_ms: int, after_ms: int) -> None:
        """Drop the old generation and begin a young one, when the young one is this old."""
        if now_ms - self._turned_ms >= after_ms:
            self._old, self._young, self._turned_ms = self._young, {}, now_ms
