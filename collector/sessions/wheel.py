"""A lazy timer wheel: what to look at in which fifth of a second. Filing is one append; nothing is ever moved, or
removed early.

Whoever takes something out looks at what is really due and files it again if it is not yet: touching a session,
which happens for every request, then costs nothing here.
"""

from __future__ import annotations

import heapq
from array import array
from collections import deque
from collections.abc import Iterator

from collector.sessions.index import Ref

STEP_MS = 200
"""As often as somebody looks: with longer steps closings, and what follows from them, come in bursts."""


class Wheel:
    """Times are milliseconds; a look comes up to one step after the time asked for, never before."""

    def __init__(self, now_ms: int) -> None:
        self._buckets: dict[int, array[int]] = {}
        self._ready: deque[array[int]] = deque()  # each with what comes first at its end
        self._order: list[int] = []  # a heap of the buckets' steps
        self._fired = now_ms // STEP_MS

    def file(self, ref: Ref, due_ms: int) -> None:
        step = max(-(-due_ms // STEP_MS), self._fired + 1)
        bucket = self._buckets.get(step)
        if bucket is None:
            bucket = self._buckets[step] = array("Q")
            heapq.heappush(self._order, step)
        bucket.append(ref)

    def take(self, now_ms: int) -> Iterator[Ref]:
        """Everything filed for `now_ms` or before. What is filed meanwhile comes up in a later step; what is not
        taken from the iterator comes first the next time."""
        self._fired = max(self._fired, now_ms // STEP_MS)
        while self._order and self._order[0] <= self._fired:
            bucket = self._buckets.pop(heapq.heappop(self._order))
            bucket.reverse()
            self._ready.append(bucket)
        while self._ready:
            bucket = self._ready[0]
            while bucket:
                yield bucket.pop()
            self._ready.popleft()

    @property
    def left(self) -> bool:
        """Was something not taken from the iterator?"""
        return any(self._ready)
