"""Messages that were read and not yet worked on, of one partition of telemetry (pure)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Record: TypeAlias = Any
"""A `ConsumerRecord`: of that, `topic`, `offset`, `key`, `value` and `headers` are looked at."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Messages to work on, with the bytes of their values. `positions`, by topic, is how far the partition has been
    read when these are done; empty while others wait."""

    records: Sequence[Record]
    size: int
    positions: dict[str, int]


@dataclass(slots=True)
class Inbox:
    """In the order in which they were read; those of one topic are in that of their offsets."""

    size: int = 0
    _records: deque[Record] = field(default_factory=deque)
    _positions: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._records)

    def put(self, records: Iterable[Record]) -> None:
        for record in records:
            self._records.append(record)
            self.size += _size(record)

    def reached(self, topic: str, position: int) -> None:
        """What the topic has below this position is in here, or was."""
        self._positions[topic] = position

    def take(self, most_bytes: int) -> Taken:
        """At least one message, if there is any."""
        taken: list[Record] = []
        size = 0
        while self._records and (not taken or size + _size(self._records[0]) <= most_bytes):
            record = self._records.popleft()
            taken.append(record)
            size += _size(record)
        self.size -= size
        return Taken(taken, size, {} if self._records else dict(self._positions))

    def clear(self) -> None:
        self._records.clear()
        self._positions.clear()
        self.size = 0


def _size(record: Record) -> int:
    return len(record.value) if record.value is not None else 0
