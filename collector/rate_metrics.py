"""Pass rates as gauges. A part of `collector.metrics.Metrics`, which declares and documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from collector.calibration import Key, PassRate
from collector.judge_metrics import DeclareGauge
from collector.metric_labels import OTHER
from collector.store.labels import Counted
from judge.calibration import Estimate

_LABELS = ("service", "evaluator", "agent_version")


class RateMetrics:
    """`bound` keeps the values of a label (its name, the value) from growing without end, `fits` their combinations."""

    def __init__(
        self, gauge: DeclareGauge, bound: Callable[[str, str | None], str], fits: Callable[[tuple[str, ...]], bool]
    ) -> None:
        self._bound = bound
        self._fits = fits
        self._raw = gauge(
            "pass_ratio", "Share of scored verdicts that passed, as counted, over calibration.window_seconds", *_LABELS
        )
        self._verdicts = gauge("pass_ratio_verdicts", "Scored verdicts behind pass_ratio", *_LABELS)
        self._corrected = gauge(
            "pass_ratio_corrected",
            "pass_ratio of all traffic, corrected for evaluator errors and for sampling; only with enough labels",
            *_LABELS,
        )
        self._low = gauge("pass_ratio_corrected_low", "Lower end of its 95 % interval", *_LABELS)
        self._high = gauge("pass_ratio_corrected_high", "Upper end of its 95 % interval", *_LABELS)
        self._labels = gauge("pass_ratio_labels", "Verdicts labelled by people behind pass_ratio_corrected", *_LABELS)

    def key(self, counted: Counted) -> Key:
        """The labels that the counts are shown under. What does not fit is shown together."""
        key = (
            self._bound("service", counted.service),
            self._bound("evaluator", counted.yardstick.evaluator),
            self._bound("agent_version", counted.agent_version),
        )
        return key if self._fits(key) else (OTHER, key[1], OTHER)

    def show(self, rates: Sequence[PassRate]) -> None:
        """In place of all that was shown before: a rate that is not known any more must not stand still."""
        for gauge in (self._raw, self._verdicts, self._corrected, self._low, self._high, self._labels):
            gauge.clear()
        for rate in rates:
            if rate.tally.ratio is None:
                continue
            self._raw.labels(*rate.key).set(rate.tally.ratio)
            self._verdicts.labels(*rate.key).set(rate.tally.verdicts)
            if rate.labels:
                self._labels.labels(*rate.key).set(rate.labels)
            if isinstance(rate.corrected, Estimate) and _is_told(rate.corrected):
                self._corrected.labels(*rate.key).set(rate.corrected.value)
                self._low.labels(*rate.key).set(rate.corrected.low)
                self._high.labels(*rate.key).set(rate.corrected.high)


def _is_told(estimate: Estimate) -> bool:
    """Not where arithmetic came to no end: a NaN would be shown as a rate."""
    return all(map(math.isfinite, (estimate.value, estimate.low, estimate.high)))
