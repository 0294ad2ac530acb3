"""Which session does a span or log record belong to? The one place that knows the order of precedence.

1. the item's own `session.id`; 2. its own alias of it (`gen_ai.conversation.id`, ...); 3. the session of its trace,
named by any other item of it; 4. `session.id` (or an alias) of its resource; 5. the trace itself, if so configured.
Empty and non-text ids count as missing. Of an attribute that comes twice the first counts, as in the Collector.
(design §3; conventions §2.6)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, Protocol, TypeAlias

from google.protobuf.message import DecodeError

from collector.otlp.wire_pb2 import AnyHead

SESSION_ID = "session.id"
MOST_NAME_BYTES = 1024
"""Of a session id or a tenant. Each is kept in memory for every trace and written into every row."""

DIGEST_BYTES = 15
"""120 bits are as good as unique, and a bytes object of one more would take 16 bytes more, for every open session."""

Digest: TypeAlias = bytes
"""`DIGEST_BYTES` that stand for (tenant, kind, name) in the journal and in memory, however long the name is."""


class Kind(IntEnum):
    """What owns a row of the journal."""

    SESSION = 0
    """telemetry that names its session itself"""
    TRACE = 1
    """telemetry that does not; it follows the sessions that its trace turns out to belong to"""


@dataclass(frozen=True, slots=True)
class SessionNames:
    """Which attributes may name a session, strongest first. `by_scope` replaces `names` for instrumentation scopes
    that begin with the key, where a harness uses the usual names for something else."""

    names: tuple[str, ...] = (SESSION_ID,)
    by_scope: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, scope: str) -> tuple[str, ...]:
        for prefix, names in self.by_scope.items():
            if scope.startswith(prefix):
                return names
        return self.names


@dataclass(frozen=True, slots=True)
class Owner:
    """A session, or a trace whose items name no session. `name` is the session id, or the trace id in hex."""

    kind: Kind
    name: str
    tenant: str = ""

    @property
    def digest(self) -> Digest:
        tenant, name = self.tenant.encode(), self.name.encode()
        head = bytes((self.kind,)) + len(tenant).to_bytes(4, "big")
        return hashlib.blake2b(head + tenant + name, digest_size=16).digest()[:DIGEST_BYTES]


def name_fault(name: str | None) -> str | None:
    """Why this cannot be the name of a session or tenant; None when it can."""
    # Characters first: it costs nothing, and most names are far below the bound.
    if name is None or len(name) * 4 <= MOST_NAME_BYTES or (size := len(name.encode())) <= MOST_NAME_BYTES:
        return None
    return f"a session id or tenant has {size} bytes, at most {MOST_NAME_BYTES} are taken"


def kept(digest: Digest, rate: float) -> bool:
    """Is this session in the sample? The same on every replica, on every retry and after every restart."""
    return int.from_bytes(digest[:8], "big") < rate * 2**64


class RawAttributes(Protocol):
    """Attribute values by key, each a serialized `AnyValue`."""

    def __contains__(self, key: object, /) -> bool: ...
    def __getitem__(self, key: str, /) -> bytes: ...


def text_of(value: bytes) -> str | None:
    """The text in a serialized `AnyValue`; None when it holds anything else, nothing, or is damaged."""
    try:
        parsed = AnyHead.FromString(value)
    except DecodeError:
        return None
    if parsed.WhichOneof("value") != "string_value":
        return None
    return parsed.string_value.decode("utf-8", "replace") or None


class Naming(NamedTuple):
    """A session that something names, and by which of the attributes that may: their place, 0 the strongest."""

    session: str
    place: int


def named_by(attributes: RawAttributes | Mapping[str, bytes], names: Iterable[str]) -> Naming | None:
    """The session these attributes name: the first of `names` (strongest first) that holds a text."""
    for place, name in enumerate(names):
        if name in attributes:
            found = text_of(attributes[name])
            if found is not None:
                return Naming(found, place)
    return None


def is_set(value: bytes) -> bool:
    """Does a serialized `AnyValue` hold anything but false and nothing?"""
    try:
        parsed = AnyHead.FromString(value)
    except DecodeError:
        return False
    which = parsed.WhichOneof("value")
    return which is not None and (which != "bool_value" or parsed.bool_value)
