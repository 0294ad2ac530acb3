"""A lazy timer wheel: what to look at in which second. Filing is one append; nothing is ever moved or removed early.

Whoever takes something out looks at what is really due and files it again if it is not yet: touching a session,
which happens for every request, then costs nothing here.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator

from collector.sessions.index import Ref


class Wheel:
    """Times are milliseconds; a look comes up to one second after the time asked for, never before."""

    def __init__(self, now_ms: int) -> None:
        self._buckets: dict[int, array[int]] = {}
        self._ready: deque[array[int]] = deque()  # each with what comes first at its end
        self._fired = now_ms // 1000

    def file(self, ref: Ref, due_ms: int) -> None:
        second = max(-(-due_ms // 1000), self._fired + 1)
        bucket = self._buckets.get(second)
        if bucket is None:
            bucket = self._buckets[second] = array("Q")
        bucket.append(ref)

    def take(self, now_ms: int) -> Iterator[Ref]:
        """Everything filed for `now_ms` or before. What is filed meanwhile comes up in a later second; what is not
        taken from the iterator comes first the next time."""
        self._fired = max(self._fired, now_ms // 1000)
        for second in sorted(second for second in self._buckets if second <= self._fired):
            bucket = self._buckets.pop(second)
            bucket.reverse()
            self._ready.append(bucket)
        while self._ready:
            bucket = self._ready[0]
            while bucket:
                yield bucket.pop()
            self._ready.popleft()
