"""What a message of the topic of sessions looks like: telemetry of one session, written by routers, read by workers.

The key says whose it is, and decides the partition by murmur2, as Java's and aiokafka's usual partitioner. The value is
an Export{Trace,Logs}ServiceRequest with items of that session only, among them such as do not name it themselves: what
the rest of their trace says was known to the router, and the key tells it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from aiokafka.partitioner import murmur2

from collector.journal.rows import Signal
from collector.kafka.headers import TENANT, Header, HeaderRead, tenant_of
from collector.sessions.keys import Kind, Owner, name_fault

SIGNAL, VERSION = "spanjudge.signal", "spanjudge.version"
MOVED_TO, FOLLOWED = "spanjudge.moved_to", "spanjudge.followed"
CURRENT_VERSION = 1

_NUL, _ESCAPED = "\0", "\\0"
_TRACE, _SESSION = "trace:", "session:"
_TRACE_ID = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """What the key and the headers say. `moved_to`: the trace that owns this message was given out as a session of its
    own, and has turned out to belong to this one, whose messages hold all of the trace; None in other messages.
    `followed`: a session has begun that says it goes on from this one, which is over therefore."""

    owner: Owner
    signal: Signal
    moved_to: str | None = None
    followed: bool = False


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
        name = name.removeprefix(_TRACE)
        if not _TRACE_ID.fullmatch(name):
            raise ValueError("the key of a trace has its id, 32 lowercase hex digits")
        return Owner(Kind.TRACE, name, tenant)
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


def followed_headers(tenant: str) -> list[Header]:
    """Of a message without telemetry, to a session that another goes on from."""
    return [*session_headers("logs", tenant), (FOLLOWED, b"")]


def read_message(key: bytes | None, headers: Iterable[HeaderRead]) -> SessionMessage:
    """Raises `UnknownVersion`, or ValueError for a message that no router of ours has written."""
    said = dict(headers)
    version = (said.get(VERSION) or b"").decode("ascii", "replace")
    if version != str(CURRENT_VERSION):
        raise UnknownVersion(f"a message of version {version or '(none)'}, {CURRENT_VERSION} expected")
    if key is None:
        raise ValueError("a message without a key")
    owner = owner_of(key)
    if session_key(owner) != key:  # two keys of one session could stand in two partitions
        raise ValueError("a key that is not written as ours are")
    if tenant_of(said.items()) != owner.tenant:
        raise ValueError("the key and the headers of a message tell different tenants")
    told = said.get(SIGNAL)
    if told not in (b"traces", b"logs"):
        raise ValueError("a message that is neither of traces nor of logs")
    signal: Signal = "traces" if told == b"traces" else "logs"
    told_to = said.get(MOVED_TO)
    moved_to = None if told_to is None else told_to.decode("utf-8", "replace")
    if (fault := name_fault(owner.name) or name_fault(owner.tenant) or name_fault(moved_to)) is not None:
        raise ValueError(fault)
    if moved_to is not None and owner.kind is not Kind.TRACE:
        raise ValueError("only a trace moves to a session")
    return SessionMessage(owner, signal, moved_to, FOLLOWED in said)
