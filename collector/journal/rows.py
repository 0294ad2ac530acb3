"""How a row of the journal looks on disk.

Key, 52 bytes, big-endian, so that rows sort in the order they were accepted and recovery reads keys only:
row number (8) · number of the owner's row before it (8) · owner digest (16) · our time in ms (8) · owner kind (1) ·
row type (1) · signal or flags (2) · items (4) · bytes (4). A value starts with the owner's tenant and name, so that a
session can be read back with nothing else at hand.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Literal, NamedTuple, TypeAlias

from collector.sessions.keys import Digest, Kind, Owner

Signal: TypeAlias = Literal["traces", "logs"]

_KEY = struct.Struct(">QQ16sQBBHII")
_NAMES = struct.Struct(">HI")  # bytes of tenant, bytes of name
_CLOSED = struct.Struct(">Hd")  # revision, inclusion probability
FIRST_ROW = 1
NO_ROW = 0


class RowType(IntEnum):
    TELEMETRY = 1
    """value: names, then `ResourceSpans` or `ResourceLogs` fields"""
    LINK = 2
    """an item of trace `name` named session `owner`; flags 1: only its resource did"""
    CLOSED = 3
    """the session was closed: revision, inclusion probability, reason"""
    DONE = 4
    """that revision is judged and its verdicts are durable"""
    FORGOTTEN = 5
    """nobody needs the owner's telemetry any more"""
    ENDED = 6
    """an end marker of this session was seen"""


_SIGNALS: tuple[Signal, Signal] = ("traces", "logs")


class RowKey(NamedTuple):
    """A tuple, because one is made for every row of the hot path."""

    row: int
    before: int
    digest: Digest
    at_ms: int
    kind: int
    type: RowType
    flags: int = 0
    items: int = 0
    size: int = 0

    def encode(self) -> bytes:
        return _KEY.pack(*self)


def decode_key(key: bytes) -> RowKey:
    row, before, digest, at_ms, kind, row_type, flags, items, size = _KEY.unpack(key)
    return RowKey(row, before, digest, at_ms, Kind(kind), RowType(row_type), flags, items, size)


def key_of(row: int) -> bytes:
    """Sorts before the row with this number and behind the one before it."""
    return row.to_bytes(8, "big")


class Row(NamedTuple):
    """A row to be written. The pieces of `value` are joined by the writer, away from the event loop's turn; they may
    be views into a request, which lives on until then."""

    key: RowKey
    value: Sequence[bytes | memoryview]


def names(owner: Owner) -> bytes:
    """The head of a value."""
    tenant, name = owner.tenant.encode(), owner.name.encode()
    return _NAMES.pack(len(tenant), len(name)) + tenant + name


def split_names(value: bytes, kind: int) -> tuple[Owner, bytes]:
    """The owner, and the rest of a value."""
    tenant_size, name_size = _NAMES.unpack_from(value)
    tenant_end = _NAMES.size + tenant_size
    name_end = tenant_end + name_size
    owner = Owner(Kind(kind), value[tenant_end:name_end].decode(), value[_NAMES.size : tenant_end].decode())
    return owner, value[name_end:]


def signal_flags(signal: Signal) -> int:
    return _SIGNALS.index(signal)


def signal_of(flags: int) -> Signal:
    return _SIGNALS[flags & 1]


def closing(revision: int, inclusion_probability: float, reason: str) -> bytes:
    return _CLOSED.pack(revision, inclusion_probability) + reason.encode()


def split_closing(value: bytes) -> tuple[int, float, str]:
    revision, probability = _CLOSED.unpack_from(value)
    return revision, probability, value[_CLOSED.size :].decode()
