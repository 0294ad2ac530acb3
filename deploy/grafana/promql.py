"""Ways to ask that are right at low traffic too: no NaN, no division by nothing, and first events are seen."""

from __future__ import annotations

from collections.abc import Sequence

INSTANCES = 'job=~"$job",instance=~"$instance"'
ALL_SHOWN = "$__range"
"""All that the dashboard shows; for single numbers and tables."""
WINDOW = "$window"


def series(name: str, *matchers: str) -> str:
    """Those of the chosen instances; `spanjudge_` goes without saying."""
    return f"spanjudge_{name}{{{','.join((INSTANCES, *matchers))}}}"


def per_second(of: str, *by: str) -> str:
    return f"{_sum(by)} (rate({of}[$__rate_interval]))"


def growth(of: str, over: str, *by: str) -> str:
    """Of counters whose series are there from the start."""
    return f"{_sum(by)} (increase({of}[{over}]))"


def events(of: str, over: str, *by: str) -> str:
    """Like `growth`, of counters whose series come with their first event. `increase` alone begins to count at the
    second: so the first value of each series that was not there when the time began is added. Ten minutes without
    scrapes just then are no news."""
    grown = f'label_replace(increase({of}[{over}]), "part", "grown", "", "")'
    before = f"present_over_time({of}[10m] offset {over})"
    new = f'label_replace(min_over_time({of}[{over}]) unless {before}, "part", "new", "", "")'
    return f"{_sum(by)} ({grown} or {new})"


def ratio(part: str, whole: str) -> str:
    """Of sums by the same labels: 0 where there is a whole and no part, nothing where there is no whole."""
    return f"(({part}) or 0 * ({whole})) / (({whole}) > 0)"


def or_zero(number: str) -> str:
    """0 where there is nothing to count but somebody to ask; still nothing where nobody is scraped."""
    return f"({number}) or 0 * sum ({series('build_info')})"


def largest(of: str, *by: str) -> str:
    """Of gauges that every instance with the same store tells alike."""
    return f"max by ({', '.join(by)}) ({of})" if by else f"max ({of})"


def quantile(share: float, name: str, matchers: Sequence[str] = (), *by: str) -> str:
    """Of a histogram. Without observations Prometheus says NaN, which is not >= 0."""
    buckets = per_second(series(f"{name}_bucket", *matchers), "le", *by)
    return f"histogram_quantile({share:g}, {buckets}) >= 0"


def _sum(by: Sequence[str]) -> str:
    return f"sum by ({', '.join(by)})" if by else "sum"
