"""A message of the topic of sessions becomes one row of the journal: whose it is was decided by a router."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collector.journal.rows import Signal, names, signal_flags
from collector.kafka.session_topic import SessionMessage
from collector.otlp.envelope import ScopeGroup, walk
from collector.sessions.book import SessionBook
from collector.sessions.end_markers import EndMarkers
from collector.sessions.hot import SAMPLED_OUT
from collector.sessions.items import read_record, read_span
from collector.sessions.keys import Kind, Owner
from collector.sessions.surroundings import Around, Marks, Surroundings

_Groups = list[tuple[ScopeGroup, Around]]


@dataclass(frozen=True, slots=True)
class Filed:
    """What became of a message's items: received = kept + sampled_out + full."""

    received: int = 0
    kept: int = 0
    sampled_out: int = 0
    full: int = 0


class Filing:
    """Keeps the book of one partition. The rows are for `SessionBook.take_rows`."""

    def __init__(self, book: SessionBook, marks: Marks) -> None:
        self._book = book
        self._ends = EndMarkers(marks)
        self._surroundings = Surroundings(marks, book.idle_rules.of if book.policy.rules else None)

    def file(self, about: SessionMessage, value: bytes, now_ms: int) -> Filed:
        """Raises `Malformed`, `TooLarge`, or ValueError for a trace whose name is no id; nothing is filed then."""
        groups = [(group, self._surroundings.of(group)) for group in walk(value)]
        count = sum(len(group.items) for group, _ in groups)
        if not count:
            return Filed()
        slot = self._slot(about.owner, now_ms)
        if slot == SAMPLED_OUT:
            return Filed(count, sampled_out=count)
        book = self._book
        if book.full(slot):
            return Filed(count, full=count)
        head = names(about.owner)
        book.telemetry(slot, (head, value), len(head) + len(value), count, signal_flags(about.signal), now_ms)
        for rule in {around.rule for _, around in groups if around.rule is not None}:
            book.served(slot, rule, now_ms)
        if about.signal == "traces" and book.policy.roots_end:
            self._roots(slot, about.owner, groups, value, now_ms)
        if self._ended(about.signal, groups, value):
            book.ended(slot, now_ms)
        return Filed(count, kept=count)

    def _slot(self, owner: Owner, now_ms: int) -> int:
        if owner.kind == Kind.TRACE:
            return self._book.unnamed(owner.tenant, bytes.fromhex(owner.name), None, now_ms)
        return self._book.named(owner, b"", now_ms)

    def _ended(self, signal: Signal, groups: _Groups, value: bytes) -> bool:
        if signal == "traces":
            in_span = self._ends.in_span
            return any(in_span(value, body, end) for group, _ in groups for _, body, end in group.items)
        ended = False
        for item, around in _items(groups, value):
            read = read_record(item, around.names)
            if isinstance(read, str):  # told when the session is read
                continue
            ended |= self._ends.in_record(read.head)
        return ended

    def followed(self, owner: Owner, now_ms: int) -> None:
        """Another session goes on from this one."""
        slot = self._book.index.find(owner.digest)
        if slot is not None:
            self._book.ended(slot, now_ms)

    def _roots(self, slot: int, owner: Owner, groups: _Groups, value: bytes, now_ms: int) -> None:
        """Traces are told apart by session here: of one that several sessions share, each has its own part."""
        of_session = owner.digest if owner.kind == Kind.SESSION else b""
        seen: set[bytes] = set()
        for item, around in _items(groups, value):
            read = read_span(item, around.names)
            if isinstance(read, str):
                continue
            trace = read.trace + of_session
            if of_session and trace not in seen:
                seen.add(trace)
                self._book.named(owner, trace, now_ms)
            if read.root:
                self._book.rooted(slot, owner.tenant, trace, now_ms)


def _items(groups: _Groups, value: bytes) -> Iterator[tuple[bytes, Around]]:
    return ((value[body:end], around) for group, around in groups for _, body, end in group.items)
