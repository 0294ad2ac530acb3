"""Closings that are to be judged, and what of the journal they hold until their verdicts are durable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from collector.sessions.index import Ref
from collector.sessions.keys import Digest, Kind
from collector.sessions.needed import RowsNeeded


@dataclass(frozen=True, slots=True)
class Claim:
    """One closing, to be judged. `heads` are the newest rows of what belongs to the session (its own and its traces');
    `neighbours` those of other sessions that share a trace with it, and of what is parked there. Rows above `upto`
    came later and do not count. `absorbed` are traces that were closed as sessions of their own before something named
    their session: what they have belongs to this one now, and their revision is over. `closed_ms` is wall time."""

    digest: Digest
    kind: Kind
    revision: int
    reason: str
    closed_ms: int
    inclusion_probability: float
    upto: int
    heads: tuple[int, ...]
    neighbours: tuple[int, ...] = ()
    absorbed: tuple[tuple[Digest, int], ...] = ()
    """with the revision each would have next"""
    sated: tuple[tuple[Digest, int], ...] = ()
    """neighbours that are full and close no more, with when they last did, in milliseconds by the book's clock"""


@dataclass(frozen=True, slots=True)
class Discarded:
    """A session that closed and is not judged: `sampled_out`, `no_session` (a trace that nothing named, where those
    are to be dropped), `empty` (all its telemetry turned out to belong elsewhere) or `revisions` (it has been judged
    as often as can be counted)."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Held:
    lowest: int
    refs: tuple[Ref, ...]


class Holds:
    """What is being read: rows that must stay where they are, whatever becomes of their sessions meanwhile."""

    def __init__(self, needed: RowsNeeded) -> None:
        self._needed = needed
        self._held: dict[tuple[Digest, int], _Held] = {}
        self._refs: Counter[Ref] = Counter()

    def hold(self, claim: Claim, rows: Collection[int], refs: tuple[Ref, ...]) -> None:
        """`rows` are the first ones of the sessions and traces `refs`, which the claim reads."""
        held = _Held(min(rows, default=claim.upto), refs)
        self._held[claim.digest, claim.revision] = held
        self._needed.add(held.lowest)
        self._refs.update(refs)

    def release(self, digest: Digest, revision: int) -> None:
        """Nothing happens when it is not held."""
        held = self._held.pop((digest, revision), None)
        if held is None:
            return
        self._needed.remove(held.lowest)
        for ref in held.refs:
            if self._refs[ref] == 1:
                del self._refs[ref]
            else:
                self._refs[ref] -= 1

    def __contains__(self, ref: Ref) -> bool:
        """Does a claim that is not yet judged read this session or trace?"""
        return ref in self._refs
