"""Is a share of successes lower than another, or may that be chance?

The test is Fisher's exact test, one-sided: the probability of a table at least this bad if both had the same true
rate. It holds for samples of any size. Several rates tested together are corrected by Holm's method, so that the
level is the chance of any false alarm among all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TEST = "Fisher's exact test, one-sided, with Holm's correction"


@dataclass(frozen=True, slots=True)
class Count:
    """Sessions that passed and failed. Those without a score are in neither."""

    passed: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.failed

    @property
    def rate(self) -> float | None:
        """0..1; None of nothing."""
        return self.passed / self.total if self.total else None

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One rate now and in the baseline. `p_value` is after correction; None where a sample was too small to be
    tested. `fell` is whether it is lower beyond chance."""

    name: str
    baseline: Count
    current: Count
    p_value: float | None
    fell: bool

    def __str__(self) -> str:
        rates = f"{_percent(self.current)} now, {_percent(self.baseline)} in the baseline"
        if self.p_value is None:
            return f"{self.name}: {rates}: not enough data to tell"
        return f"{self.name}: {rates}, p = {self.p_value:.3g}: {'fell' if self.fell else 'no fall beyond chance'}"


def lower_p_value(current: Count, baseline: Count) -> float:
    """Probability, 0..1, of successes as few as the current ones or fewer, were both rates the same."""
    from scipy.stats import fisher_exact  # a second to load, and only gates need it

    table = [[current.passed, current.failed], [baseline.passed, baseline.failed]]
    return float(fisher_exact(table, alternative="less").pvalue)


def compare(counts: Mapping[str, tuple[Count, Count]], level: float, min_sample: int) -> tuple[Comparison, ...]:
    """Each rate, by name, given as (baseline, current); tested where both have at least `min_sample` sessions."""
    tested = [name for name, pair in counts.items() if min(one.total for one in pair) >= max(1, min_sample)]
    raw = [lower_p_value(current, baseline) for baseline, current in map(counts.__getitem__, tested)]
    corrected = dict(zip(tested, holm(raw), strict=True))
    return tuple(
        Comparison(name, baseline, current, corrected.get(name), name in corrected and corrected[name] < level)
        for name, (baseline, current) in sorted(counts.items())
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the same order (Holm 1979): each may be held against the level by itself."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def _percent(count: Count) -> str:
    return "none" if count.rate is None else f"{count.rate:.1%} of {count.total}"
