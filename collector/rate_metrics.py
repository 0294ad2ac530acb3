"""Pass rates as gauges. A part of `collector.metrics.Metrics`, which declares and documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from collector.calibration import Key, PassRate
from collector.judge_metrics import DeclareGauge
from collector.metric_labels import OTHER
from collector.replaced_series import ReplacedSeries
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

        def declared(name: str, meaning: str) -> ReplacedSeries:
            return ReplacedSeries(gauge(name, meaning, *_LABELS))

        self._raw = declared(
            "pass_ratio", "Share of scored verdicts that passed, as counted, over calibration.window_seconds"
        )
        self._verdicts = declared("pass_ratio_verdicts", "Scored verdicts behind pass_ratio")
        self._corrected = declared(
            "pass_ratio_corrected",
            "pass_ratio of all traffic, corrected for evaluator errors and for sampling; only with enough labels",
        )
        self._low = declared("pass_ratio_corrected_low", "Lower end of its 95 % interval")
        self._high = declared("pass_ratio_corrected_high", "Upper end of its 95 % interval")
        self._labels = declared("pass_ratio_labels", "Verdicts labelled by people behind pass_ratio_corrected")

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
        counted = {rate.key: rate for rate in rates if rate.tally.ratio is not None}
        self._raw.tell({key: rate.tally.ratio for key, rate in counted.items() if rate.tally.ratio is not None})
        self._verdicts.tell({key: rate.tally.verdicts for key, rate in counted.items()})
        self._labels.tell({key: rate.labels for key, rate in counted.items() if rate.labels})
        corrected = {key: rate.corrected for key, rate in counted.items() if isinstance(rate.corrected, Estimate)}
        told = {key: estimate for key, estimate in corrected.items() if _is_told(estimate)}
        self._corrected.tell({key: estimate.value for key, estimate in told.items()})
        self._low.tell({key: estimate.low for key, estimate in told.items()})
        self._high.tell({key: estimate.high for key, estimate in told.items()})


def _is_told(estimate: Estimate) -> bool:
    """Not where arithmetic came to no end: a NaN would be shown as a rate."""
    return all(map(math.isfinite, (estimate.value, estimate.low, estimate.high)))
