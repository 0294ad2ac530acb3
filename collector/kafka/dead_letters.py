"""What becomes of a message that nobody can read: it is kept as it was, with where it stood and why (pure)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Header: TypeAlias = tuple[str, bytes]
Cause: TypeAlias = Literal["undecodable", "malformed", "oversized", "unknown_version"]
"""Labels a metric: bytes that are no OTLP; items that OTLP forbids; larger than a message may be; written by a version
that we do not know."""

TOPIC, PARTITION, OFFSET = "spanjudge.topic", "spanjudge.partition", "spanjudge.offset"
KEY, CAUSE, DETAIL, FULL_BYTES = "spanjudge.key", "spanjudge.cause", "spanjudge.detail", "spanjudge.full_bytes"
_DETAIL_BYTES = 2048
_ROOM = 16 * 1024  # for the key, the headers and what Kafka puts around them


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message for the topic of dead letters."""

    key: bytes | None
    value: bytes | None
    headers: list[Header] = field(default_factory=list)


def dead_letter(
    topic: str,
    at: tuple[int, int] | None,
    key: bytes | None,
    value: bytes | None,
    cause: Cause,
    detail: str,
    most_bytes: int,
) -> DeadLetter:
    """The letter for a message of `topic`. `at` is its partition and offset; None for one that was never written.

    A message is read again after a takeover, and may become a letter once more. So the key is where it stood, and
    letters of one key are one message; its own key, if it had one, is in the header `KEY`. What was never written keeps
    its key.
    A value that would not fit into a message of `most_bytes` is cut, and the header `FULL_BYTES` tells how long it was.
    `detail` says what is wrong, and holds no content.
    """
    headers: list[Header] = [(TOPIC, topic.encode()), (CAUSE, cause.encode())]
    headers.append((DETAIL, detail.encode()[:_DETAIL_BYTES]))
    if at is not None:
        headers += [(PARTITION, str(at[0]).encode()), (OFFSET, str(at[1]).encode())]
        if key is not None:
            headers.append((KEY, key))
        key = f"{topic}/{at[0]}/{at[1]}".encode()
    room = max(0, most_bytes - _ROOM)
    if value is not None and len(value) > room:
        headers.append((FULL_BYTES, str(len(value)).encode()))
        value = value[:room]
    return DeadLetter(key, value, headers)
