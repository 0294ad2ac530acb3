"""Failures that people are woken for, one by one, and what nobody knows of cases of high risk. A part of
`collector.metrics.Metrics`.

A counter does not do here: its series appears with the first failure, and `increase()` does not see a first value. The
time of the last failure is seen at the first scrape, and neither a restart nor a gap between scrapes looks like one.
"""

from __future__ import annotations

from collections.abc import Callable

from collector.judge_metrics import Declare, DeclareGauge
from collector.metric_labels import OTHER
from collector.verdict_facts import VerdictFacts, facts_of
from judge.verdict import Judged

_OF_A_CASE = ("service", "evaluator", "case", "agent_version")
_LABELS = ("gate", *_OF_A_CASE)


class GateMetrics:
    """`bound` keeps the values of a label (its name, the value) from growing without end, `fits` their combinations."""

    def __init__(
        self,
        counter: Declare,
        gauge: DeclareGauge,
        bound: Callable[[str, str | None], str],
        fits: Callable[[tuple[str, ...]], bool],
    ) -> None:
        self._bound = bound
        self._fits = fits
        self._failures = counter(
            "gate_failures_total",
            "Verdicts that fail a gate which tolerates none: forbidden_events (something forbidden happened), "
            "high_risk (a case of high risk is not right)",
            *_LABELS,
        )
        self._last = gauge(
            "gate_last_failure_timestamp_seconds",
            "When the last of them was judged, Unix time; there from the first failure on, and after a start "
            "from those of the hour before",
            *_LABELS,
        )
        self._undecided = counter(
            "high_risk_undecided_total",
            "Verdicts of the gate high_risk about cases of high risk that could not be judged, but for want of a judge "
            "that was never set up: nobody knows whether these were right",
            *_OF_A_CASE,
            "reason",
        )
        self._last_ns: dict[tuple[str, ...], int] = {}

    def count(self, facts: VerdictFacts, count: int, judged_ns: int) -> None:
        """So many verdicts of these facts; the last of them was judged then. Nothing where they neither fail a gate nor
        leave one open."""
        if facts.leaves_high_risk_open:
            self._undecided.labels(*self._open_labels(facts)).inc(count)
        if (failed := self._labels(facts)) is not None:
            self._failures.labels(*failed).inc(count)
            self._tell(failed, judged_ns)

    def recall(self, judged: Judged) -> None:
        """A verdict that was kept before this process began, and perhaps never told: its time, without counting it."""
        if (labels := self._labels(facts_of(judged))) is not None:
            self._tell(labels, judged.judged_ns)

    def _labels(self, facts: VerdictFacts) -> tuple[str, ...] | None:
        """None where it fails no gate."""
        if facts.failed_gate is None:
            return None
        labels = (facts.failed_gate, *self._case(facts))
        return labels if self._fits(labels) else (labels[0], OTHER, labels[2], OTHER, OTHER)

    def _open_labels(self, facts: VerdictFacts) -> tuple[str, ...]:
        service, evaluator, case, agent_version = self._case(facts)
        reason = self._bound("reason", facts.not_judged)
        if self._fits(("open", service, evaluator, case, agent_version, reason)):
            return service, evaluator, case, agent_version, reason
        return OTHER, evaluator, OTHER, OTHER, reason

    def _case(self, facts: VerdictFacts) -> tuple[str, str, str, str]:
        bound = self._bound
        return (
            bound("service", facts.service),
            bound("evaluator", facts.evaluator),
            bound("case", facts.case),
            bound("agent_version", facts.agent_version),
        )

    def _tell(self, labels: tuple[str, ...], judged_ns: int) -> None:
        last_ns = self._last_ns[labels] = max(judged_ns, self._last_ns.get(labels, 0))
        self._last.labels(*labels).set(last_ns / 1e9)
