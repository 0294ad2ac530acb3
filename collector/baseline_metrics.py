"""Live traffic beside the current baselines, as gauges. A part of `collector.metrics.Metrics`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from collector.judge_metrics import DeclareGauge
from collector.metric_labels import OTHER
from judge.significance import Count

Live = Mapping[tuple[str, str, str], Count]
"""(service, agent version, evaluator) → scored verdicts."""


class BaselineMetrics:
    """`bound` keeps the values of a label (its name, the value) from growing without end, `fits` their combinations."""

    def __init__(
        self, gauge: DeclareGauge, bound: Callable[[str, str | None], str], fits: Callable[[tuple[str, ...]], bool]
    ) -> None:
        self._bound = bound
        self._fits = fits
        labels = ("service", "agent_version", "evaluator")
        self._delta = gauge(
            "baseline_delta",
            "Share of scored verdicts that passed over gates.live_hours, minus that of the service's current baseline",
            *labels,
        )
        self._live = gauge("baseline_live_verdicts", "Scored verdicts of live traffic behind baseline_delta", *labels)
        self._kept = gauge(
            "baseline_verdicts", "Scored verdicts of the service's current baseline", "service", "evaluator"
        )

    def show(self, baselines: Mapping[str, Mapping[str, Count]], live: Live) -> None:
        """In place of all that was shown before. What only one side has is not compared."""
        for gauge in (self._delta, self._live, self._kept):
            gauge.clear()
        together: dict[tuple[str, str, str], Count] = {}
        before: dict[tuple[str, str, str], float] = {}
        for (service, version, evaluator), count in live.items():
            kept = baselines.get(service, {}).get(evaluator, Count())
            if kept.rate is None or count.rate is None:
                continue
            key = self._key(service, version, evaluator)
            if key[0] != OTHER:
                self._kept.labels(key[0], key[2]).set(kept.total)
            # Versions that share the label `other` are of one service; services that do are not to be compared.
            elif service != OTHER:
                continue
            together[key] = together.get(key, Count()) + count
            before[key] = kept.rate
        for key, count in together.items():
            self._live.labels(*key).set(count.total)
            self._delta.labels(*key).set((count.rate or 0.0) - before[key])

    def _key(self, service: str, version: str, evaluator: str) -> tuple[str, str, str]:
        bound = self._bound
        key = (bound("service", service), bound("agent_version", version), bound("evaluator", evaluator))
        return key if self._fits(key) else (key[0], OTHER, key[2])
