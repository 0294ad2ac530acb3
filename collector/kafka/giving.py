"""Items on their way to sessions: who is in the sample, and what becomes of those that nobody gets (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from collector.journal.rows import Signal
from collector.kafka.bundles import Bundle, Bundles, alone
from collector.kafka.message_items import Item
from collector.kafka.outcomes import Given
from collector.kafka.session_topic import session_key
from collector.kafka.traces import Home
from collector.sessions.keys import Kind, Owner, kept
from collector.sessions.links import TraceKey

_MOST_TARGETS = 50_000
_WORTH: dict[Given, int] = {"session": 4, "trace": 3, "oversized": 2, "sampled_out": 1, "no_session": 0}


class Target(NamedTuple):
    """The key of a session; not `kept` when it is outside the sample."""

    key: bytes
    kept: bool


class Giving:
    """Knows the sessions it saw last."""

    def __init__(self, rate: float, most_bytes: int, *, trace_is_session: bool) -> None:
        """`rate`: what a hash puts above it is kept by nobody (`collector.sampling.ceiling`)."""
        self.bundles = Bundles(most_bytes)
        self._rate = rate
        self._trace_is_session = trace_is_session
        self._oversized: list[Bundle] = []
        self._targets: dict[tuple[str, str], Target] = {}

    def take(self) -> tuple[list[Bundle], list[Bundle]]:
        """What was given, and items that no message has room for, each by itself; and begin anew."""
        oversized, self._oversized = self._oversized, []
        return self.bundles.take(), oversized

    def one(self, tenant: str, session: str, signal: Signal, item: Item) -> Given:
        target = self.session(tenant, session)
        if not target.kept:
            return "sampled_out"
        return "session" if self._add(target, signal, item) else "oversized"

    def to_homes(self, key: TraceKey, homes: Sequence[Home], signal: Signal, items: Sequence[Item]) -> Counter[Given]:
        """Items of a trace to each of its homes; an item counts by the best that became of it."""
        targets: list[tuple[Target | None, Given]] = [
            (self._of(key, home), "trace" if home is None else "session") for home in homes
        ]
        outcomes: Counter[Given] = Counter()
        for item in items:
            best: Given = "no_session"
            for target, reached in targets:
                outcome = self._outcome(target, reached, signal, item)
                best = max(best, outcome, key=_WORTH.__getitem__)
            outcomes[best] += 1
        return outcomes

    def _outcome(self, target: Target | None, reached: Given, signal: Signal, item: Item) -> Given:
        if target is None:
            return "no_session"
        if not target.kept:
            return "sampled_out"
        return reached if self._add(target, signal, item) else "oversized"

    def _add(self, target: Target, signal: Signal, item: Item) -> bool:
        if self.bundles.add(target.key, signal, *item):
            return True
        self._oversized.append(alone(target.key, signal, *item))
        return False

    def refused(self, key: TraceKey, home: Home) -> Given | None:
        """Why a home of a trace is given nothing; None when it is."""
        target = self._of(key, home)
        return "no_session" if target is None else None if target.kept else "sampled_out"

    def _of(self, key: TraceKey, home: Home) -> Target | None:
        """None where traces are no sessions."""
        if home is not None:
            return self.session(key[0], home)
        return self.trace(key) if self._trace_is_session else None

    def session(self, tenant: str, session: str) -> Target:
        target = self._targets.get((tenant, session))
        if target is None:
            if len(self._targets) >= _MOST_TARGETS:
                self._targets.clear()
            target = self._targets[tenant, session] = self._reached(Owner(Kind.SESSION, session, tenant))
        return target

    def trace(self, key: TraceKey) -> Target:
        return self._reached(Owner(Kind.TRACE, key[1].hex(), key[0]))

    def _reached(self, owner: Owner) -> Target:
        return Target(session_key(owner), kept(owner.digest, self._rate))
