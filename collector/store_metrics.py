"""The size of the verdict store, and what was deleted from it. A part of `collector.metrics.Metrics`, which declares
and documents."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from collector.judge_metrics import Declare, DeclareGauge

RemovalReason: TypeAlias = Literal["age", "size"]


class StoreMetrics:
    def __init__(self, counter: Declare, gauge: DeclareGauge) -> None:
        self._bytes = gauge(
            "store_bytes",
            "Size of the verdict store: its file and log, or its tables with indexes. Replicas that share it agree",
        )
        self._used_bytes = gauge(
            "store_used_bytes",
            "How much of it is in use, and held against retention.max_bytes; the rest is filled again first. Of "
            "PostgreSQL an estimate",
        )
        self._excess_bytes = gauge(
            "store_excess_bytes",
            "By how much what is in use is more than retention.max_bytes; 0 where it is not, and without that bound",
        )
        self._removed = counter(
            "sessions_removed_total",
            "Closings of sessions deleted from the verdict store: age (retention.days), size (retention.max_bytes)",
            "reason",
        )
        for reason in get_args(RemovalReason):
            self._removed.labels(reason)

    def size(self, on_disk: int, used: int, max_bytes: int | None) -> None:
        self._bytes.set(on_disk)
        self._used_bytes.set(used)
        self._excess_bytes.set(0 if max_bytes is None else max(0, used - max_bytes))

    def removed(self, reason: RemovalReason, count: int) -> None:
        self._removed.labels(reason).inc(count)
