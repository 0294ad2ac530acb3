"""What asking costs and how the judge is doing. A part of `collector.metrics.Metrics`, which declares and documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from prometheus_client import Counter, Gauge

from judge.breaker import State
from judge.budget import Limit
from judge.prices import NANO


class Declare(Protocol):
    """Makes one metric of a kind: name without prefix, meaning, labels."""

    def __call__(self, name: str, meaning: str, *labels: str) -> Counter: ...


class DeclareGauge(Protocol):
    def __call__(self, name: str, meaning: str, *labels: str) -> Gauge: ...


class JudgeMetrics:
    """`bound` keeps the values of a label (its name, the value) from growing without end."""

    def __init__(self, counter: Declare, gauge: DeclareGauge, bound: Callable[[str, str], str]) -> None:
        self._bound = bound
        self._cost = counter("judge_cost_dollars_total", "What answers cost, by the prices given", "model", "evaluator")
        self._hits = counter(
            "judge_cache_hits_total", "Questions answered by an earlier answer to the same", "evaluator"
        )
        self._remaining = gauge(
            "judge_budget_remaining_ratio",
            "Share that is left of a limit in its current hour or day; an empty evaluator stands for all",
            "window",
            "unit",
            "evaluator",
        )
        self._ready = gauge(
            "judge_ready",
            "1 while somebody can be asked; 0 without a judge, while its circuit is open, and while models are refused "
            "and no other answered in the last hour",
        )
        self._open = gauge("judge_circuit_open", "1 while the judge is not asked because it failed or refused the key")
        self._opened = counter(
            "judge_circuit_opened_total", "Times that the circuit of the judge or of one model opened", "reason"
        )
        self._models_refused = gauge(
            "judge_models_refused", "Models that are not asked because the service refuses them or does not know them"
        )
        self._concurrency = gauge("judge_concurrency", "Questions that may be asked at the same time just now")
        self._oldest = gauge("questions_oldest_seconds", "How long the oldest open question has waited; 0 for none")
        self._oldest_risky = gauge(
            "questions_oldest_high_risk_seconds",
            "How long the oldest open question about a session with a case of high risk has waited; 0 for none",
        )
        self._batches = gauge("judge_batches_open", "Message batches on their way")
        self._expired = counter(
            "questions_expired_total", "Questions that waited too long and are not judged", "reason"
        )
        self._unreadable = counter(
            "questions_unreadable_total", "Stored questions that could not be read any more, and are not judged"
        )

    def cost(self, model: str, evaluator: str, nano_dollars: int) -> None:
        self._cost.labels(self._bound("model", model), self._bound("evaluator", evaluator)).inc(
            max(0, nano_dollars) / NANO
        )

    def cache_hit(self, evaluator: str) -> None:
        self._hits.labels(self._bound("evaluator", evaluator)).inc()

    def budget(self, remaining: Sequence[tuple[Limit, float]]) -> None:
        for limit, share in remaining:
            if not math.isfinite(share):
                continue  # nothing can be said; a NaN would make an alert's comparison false without a word
            self._remaining.labels(limit.window, limit.unit, limit.evaluator or "").set(share)

    def ready(self, ready: bool) -> None:
        self._ready.set(1 if ready else 0)

    def circuit(self, state: State) -> None:
        self._open.set(0 if state == "closed" else 1)

    def models_refused(self, count: int) -> None:
        self._models_refused.set(count)

    def circuit_opened(self, reason: str) -> None:
        self._opened.labels(self._bound("reason", reason)).inc()

    def concurrency(self, limit: int) -> None:
        self._concurrency.set(limit)

    def oldest_question(self, seconds: float, *, of_high_risk: bool = False) -> None:
        told = self._oldest_risky if of_high_risk else self._oldest
        told.set(max(0.0, seconds) if math.isfinite(seconds) else 0.0)

    def batches_open(self, count: int) -> None:
        self._batches.set(count)

    def question_expired(self, reason: str) -> None:
        self._expired.labels(self._bound("reason", reason)).inc()

    def question_unreadable(self) -> None:
        self._unreadable.inc()
