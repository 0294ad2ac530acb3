"""A lazy timer wheel: what to look at in which second. Filing is one append; nothing is ever moved or removed early.

Whoever takes something out looks at what is really due and files it again if it is not yet: touching a session,
which happens for every request, then costs nothing here.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from collector.sessions.index import Ref


class Wheel:
    """Times are milliseconds; a look comes up to one second after the time asked for, never before."""

    def __init__(self, now_ms: int) -> None:
        self._buckets: dict[int, array[int]] = {}
        self._fired = now_ms // 1000

    def file(self, ref: Ref, due_ms: int) -> None:
        second = max(-(-due_ms // 1000), self._fired + 1)
        self._buckets.setdefault(second, array("Q")).append(ref)

    def take(self, now_ms: int) -> Iterator[Ref]:
        """Everything filed for `now_ms` or before; what is not taken comes up again. What is filed meanwhile comes up
        in a later second."""
        self._fired = max(self._fired, now_ms // 1000)
        for second in sorted(second for second in self._buckets if second <= self._fired):
            bucket = self._buckets[second]
            while bucket:
                yield bucket.pop()
            del self._buckets[second]
