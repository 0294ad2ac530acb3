"""Does another process have our `kafka.instance_id`? Kafka then gives each the other's place, for ever (pure)."""

from __future__ import annotations

from collections import deque

_MOST, _WITHIN_MS = 6, 60_000


class Joins:
    """Times at which a member of a group was given its share. One with a name of its own is given it when it starts and
    when others come or go, not many times a minute."""

    def __init__(self, instance_id: str | None) -> None:
        self._instance_id = instance_id
        self._times_ms: deque[int] = deque(maxlen=_MOST)

    def joined(self, now_ms: int) -> None:
        self._times_ms.append(now_ms)

    def problem(self, now_ms: int) -> str | None:
        if self._instance_id is None or len(self._times_ms) < _MOST or now_ms - self._times_ms[0] > _WITHIN_MS:
            return None
        return (
            f"it lost its place in the group {_MOST} times in a minute: does another process have the "
            f"kafka.instance_id {self._instance_id!r} too?"
        )
