"""What routers do. A part of `collector.kafka.metrics.KafkaMetrics`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from collector.journal.rows import Signal
from collector.judge_metrics import Declare, DeclareGauge
from collector.kafka.outcomes import READ, UNPARKED, Outcome


@dataclass(frozen=True, slots=True)
class RouterState:
    """Of all partitions that a router has."""

    partitions: int = 0
    traces: int = 0
    parked_bytes: int = 0
    waiting: int = 0
    behind_s: float = 0.0


class RouterMetrics:
    def __init__(self, counter: Declare, gauge: DeclareGauge) -> None:
        self._items = counter(
            "kafka_router_items_total",
            "Spans and records read, by what became of them: to a session, to their trace as one, parked until a name "
            "comes, or not passed on",
            "signal",
            "outcome",
        )
        self._unparked = counter(
            "kafka_router_unparked_total", "Of those parked, what became of them in the end", "signal", "outcome"
        )
        self._repeated = counter(
            "kafka_router_repeated_total", "Spans and records given to one more session, which their trace named later"
        )
        self._messages = counter("kafka_router_messages_total", "Messages of the telemetry topics that were read")
        self._bytes = counter("kafka_router_read_bytes_total", "Their values, after decompression")
        self._transactions = counter("kafka_router_transactions_total", "Transactions that were committed")
        self._over = counter(
            "kafka_router_started_over_total",
            "Partitions given up after an error, or to another router, and begun anew",
        )
        self._takeovers = counter("kafka_router_takeovers_total", "Partitions taken over, and all known of them read")
        self._again = counter("kafka_router_read_again_total", "Messages read once more for a name that came late")
        self._skipped = counter(
            "kafka_router_skipped_total", "Messages that Kafka had deleted before a router could read them"
        )
        self._facts = counter("kafka_router_unreadable_facts_total", "Messages of the topic of links nobody can read")
        self._partitions = gauge("kafka_router_partitions", "Partitions of telemetry that this router has")
        self._traces = gauge("kafka_router_traces", "Traces that it remembers")
        self._parked = gauge("kafka_router_parked_bytes", "Of telemetry that waits for a name, in memory")
        self._waiting = gauge(
            "kafka_router_waiting_messages", "Messages in its partitions that it has not yet worked on"
        )
        self._behind = gauge(
            "kafka_router_behind_seconds", "Everything that stood in its partitions this long ago has been read"
        )
        self._differ = gauge(
            "kafka_router_settings_differ",
            "1 at the router that shares out partitions, while not all of the group go by the same settings",
        )
        self._known_series()

    def _known_series(self) -> None:
        signals: tuple[Signal, ...] = ("traces", "logs")
        for signal in signals:
            for outcome in READ:
                self._items.labels(signal, outcome)
            for outcome in UNPARKED:
                self._unparked.labels(signal, outcome)

    def read(self, outcomes: Mapping[tuple[Signal, Outcome], int]) -> None:
        for (signal, outcome), count in outcomes.items():
            self._items.labels(signal, outcome).inc(count)

    def unparked(self, outcomes: Mapping[tuple[Signal, Outcome], int], repeated: int) -> None:
        for (signal, outcome), count in outcomes.items():
            self._unparked.labels(signal, outcome).inc(count)
        self._repeated.inc(repeated)

    def committed(self, messages: int, size: int) -> None:
        """A transaction, with what it read."""
        self._transactions.inc()
        self._messages.inc(messages)
        self._bytes.inc(size)

    def started_over(self) -> None:
        self._over.inc()

    def taken_over(self, skipped: int, unreadable: int) -> None:
        """A partition, of which so many messages were deleted unread, and so many of its links told nothing."""
        self._takeovers.inc()
        self._skipped.inc(skipped)
        self._facts.inc(unreadable)

    def settings_differ(self, differ: bool) -> None:
        self._differ.set(differ)

    def read_again(self, messages: int) -> None:
        self._again.inc(messages)

    def state(self, state: RouterState) -> None:
        self._partitions.set(state.partitions)
        self._traces.set(state.traces)
        self._parked.set(state.parked_bytes)
        self._waiting.set(state.waiting)
        self._behind.set(state.behind_s)
