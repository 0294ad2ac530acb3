"""How a row of the journal looks on disk.

Key, 52 bytes, big-endian, so that rows sort in the order they were accepted and recovery reads keys only:
row number (8) · number of the owner's row before it (8) · owner digest (15, and a spare) · our time in ms (8) · owner
kind (1) · row type (1) · signal or flags (2) · items (4) · bytes (4). The value of a TELEMETRY row starts with the
owner's tenant and name, so that a session can be read back with nothing else at hand.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Literal, NamedTuple, TypeAlias

from collector.sessions.keys import Digest, Kind, Owner

Signal: TypeAlias = Literal["traces", "logs"]

_KEY = struct.Struct(">QQ15sxQBBHII")
_NAMES = struct.Struct(">HI")  # bytes of tenant, bytes of name
_CLOSED = struct.Struct(">Hd")  # revision, inclusion probability
_TRACE = struct.Struct(">QII")  # a digest and a spare byte in `before`, `items`, `size` of a LINK row
_MOVED = struct.Struct(">BBQ")  # state, ended, last seen
FIRST_ROW = 1
NO_ROW = 0


class RowType(IntEnum):
    TELEMETRY = 1
    """value: names, then `ResourceSpans` or `ResourceLogs` fields. `before` NO_ROW: the owner begins (anew) here"""
    NAMED = 2
    """a LINK as earlier builds wrote it, with the trace's names as value; only read"""
    CLOSED = 3
    """the session was closed: revision, inclusion probability, reason. Its time is that of the wall clock, which people
    read; that of all other rows is by the book's clock, which does not jump"""
    DONE = 4
    """that revision is judged and its verdicts are durable"""
    FORGOTTEN = 5
    """nobody needs the owner's telemetry any more; flags 1: it is outside the sample, and the value names it"""
    ENDED = 6
    """an end marker of this session was seen"""
    OPENED = 7
    """telemetry for a session that was closed, in its own rows or in those of a trace it reads"""
    MOVED = 8
    """the last row of a copy of all that is known of the owner, which begins at row `before`; see `moved`"""
    ROOT = 9
    """the root span of the trace whose digest is the value has arrived"""
    LINK = 11
    """an item of a trace (`linked`) named session `owner`; flags 1: only its resource did"""
    RULE = 10
    """telemetry came for the owner to whose service the idle rule in the value applies"""


_LAST_TYPE = max(RowType)
_LAST_KIND = max(Kind)
RECOVERED = frozenset({RowType.NAMED, RowType.CLOSED, RowType.FORGOTTEN, RowType.MOVED, RowType.ROOT, RowType.RULE})
"""Rows whose values are needed to build the book anew; of the others the key says it all."""

_SIGNALS: tuple[Signal, Signal] = ("traces", "logs")


class RowKey(NamedTuple):
    """`kind` is a `Kind`, `type` a `RowType`."""

    row: int
    before: int
    digest: Digest
    at_ms: int
    kind: int
    type: int
    flags: int = 0
    items: int = 0
    size: int = 0

    def encode(self) -> bytes:
        return _KEY.pack(*self)


pack_key = _KEY.pack
"""What `RowKey(...).encode()` gives, of the same nine values in their order. The hot path makes no `RowKey`."""


def decode_key(key: bytes) -> RowKey:
    """Raises ValueError for a key of a later version, struct.error for what is no key."""
    return _known(RowKey._make(_KEY.unpack(key)))


def decode_keys(keys: bytes) -> Iterator[RowKey]:
    """Of keys one behind the other. Raises as `decode_key` does."""
    return map(_known, map(RowKey._make, _KEY.iter_unpack(keys)))


def _known(key: RowKey) -> RowKey:
    if key.type > _LAST_TYPE or key.kind > _LAST_KIND:
        raise ValueError(f"row {key.row} is of type {key.type} and kind {key.kind}, unknown to this version")
    return key


def key_of(row: int) -> bytes:
    """Sorts before the row with this number and behind the one before it."""
    return row.to_bytes(8, "big")


Row: TypeAlias = tuple[bytes, Sequence[bytes | memoryview]]
"""A row to be written: its encoded key, and its value in pieces, which the writer joins, away from the event loop's
turn; they may be views into a request, which lives on until then. A bare tuple, because one is made for every row of
the hot path."""


def number_of(key: bytes) -> int:
    """The row's number, which its encoded key begins with."""
    return int.from_bytes(key[:8], "big")


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


def link_key(row: int, session: Digest, trace: Digest, at_ms: int, *, weak: bool) -> RowKey:
    """Of a LINK row, which has no value: recovery then reads keys only, and there is a link for every trace."""
    before, items, size = _TRACE.unpack(trace + b"\0")
    return RowKey(row, before, session, at_ms, Kind.SESSION, RowType.LINK, int(weak), items, size)


def linked(key: RowKey) -> Digest:
    """The digest of the trace in a LINK row."""
    return _TRACE.pack(key.before, key.items, key.size)[:-1]


def moved(state: int, ended: int, last_ms: int) -> bytes:
    """The value of a MOVED row: how the owner stood, see `SessionIndex`. Its revision is in the flags, its beginning is
    the row's time."""
    return _MOVED.pack(state, ended, last_ms)


def split_moved(value: bytes) -> tuple[int, int, int]:
    state, ended, last_ms = _MOVED.unpack(value)
    return state, ended, last_ms


def signal_flags(signal: Signal) -> int:
    return _SIGNALS.index(signal)


def signal_of(flags: int) -> Signal:
    return _SIGNALS[flags & 1]


def closing(revision: int, inclusion_probability: float, reason: str) -> bytes:
    return _CLOSED.pack(revision, inclusion_probability) + reason.encode()


def split_closing(value: bytes) -> tuple[int, float, str]:
    revision, probability = _CLOSED.unpack_from(value)
    return revision, probability, value[_CLOSED.size :].decode()
