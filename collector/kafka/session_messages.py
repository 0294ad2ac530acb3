"""What a message of the topic of sessions says: one session's telemetry, from a router to the worker that has it.

The key is the session, so that all of it lies in one partition: tenant, NUL, `s` or `t`, and its name; `t` is for a
trace that nobody named, whose name is its id in hex. (The letter keeps a session that somebody calls like a trace
apart from it.) The value is an Export{Trace,Logs}ServiceRequest, all of whose items belong to the session, whether
they name it or not: that was decided where everything that names it was seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from collector.journal.rows import Signal
from collector.kafka.headers import Header
from collector.sessions.keys import Kind, Owner, name_fault

SIGNAL, TENANT, VERSION = "spanjudge.signal", "spanjudge.tenant", "spanjudge.version"
_VERSION = b"1"
_SIGNALS: dict[bytes, Signal] = {b"traces": "traces", b"logs": "logs"}
_KINDS = {Kind.SESSION: "s", Kind.TRACE: "t"}
_LETTERS = {letter: kind for kind, letter in _KINDS.items()}


class UnknownVersion(Exception):
    """A later version of the product wrote this; the message says which."""


class NoSession(Exception):
    """The message does not say whose telemetry it is; why, without content."""


@dataclass(frozen=True, slots=True)
class About:
    """Whose telemetry a message holds, and of which kind."""

    owner: Owner
    signal: Signal


def session_key(owner: Owner) -> bytes:
    """Of messages about this session, in the topic of sessions and in that of verdicts. A NUL in a tenant would not be
    told from the end of it, so it is written as another character that names do not have."""
    tenant = owner.tenant.replace("\0", "�")
    return f"{tenant}\0{_KINDS[owner.kind]}{owner.name}".encode()


def session_headers(owner: Owner, signal: Signal) -> list[Header]:
    return [(SIGNAL, signal.encode()), (TENANT, owner.tenant.encode()), (VERSION, _VERSION)]


def about(key: bytes | None, headers: Iterable[Header]) -> About:
    """Raises `UnknownVersion` or `NoSession`."""
    said = dict(headers)
    version = said.get(VERSION, b"")
    if version != _VERSION:
        raise UnknownVersion(f"the message is of version {version[:20]!r}, this is version {_VERSION!r}")
    signal = _SIGNALS.get(said.get(SIGNAL, b""))
    if signal is None:
        raise NoSession(f"the header {SIGNAL} says neither traces nor logs")
    return About(_owner(key, said.get(TENANT, b"")), signal)


def _owner(key: bytes | None, tenant: bytes) -> Owner:
    try:
        _, _, named = (key or b"").decode().partition("\0")
        owner = Owner(_LETTERS[named[:1]], named[1:], tenant.decode())
    except (UnicodeDecodeError, KeyError) as error:
        raise NoSession("the key does not name a session") from error
    if not owner.name:
        raise NoSession("the key names a session without a name")
    if (fault := name_fault(owner.name) or name_fault(owner.tenant)) is not None:
        raise NoSession(fault)
    if owner.kind == Kind.TRACE and not _is_hex(owner.name):
        raise NoSession("the key names a trace by what is no hex")
    return owner


def _is_hex(name: str) -> bool:
    return len(name) == 32 and all(letter in "0123456789abcdef" for letter in name)
