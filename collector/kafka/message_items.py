"""What the messages of a telemetry topic hold, item by item (pure)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from collector.journal.rows import Signal
from collector.kafka.trace_facts import place
from collector.otlp.envelope import Piece, ScopeGroup, walk
from collector.sessions.end_markers import goes_on_from
from collector.sessions.items import read_record, span_in
from collector.sessions.keys import name_fault
from collector.sessions.surroundings import Around, Marks, Surroundings

Item = tuple[ScopeGroup, Piece]
"""A span or record as a field with its tag, and what stands around it."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a telemetry topic. `tenant` is what its headers say, "" for nothing; `request` is an
    Export{Trace,Logs}ServiceRequest."""

    signal: Signal
    offset: int
    tenant: str
    request: bytes

    @property
    def place(self) -> int:
        return place(self.signal, self.offset)


class Named(NamedTuple):
    """An item that names its session, or whose resource does where it is of no trace: then `trace` is empty."""

    tenant: str
    trace: bytes
    session: str
    item: Item


@dataclass(slots=True)
class Unnamed:
    """Items of one trace that name no session. `by_resource` are sessions that their resources name, `root`: the root
    span is among them."""

    items: list[Item] = field(default_factory=list)
    by_resource: list[str] = field(default_factory=list)
    root: bool = False


@dataclass(slots=True)
class Contents:
    """All items of a message: those named, those unnamed by tenant and trace, and how many cannot be given to anybody:
    our own, without session and trace, rejected because of `cause`. `followed` are sessions, by tenant and id, that one
    of the items goes on from."""

    named: list[Named] = field(default_factory=list)
    followed: list[tuple[str, str]] = field(default_factory=list)
    unnamed: dict[tuple[str, bytes], Unnamed] = field(default_factory=dict)
    own: int = 0
    no_session: int = 0
    rejected: int = 0
    cause: str = ""

    def reject(self, cause: str, count: int = 1) -> None:
        self.rejected += count
        self.cause = self.cause or cause


class ItemReader:
    """Knows the resources and scopes it saw last."""

    def __init__(self, marks: Marks) -> None:
        self._surroundings = Surroundings(marks, None)

    def read(self, message: Message, same: Callable[[ScopeGroup], ScopeGroup]) -> Contents:
        """`same` gives the group that stands for others with equal surroundings (`Bundles.same`).

        Raises `Malformed` or `TooLarge` when the envelope is broken; a bad item in a good envelope is rejected alone.
        """
        contents = Contents()
        read = _spans if message.signal == "traces" else _records
        for group in walk(message.request):
            around = self._surroundings.of(group)
            if around.own:
                contents.own += len(group.items)
            elif around.fault is not None:
                contents.reject(around.fault, len(group.items))
            else:
                read(message, group, same(group), around, contents)
        return contents


def _spans(message: Message, group: ScopeGroup, same: ScopeGroup, around: Around, into: Contents) -> None:
    request, view, names = message.request, memoryview(message.request), around.names
    tenant, named = message.tenant or around.tenant, into.named
    for start, body, end in group.items:
        read = span_in(request, body, end, names)
        if isinstance(read, str):
            into.reject(read)
            continue
        trace, naming, root = read
        if naming is not None:
            named.append(Named(tenant, trace, naming.session, (same, view[start:end])))
        else:
            _unnamed(into, tenant, trace, around, (same, view[start:end])).root |= root


def _records(message: Message, group: ScopeGroup, same: ScopeGroup, around: Around, into: Contents) -> None:
    request, view = message.request, memoryview(message.request)
    tenant = message.tenant or around.tenant
    for start, body, end in group.items:
        read = read_record(request[body:end], around.names)
        if isinstance(read, str):
            into.reject(read)
            continue
        if (previous := goes_on_from(read.head)) is not None and name_fault(previous) is None:
            into.followed.append((tenant, previous))
        trace, naming, item = read.trace, read.naming, (same, view[start:end])
        if naming is not None:
            into.named.append(Named(tenant, trace, naming.session, item))
        elif trace:
            _unnamed(into, tenant, trace, around, item)
        elif around.session is not None:
            into.named.append(Named(tenant, b"", around.session, item))
        else:
            into.no_session += 1


def _unnamed(into: Contents, tenant: str, trace: bytes, around: Around, item: Item) -> Unnamed:
    unnamed = into.unnamed.setdefault((tenant, trace), Unnamed())
    unnamed.items.append(item)
    if around.session is not None and around.session not in unnamed.by_resource:
        unnamed.by_resource.append(around.session)
    return unnamed
