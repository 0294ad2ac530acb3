"""Up to which moment has everything been read (pure)?

A trace is unnamed only if its name is not among what stands unread. A router that is behind, or was cut off for a
while, must not give traces out because time has passed: it waits until it has read what stood there by then.
"""

from __future__ import annotations

from collections.abc import Iterable


class Progress:
    """Of one partition of several topics. Times are milliseconds by the clock of the caller."""

    def __init__(self, topics: Iterable[str], now_ms: int) -> None:
        self._read_ms = dict.fromkeys(topics, now_ms)
        self._ends: dict[str, tuple[int, int]] = {}
        self._heard: dict[str, int] = {}
        self._positions: dict[str, int] = {}

    def seen(self, topic: str, end: int, heard: int, now_ms: int) -> None:
        """The broker said that the partition ends here; `heard` changes with each answer. Without answers nothing is
        known, and nothing moves."""
        if topic not in self._ends and self._heard.get(topic) != heard:
            self._ends[topic] = (end, now_ms)
        self._heard[topic] = heard

    def read(self, topic: str, position: int) -> None:
        """Everything below this position has been dealt with. It goes back where a topic was made anew: then its former
        end is never reached."""
        if position < self._positions.get(topic, 0):
            self._ends.pop(topic, None)
        self._positions[topic] = position
        ended = self._ends.get(topic)
        if ended is not None and position >= ended[0]:
            self._read_ms[topic] = ended[1]
            del self._ends[topic]

    def read_ms(self) -> int:
        """All that stood in the partition by then has been read."""
        return min(self._read_ms.values())
