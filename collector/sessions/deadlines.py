"""When must a session be looked at, and why is it over then? Pure: a question to what the book knows."""

from __future__ import annotations

from collector.sessions.index import SessionIndex, State
from collector.sessions.keys import Kind
from collector.sessions.links import TraceLinks
from collector.sessions.policy import IdleRules, Policy
from collector.sessions.roots import Roots


class Deadlines:
    """Sessions and traces by their slots; times in milliseconds by the book's clock."""

    def __init__(self, policy: Policy, index: SessionIndex, links: TraceLinks, roots: Roots, rules: IdleRules) -> None:
        self._policy = policy
        self._index = index
        self._links = links
        self._roots = roots
        self._rules = rules

    def full(self, slot: int) -> bool:
        """Has it got all it may have, in all its revisions?"""
        return self._index.items[slot] >= self._policy.max_spans or self._index.size[slot] >= self._policy.max_bytes

    def due_ms(self, slot: int) -> int:
        """When it is over, should nothing more come; of one that was judged: when its late window is."""
        index, policy = self._index, self._policy
        if index.state[slot] == State.LINGERING:
            return index.last_ms[slot] + policy.late_window_ms
        if self.full(slot):
            return 0
        idle_ms, max_age_ms = self._times(slot)
        due = min(index.last_ms[slot] + idle_ms, index.first_s[slot] * 1000 + max_age_ms)
        if index.ended[slot] or self.roots_ended(slot):
            due = min(due, index.last_ms[slot] + policy.settle_ms)
        return due

    def reason(self, slot: int, now_ms: int) -> str:
        """Why one that is due closes."""
        index, policy = self._index, self._policy
        if self.full(slot):
            return "max_size"
        if index.last_ms[slot] + policy.settle_ms <= now_ms:
            if index.ended[slot]:
                return "end_marker"
            if self.roots_ended(slot):
                return "roots_ended"
        return "max_age" if index.first_s[slot] * 1000 + self._times(slot)[1] <= now_ms else "idle"

    def roots_ended(self, slot: int) -> bool:
        return self._policy.roots_end and self._roots.complete(slot)

    def _times(self, slot: int) -> tuple[int, int]:
        """Idle time and maximum age: the longest of the session and of the traces it reads."""
        idle_ms, max_age_ms = self._rules.times(slot)
        if self._policy.rules and self._index.kind[slot] == Kind.SESSION:
            known = self._index.rules[slot] != 0
            for trace in self._links.parked(slot):
                idle, age = self._rules.times(trace)
                idle_ms, max_age_ms = (max(idle_ms, idle), max(max_age_ms, age)) if known else (idle, age)
                known = True
        return idle_ms, max_age_ms
