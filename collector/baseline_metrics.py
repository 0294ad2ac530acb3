"""Live traffic beside the current baselines, as gauges. A part of `collector.metrics.Metrics`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from collector.judge_metrics import DeclareGauge
from collector.metric_labels import OTHER
from collector.replaced_series import ReplacedSeries
from judge.passing import COMPOSITE
from judge.significance import Count
from judge.yardstick import Rates, composites_differ

Live = Mapping[tuple[str, str], Rates]
"""(service, agent version) → scored verdicts."""

_Key = tuple[str, str, str]


class BaselineMetrics:
    """`bound` keeps the values of a label (its name, the value) from growing without end, `fits` their combinations."""

    def __init__(
        self, gauge: DeclareGauge, bound: Callable[[str, str | None], str], fits: Callable[[tuple[str, ...]], bool]
    ) -> None:
        self._bound = bound
        self._fits = fits
        labels = ("service", "agent_version", "evaluator")

        def declared(name: str, meaning: str, *labels: str) -> ReplacedSeries:
            return ReplacedSeries(gauge(name, meaning, *labels))

        self._delta = declared(
            "baseline_delta",
            "Share of scored verdicts that passed over gates.live_hours, minus that of the service's current baseline",
            *labels,
        )
        self._expected = declared(
            "baseline_expected_ratio",
            "Share that would have passed at the baseline's rates: what baseline_delta is measured from",
            *labels,
        )
        self._live = declared(
            "baseline_live_verdicts", "Scored verdicts of live traffic behind baseline_delta", *labels
        )
        self._left_out = declared(
            "baseline_left_out_verdicts",
            "Scored verdicts of live traffic that are not compared, since the baseline has none of the same version of "
            "the evaluator, its prompt and the judge's model",
            *labels,
        )
        self._kept = declared(
            "baseline_verdicts", "Scored verdicts of the service's current baseline", "service", "evaluator"
        )

    def show(self, baselines: Mapping[str, Rates], live: Live) -> None:
        """In place of all that was shown before. What only one side has is not compared."""
        sums: dict[_Key, _Sum] = {}
        for (service, version), rates in live.items():
            kept = baselines.get(service, {})
            for evaluator in {one.evaluator for one in rates}:
                key = self._key(service, version, evaluator)
                # Versions that share the label `other` are of one service; services that do are not to be compared.
                if key[0] != OTHER or service == OTHER:
                    sums[key] = sums.get(key, _Sum()) + _sum(evaluator, kept, rates)
        compared = {key: found for key, found in sums.items() if found.live}
        self._left_out.tell({key: found.left_out for key, found in sums.items() if found.left_out})
        self._live.tell({key: found.live for key, found in compared.items()})
        self._delta.tell({key: (found.passed - found.expected) / found.live for key, found in compared.items()})
        self._expected.tell({key: found.expected / found.live for key, found in compared.items()})
        self._kept.tell({(key[0], key[2]): found.baseline for key, found in compared.items()})

    def _key(self, service: str, version: str, evaluator: str) -> _Key:
        bound = self._bound
        key = (bound("service", service), bound("agent_version", version), bound("evaluator", evaluator))
        return key if self._fits(key) else (key[0], OTHER, key[2])


@dataclass(frozen=True, slots=True)
class _Sum:
    """Of live verdicts that may be compared: how many, how many passed, and how many would have at the baseline's
    rates; of others, how many. `baseline` is the number of the baseline's verdicts."""

    live: int = 0
    passed: int = 0
    expected: float = 0.0
    left_out: int = 0
    baseline: int = 0

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(
            self.live + other.live,
            self.passed + other.passed,
            self.expected + other.expected,
            self.left_out + other.left_out,
            max(self.baseline, other.baseline),
        )


def _sum(evaluator: str, kept: Rates, live: Rates) -> _Sum:
    differ = evaluator == COMPOSITE and composites_differ(kept, live)
    in_baseline = sum(count.total for one, count in kept.items() if one.evaluator == evaluator)
    found = _Sum(baseline=in_baseline)
    for yardstick, count in live.items():
        if yardstick.evaluator == evaluator:
            rate = kept.get(yardstick, Count()).rate
            if rate is None or differ:
                found += _Sum(left_out=count.total)
            else:
                found += _Sum(count.total, count.passed, count.total * rate)
    return found
