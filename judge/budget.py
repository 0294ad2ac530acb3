"""May this much be spent now? A decision over numbers; `collector.store.ledger` keeps the numbers.

Windows are the hours and days of UTC. What a call may cost at most is set aside before it is asked and corrected when
its usage is known, so a limit holds even when every call turns out as dear as it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from judge.prices import NANO

Window: TypeAlias = Literal["hour", "day"]
Unit: TypeAlias = Literal["dollars", "tokens"]

HOUR_NS = 3_600 * 1_000_000_000
_LENGTH_NS: dict[Window, int] = {"hour": HOUR_NS, "day": 24 * HOUR_NS}


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens, and what they cost in billionths of a dollar."""

    tokens: int = 0
    nano_dollars: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.nano_dollars + other.nano_dollars)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.tokens - other.tokens, self.nano_dollars - other.nano_dollars)

    def of(self, unit: Unit) -> int:
        return self.tokens if unit == "tokens" else self.nano_dollars


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so much in one window: `most` tokens, or billionths of a dollar; of one evaluator, or of all (None)."""

    window: Window
    unit: Unit
    most: int
    evaluator: str | None = None

    @property
    def key(self) -> str:
        """Its key in the configuration."""
        owner = f"evaluators.{self.evaluator}." if self.evaluator is not None else ""
        return f"judge.budget.{owner}{self.unit}_per_{self.window}"

    def told(self, amount: int) -> str:
        """An amount of this limit's unit, for people."""
        return f"{amount:,} tokens" if self.unit == "tokens" else f"${amount / NANO:.4f}"


@dataclass(frozen=True, slots=True)
class HourSpent:
    """What one evaluator's questions used in the hour that began at `hour_ns`, amounts set aside included."""

    hour_ns: int
    evaluator: str
    amount: Amount


@dataclass(frozen=True, slots=True)
class Refusal:
    """This limit leaves no room. `hopeless`: not even an empty window would."""

    limit: Limit
    until_ns: int
    hopeless: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Budget:
    """All limits. `high_risk_share` of each is kept back for questions of high risk, so that they find room late in
    a window too."""

    limits: tuple[Limit, ...] = ()
    high_risk_share: float = 0.0

    def refusal(
        self, spent: Sequence[HourSpent], estimate: Amount, evaluator: str, now_ns: int, *, high_risk: bool
    ) -> Refusal | None:
        """Why a call that may cost `estimate` must wait, or None. Of several limits in the way the one that opens
        last is told."""
        refusals = [
            refused
            for limit in self.limits
            if limit.evaluator in {None, evaluator}
            and (refused := self._refused(limit, spent, estimate.of(limit.unit), now_ns, high_risk=high_risk))
        ]
        return max(refusals, key=lambda refused: (refused.hopeless, refused.until_ns), default=None)

    def remaining(self, spent: Sequence[HourSpent], now_ns: int) -> list[tuple[Limit, float]]:
        """Of every limit the share that is left, 0 to 1."""
        return [
            (limit, max(0.0, 1 - spent_in(limit, spent, now_ns) / limit.most) if limit.most else 0.0)
            for limit in self.limits
        ]

    def _refused(
        self, limit: Limit, spent: Sequence[HourSpent], asked: int, now_ns: int, *, high_risk: bool
    ) -> Refusal | None:
        most = limit.most if high_risk else int(limit.most * (1 - self.high_risk_share))
        if spent_in(limit, spent, now_ns) + asked <= most:
            return None
        hopeless = asked > most
        why = f"one question may cost {limit.told(asked)}, more than" if hopeless else "nothing is left of"
        kept = f", {limit.told(limit.most - most)} of it kept for high risk" if most < limit.most else ""
        detail = f"{why} {limit.key} ({limit.told(limit.most)}{kept})"
        return Refusal(limit, window_end_ns(limit.window, now_ns), hopeless, detail)


def spent_in(limit: Limit, spent: Iterable[HourSpent], now_ns: int) -> int:
    """What counts against the limit in the window that `now_ns` is in."""
    start_ns = window_start_ns(limit.window, now_ns)
    return sum(
        hour.amount.of(limit.unit)
        for hour in spent
        if hour.hour_ns >= start_ns and limit.evaluator in {None, hour.evaluator}
    )


def window_start_ns(window: Window, now_ns: int) -> int:
    return now_ns - now_ns % _LENGTH_NS[window]


def window_end_ns(window: Window, now_ns: int) -> int:
    return window_start_ns(window, now_ns) + _LENGTH_NS[window]
