"""What becomes of a message that nobody can read: it is kept as it was, with where it stood and why (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from collector.kafka.headers import HeaderRead

Cause: TypeAlias = Literal["undecodable", "malformed", "oversized", "unknown_version"]
"""Labels a metric: bytes that are no OTLP; items that OTLP forbids; larger than a message may be; written by a version
that we do not know."""

TOPIC, PARTITION, OFFSET = "spanjudge.topic", "spanjudge.partition", "spanjudge.offset"
KEY, CAUSE, DETAIL, FULL_BYTES = "spanjudge.key", "spanjudge.cause", "spanjudge.detail", "spanjudge.full_bytes"
_DETAIL_BYTES = 2048
_KEY_BYTES, _HEADERS_BYTES = 4096, 4096  # of the message's own: whoever wrote it may have chosen them as large as it
_ROOM = 16 * 1024  # for the key, the headers and what Kafka puts around them


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message for the topic of dead letters."""

    key: bytes | None
    value: bytes | None
    headers: list[HeaderRead] = field(default_factory=list)


def dead_letter(
    topic: str,
    at: tuple[int, int] | None,
    key: bytes | None,
    value: bytes | None,
    cause: Cause,
    detail: str,
    most_bytes: int,
    headers: Iterable[HeaderRead] = (),
) -> DeadLetter:
    """The letter for a message of `topic`. `at` is its partition and offset; None for one that was never written.
    `headers` are the message's own, of which it keeps the first few kilobytes.

    A message is read again after a takeover, and may become a letter once more. So the key is where it stood, and
    letters of one key are one message; its own key, if it had one, is in the header `KEY`. What was never written keeps
    its key.
    A value that would not fit into a message of `most_bytes` is cut, and the header `FULL_BYTES` tells how long it was;
    so is a key of more than a few kilobytes. `detail` says what is wrong, and holds no content.
    """
    told: list[HeaderRead] = [*_first(headers), (TOPIC, topic.encode()), (CAUSE, cause.encode())]
    told.append((DETAIL, detail.encode()[:_DETAIL_BYTES]))
    if key is not None:
        key = key[:_KEY_BYTES]
    if at is not None:
        told += [(PARTITION, str(at[0]).encode()), (OFFSET, str(at[1]).encode())]
        if key is not None:
            told.append((KEY, key))
        key = f"{topic}/{at[0]}/{at[1]}".encode()
    room = max(0, most_bytes - _ROOM)
    if value is not None and len(value) > room:
        told.append((FULL_BYTES, str(len(value)).encode()))
        value = value[:room]
    return DeadLetter(key, value, told)


def _first(headers: Iterable[HeaderRead]) -> list[HeaderRead]:
    """As many as there is room for."""
    kept: list[HeaderRead] = []
    size = 0
    for name, value in headers:
        size += len(name.encode()) + len(value or b"") + 10  # two lengths
        if size > _HEADERS_BYTES:
            break
        kept.append((name, value))
    return kept
