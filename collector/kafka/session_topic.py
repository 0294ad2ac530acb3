"""What a message of the topic of sessions looks like: telemetry of one session, written by routers, read by workers.

The key says whose it is, and decides the partition by murmur2, as Java's and aiokafka's usual partitioner. The value is
an Export{Trace,Logs}ServiceRequest with items of that session only, among them such as do not name it themselves: what
the rest of their trace says was known to the router, and the key tells it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aiokafka.partitioner import murmur2

from collector.journal.rows import Signal
from collector.kafka.headers import TENANT, Header, tenant_of
from collector.sessions.keys import Kind, Owner

SIGNAL, VERSION, MOVED_TO = "spanjudge.signal", "spanjudge.version", "spanjudge.moved_to"
CURRENT_VERSION = 1

_NUL, _ESCAPED = "\0", "\\0"
_TRACE, _SESSION = "trace:", "session:"


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """What the key and the headers say. `moved_to`: the trace that owns this message was given out as a session of its
    own, and has turned out to belong to this one, whose messages hold all of the trace; None in other messages."""

    owner: Owner
    signal: Signal
    moved_to: str | None


class UnknownVersion(ValueError):
    """Written by a version of ours that we do not know."""


def session_key(owner: Owner) -> bytes:
    """Tenant, NUL, session id; for a trace that nothing names, `trace:` and its id in hex. No two owners share one."""
    name = owner.name
    if owner.kind is Kind.TRACE:
        name = _TRACE + name
    elif name.startswith((_TRACE, _SESSION)):
        name = _SESSION + name
    tenant = owner.tenant
    if _NUL in tenant or "\\" in tenant:
        tenant = tenant.replace("\\", "\\\\").replace(_NUL, _ESCAPED)
    return (tenant + _NUL + name).encode()


def owner_of(key: bytes) -> Owner:
    """The reverse of `session_key`. Raises ValueError for what is no such key."""
    tenant, nul, name = key.decode().partition(_NUL)
    if not nul or not name:
        raise ValueError("the key of a session has a tenant, which may be empty, NUL and a name")
    if "\\" in tenant:
        tenant = "\\".join(part.replace(_ESCAPED, _NUL) for part in tenant.split("\\\\"))
    if name.startswith(_TRACE):
        return Owner(Kind.TRACE, name.removeprefix(_TRACE), tenant)
    return Owner(Kind.SESSION, name.removeprefix(_SESSION), tenant)


def session_partition(key: bytes, partitions: int) -> int:
    """Where this session's messages, and its verdicts, stand."""
    partition: int = (murmur2(key) & 0x7FFF_FFFF) % partitions
    return partition


def session_headers(signal: Signal, tenant: str, moved_to: str | None = None) -> list[Header]:
    headers: list[Header] = [(SIGNAL, signal.encode()), (VERSION, str(CURRENT_VERSION).encode())]
    if tenant:
        headers.append((TENANT, tenant.encode()))
    if moved_to is not None:
        headers.append((MOVED_TO, moved_to.encode()))
    return headers


def read_message(key: bytes | None, headers: Iterable[Header]) -> SessionMessage:
    """Raises `UnknownVersion`, or ValueError for a message that no router of ours has written."""
    said = dict(headers)
    version = said.get(VERSION, b"").decode("ascii", "replace")
    if version != str(CURRENT_VERSION):
        raise UnknownVersion(f"a message of version {version or '(none)'}, {CURRENT_VERSION} expected")
    if key is None:
        raise ValueError("a message without a key")
    owner = owner_of(key)
    if tenant_of(said.items()) != owner.tenant:
        raise ValueError("the key and the headers of a message tell different tenants")
    told = said.get(SIGNAL)
    if told not in (b"traces", b"logs"):
        raise ValueError("a message that is neither of traces nor of logs")
    signal: Signal = "traces" if told == b"traces" else "logs"
    moved_to = said.get(MOVED_TO)
    return SessionMessage(owner, signal, None if moved_to is None else moved_to.decode("utf-8", "replace"))
