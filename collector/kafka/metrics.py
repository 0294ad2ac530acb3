"""What goes through Kafka, and what does not. A part of `collector.metrics.Metrics`, which declares and documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from collector.judge_metrics import Declare, DeclareGauge
from collector.kafka.dead_letters import Cause
from collector.kafka.router_metrics import RouterMetrics
from collector.kafka.worker_metrics import WorkerMetrics


class KafkaMetrics:
    """`bound` keeps the values of a label (its name, the value) from growing without end."""

    def __init__(self, counter: Declare, gauge: DeclareGauge, bound: Callable[[str, str], str]) -> None:
        self._bound = bound
        self.worker = WorkerMetrics(counter, gauge)
        self._messages = counter("kafka_messages_sent_total", "Messages that Kafka has taken from us", "topic")
        self._bytes = counter("kafka_sent_bytes_total", "Their values, before compression", "topic")
        self._failures = counter(
            "kafka_send_failures_total",
            "Requests of senders that Kafka did not take in time, or not at all; they were told to come back",
            "reason",
        )
        self._pending = gauge("kafka_pending_bytes", "Given to the Kafka client, and not yet taken by Kafka")
        self._dead = counter("kafka_dead_letters_total", "Messages put among the dead letters", "cause")
        self._problems = gauge(
            "kafka_topic_problems", "What is wrong with the topics or with reaching Kafka; the log and /readyz say what"
        )
        self._restarts = counter("kafka_producer_restarts_total", "Producers replaced because they had failed for good")
        self.router = RouterMetrics(counter, gauge)
        for cause in get_args(Cause):
            self._dead.labels(cause)

    def sent(self, topic: str, size: int) -> None:
        """One message is durable."""
        self._messages.labels(topic).inc()
        self._bytes.labels(topic).inc(size)

    def send_failed(self, reason: str) -> None:
        self._failures.labels(self._bound("kafka_reason", reason)).inc()

    def pending(self, size: int) -> None:
        self._pending.set(size)

    def dead_letter(self, cause: Cause) -> None:
        self._dead.labels(cause).inc()

    def topic_problems(self, count: int) -> None:
        self._problems.set(count)

    def producer_restarted(self) -> None:
        self._restarts.inc()
