"""What a worker has in hand, and what waits for it. A part of `collector.metrics.Metrics`."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from collector.judge_metrics import Declare, DeclareGauge

State: TypeAlias = Literal["held", "beginning", "paused"]
Takeover: TypeAlias = Literal["rebuilt", "resumed"]
_FATES = ("kept", "sampled_out", "session_full")


class WorkerMetrics:
    def __init__(self, counter: Declare, gauge: DeclareGauge) -> None:
        self._filed = counter(
            "kafka_items_filed_total",
            "Spans and records read from the topic of sessions; after a takeover those of open sessions are read again",
            "signal",
            "fate",
        )
        self._waiting = gauge(
            "kafka_work_waiting_messages",
            "Messages of sessions not read yet, and closings not judged yet: scale workers by this",
        )
        self._behind = gauge(
            "kafka_open_offsets_behind",
            "Messages of sessions from the oldest that is still needed to the newest: open sessions, not a backlog",
        )
        self._partitions = gauge(
            "kafka_partitions", "Partitions of sessions that this worker has: held, beginning, paused", "state"
        )
        self._takeovers = counter(
            "kafka_takeovers_total",
            "Partitions taken up: rebuilt from the topics, or resumed as they were before a rebalance",
            "how",
        )
        self._lost = counter(
            "kafka_shares_lost_total", "Partitions begun anew: somebody else had written, or the journal had failed"
        )
        self._rebalances = counter("kafka_rebalances_total", "Times that partitions were handed out anew")
        self._skipped = counter(
            "kafka_sessions_skipped_total",
            "Messages of sessions that Kafka had deleted when a worker needed them: never read, or of open sessions",
        )
        self._read_failures = counter("kafka_read_failures_total", "Reads that failed; they are tried again")
        for signal in ("traces", "logs"):
            for fate in _FATES:
                self._filed.labels(signal, fate)
        for how in get_args(Takeover):
            self._takeovers.labels(how)
        self.partitions(0, 0, 0)

    def filed(self, signal: str, kept: int, sampled_out: int, full: int) -> None:
        """Items of one message, by what became of them."""
        for fate, count in zip(_FATES, (kept, sampled_out, full), strict=True):
            if count:
                self._filed.labels(signal, fate).inc(count)

    def waiting(self, messages: int, behind: int) -> None:
        self._waiting.set(messages)
        self._behind.set(behind)

    def partitions(self, held: int, beginning: int, paused: int) -> None:
        for state, count in zip(get_args(State), (held, beginning, paused), strict=True):
            self._partitions.labels(state).set(count)

    def took(self, how: Takeover) -> None:
        self._takeovers.labels(how).inc()

    def share_lost(self) -> None:
        self._lost.inc()

    def rebalanced(self) -> None:
        self._rebalances.inc()

    def skipped(self, messages: int) -> None:
        self._skipped.inc(messages)

    def read_failed(self) -> None:
        self._read_failures.inc()
