"""When is a session over? The times, and for which services they are others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from collector.sessions.index import SessionIndex

USUAL = ""
_MOST_SETS = 2**16 - 1


@dataclass(frozen=True, slots=True)
class IdleRule:
    """Other times for the sessions of services whose name matches the pattern."""

    service: str
    idle_ms: int
    max_age_ms: int


@dataclass(frozen=True, slots=True)
class Policy:
    """Times in milliseconds. `roots_end` closes a session when the root span of each of its traces has arrived."""

    idle_ms: int = 300_000
    max_age_ms: int = 14_400_000
    settle_ms: int = 2_000
    late_window_ms: int = 600_000
    max_spans: int = 20_000
    max_bytes: int = 256 * 1024**2
    rate: float = 1.0
    trace_is_session: bool = True
    roots_end: bool = False
    rules: tuple[IdleRule, ...] = ()


class IdleRules:
    """The times of each session: of all services that feed it the longest hold, whoever came first.

    A rule is known by its pattern, `USUAL` stands for the services that no rule is for. A session's column holds the
    number of a set of rules; there are few such sets, and each is kept once.
    """

    def __init__(self, policy: Policy, index: SessionIndex) -> None:
        self._index = index
        self._rules = policy.rules
        self._by_rule = {rule.service: (rule.idle_ms, rule.max_age_ms) for rule in reversed(policy.rules)}
        self._by_rule[USUAL] = (policy.idle_ms, policy.max_age_ms)
        self._sets: list[tuple[str, ...]] = [()]
        self._numbers: dict[tuple[str, ...], int] = {(): 0}
        self._times: list[tuple[int, int]] = [self._by_rule[USUAL]]

    def of(self, service: str) -> str:
        """The first rule for this service."""
        return next((rule.service for rule in self._rules if fnmatchcase(service, rule.service)), USUAL)

    def times(self, slot: int) -> tuple[int, int]:
        """Idle time and maximum age."""
        return self._times[self._index.rules[slot]]

    def rules(self, slot: int) -> Sequence[str]:
        """Those that the session's times follow from."""
        return self._sets[self._index.rules[slot]]

    def add(self, slot: int, rule: str) -> bool:
        """Telemetry under this rule came for the session. Returns whether that may change its times. A rule that is
        no longer configured counts as the usual times."""
        rule = rule if rule in self._by_rule else USUAL
        before = self._index.rules[slot]
        if rule in self._sets[before]:
            return False
        number = self._number(tuple(sorted({*self._sets[before], rule})))
        if number is None:
            return False
        self._index.rules[slot] = number
        return True

    def _number(self, rules: tuple[str, ...]) -> int | None:
        """None when there are as many sets as the column can number: the session keeps the times it has."""
        number = self._numbers.get(rules)
        if number is None:
            number = len(self._sets)
            if number > _MOST_SETS:
                return None
            self._numbers[rules] = number
            self._sets.append(rules)
            each = [self._by_rule[rule] for rule in rules]
            self._times.append((max(idle for idle, _ in each), max(age for _, age in each)))
        return number
