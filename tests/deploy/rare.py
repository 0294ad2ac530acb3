"""What does not happen in the scene: Kafka, and failures. Our own metrics, with each such thing counted once."""

from __future__ import annotations

from collector.kafka.router_metrics import RouterState
from collector.metrics import Metrics
from judge.significance import Count
from judge.yardstick import Yardstick

RARE = frozenset(
    f"spanjudge_{name}"
    for name in (
        "access_refused_total",
        "baseline_left_out_verdicts",
        "credential_files_replaced_total",
        "credential_files_unusable",
        "export_failed_total",
        "export_retries_total",
        "judge_circuit_opened_total",
        "kafka_messages_sent_total",
        "kafka_send_failures_total",
        "kafka_sent_bytes_total",
        "questions_expired_total",
        "requests_denied_total",
        "stored_records_unreadable_total",
        "tls_certificate_expiry_timestamp_seconds",
    )
)
"""What a query may find nothing of in the scene: series that come with the first event, which does not come there."""


def rare_metrics() -> Metrics:
    metrics = Metrics("1.2.3")
    metrics.export_failed("otlp", "invalid_argument", 1)
    metrics.export_retried("otlp", "unavailable")
    metrics.record_unreadable("verdict")
    metrics.judge.circuit_opened("judge_unavailable")
    metrics.judge.question_expired("budget_spent")
    metrics.access.refused("wrong_token")
    metrics.tls.denied("grpc", "unknown")
    metrics.tls.watched("receivers.grpc.tls")
    metrics.tls.replaced("receivers.grpc.tls")
    metrics.tls.expires("grpc", 1_900_000_000)
    _compare(metrics)
    _kafka(metrics)
    return metrics


def _compare(metrics: Metrics) -> None:
    """With a baseline that was judged by another version of the evaluator."""
    before, now = (Yardstick("goal_completion", version) for version in ("1", "2"))
    metrics.baselines.show({"shop": {before: Count(9, 1)}}, {("shop", "7"): {now: Count(8, 2)}})


def _kafka(metrics: Metrics) -> None:
    kafka = metrics.kafka
    kafka.sent("spanjudge.sessions", 100)
    kafka.send_failed("unavailable")
    kafka.worker.waiting(3, 5)
    kafka.router.state(RouterState(partitions=1, traces=2, parked_bytes=100, waiting=3, behind_s=0.5))
