"""What a request becomes while it is routed: for each session or trace one row, and the books."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from collector.journal.rows import Row
from collector.otlp.envelope import Piece, ScopeGroup, opening, wrap
from collector.sessions.links import TraceKey


@dataclass(slots=True)
class Routed:
    """What became of a request's items: received = kept + sampled_out + own + no_session + full + rejected."""

    rows: list[Row] = field(default_factory=list)
    size: int = 0
    received: int = 0
    kept: int = 0
    sampled_out: int = 0
    own: int = 0
    no_session: int = 0
    full: int = 0
    rejected: int = 0
    cause: str = ""

    def reject(self, cause: str, count: int = 1) -> None:
        self.rejected += count
        self.cause = self.cause or cause

    def add_lost(self, other: Routed) -> None:
        """Add what another part of the same request lost for good."""
        self.rejected += other.rejected
        self.no_session += other.no_session
        self.full += other.full
        self.cause = self.cause or other.cause


class Part:
    """What of one request goes into one message: `value` holds finished groups behind `head`, `items` are views into
    the request, all of `group`."""

    __slots__ = ("count", "group", "items", "items_size", "size", "value")

    def __init__(self, head: bytes) -> None:
        self.value: list[Piece] = [head]
        self.size = len(head)
        self.count = 0
        self.group: ScopeGroup | None = None
        self.items: list[memoryview] = []
        self.items_size = 0

    def add(self, group: ScopeGroup, item: memoryview) -> None:
        if group is not self.group:
            self.finish()
            self.group = group
        self.items.append(item)
        self.items_size += len(item)

    def finish(self) -> None:
        """What comes now is of another group, or nothing."""
        group, items = self.group, self.items
        if group is None or not items:
            return
        pieces = wrap(group.resource, group.scope, items, self.items_size)
        self.size += len(pieces[0]) + self.items_size
        self.count += len(items)
        self.value += pieces
        self.items, self.items_size = [], 0


Placed: TypeAlias = tuple[ScopeGroup, int, int]
"""An item of a request: its group, and where its field starts and ends."""


class Parts:
    """What of one request goes to which session or trace, by its slot: each becomes one row.

    In columns, and open to the router, which adds most items itself: an object for each, and a call, would be felt.
    `heads` are how the rows begin. `ended` has those of which an end marker was seen, `rules` the idle rules of the
    services they are from, `roots` the traces (with their tenant) whose root span came, as far as anybody wants to
    know.
    """

    __slots__ = ("ended", "heads", "placed", "roots", "rules")

    def __init__(self) -> None:
        self.heads: dict[int, bytes] = {}
        self.placed: dict[int, list[Placed]] = {}
        self.ended: set[int] = set()
        self.rules: dict[int, list[str]] = {}
        self.roots: dict[int, list[TraceKey]] = {}

    def place(self, slot: int, head: bytes, item: Placed, rule: str | None) -> None:
        placed = self.placed.get(slot)
        if placed is None:
            self.heads[slot] = head
            self.placed[slot] = [item]
        else:
            placed.append(item)
        if rule is not None:
            self.under(slot, rule)

    def under(self, slot: int, rule: str) -> None:
        rules = self.rules.setdefault(slot, [])
        if rule not in rules:
            rules.append(rule)

    def root(self, slot: int, trace: TraceKey) -> None:
        self.roots.setdefault(slot, []).append(trace)

    def drop(self, slot: int) -> int:
        """Returns how many items that were."""
        return len(self.placed.pop(slot, ()))


def value_of(head: bytes, placed: Sequence[Placed], view: memoryview) -> tuple[list[Piece], int]:
    """The value of a row, in pieces that are joined later, and its bytes. `view` is of the request."""
    if len(placed) == 1:  # as most are where many sessions share a request
        group, start, end = placed[0]
        first = opening(group.resource, group.scope, end - start)
        return [head, first, view[start:end]], len(head) + len(first) + end - start
    pieces: list[Piece] = [head]
    for _, run in groupby(placed, _same_group):
        items = list(run)
        group = items[0][0]
        first = opening(group.resource, group.scope, sum(end - start for _, start, end in items))
        pieces += (first, *(view[start:end] for _, start, end in items))
    return pieces, sum(map(len, pieces))


def _same_group(item: Placed) -> int:
    return id(item[0])  # not by what is in it, which takes long to compare
