"""Which messages of the topic of links are still needed, and which facts have to be written anew (pure).

Facts are kept for as long as the trace is remembered, messages are not: what an old message tells of traces that live
on is written again, then a tombstone takes the message away. So the live part of a partition is as long as a few
minutes of facts, whoever reads it has little to read, and compaction keeps it small.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from collector.sessions.links import TraceKey


@dataclass(slots=True)
class Chunk:
    """One message: its key, the traces it tells of, when it was written (or taken over), where it stands."""

    key: bytes
    traces: Sequence[TraceKey]
    written_ms: int
    offset: int


class LinkLog:
    """`begins` makes keys unlike any before: where the partition ended when this log began."""

    def __init__(self, begins: int, chunks: Sequence[Chunk], renew_ms: int) -> None:
        self._begins = begins
        self._chunks = deque(chunks)
        self._renew_ms = renew_ms
        self._made = 0

    def next_key(self) -> bytes:
        self._made += 1
        return f"{self._begins}-{self._made}".encode()

    def old(self, now_ms: int) -> list[Chunk]:
        """Messages to be taken away, once what lives on of them is written anew. They are forgotten here."""
        found: list[Chunk] = []
        while self._chunks and self._chunks[0].written_ms + self._renew_ms <= now_ms:
            found.append(self._chunks.popleft())
        return found

    def written(self, chunk: Chunk) -> None:
        """It is in Kafka for good."""
        self._chunks.append(chunk)

    def oldest(self) -> int | None:
        """Where to begin reading. None when nothing is needed."""
        return self._chunks[0].offset if self._chunks else None

    def __len__(self) -> int:
        return len(self._chunks)
