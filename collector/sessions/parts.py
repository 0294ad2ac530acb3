"""What a request becomes while it is routed: for each session or trace one row, and the books."""

from __future__ import annotations

from dataclasses import dataclass, field

from collector.journal.rows import Row
from collector.otlp.envelope import Piece, ScopeGroup, wrap


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
    """What of one request goes to one session or trace: the row it will become.

    `value` is the head of the row, then finished groups; `items` are views into the request, all of `group`. `rules`
    are the idle rules of the services it is from, `roots` the traces (with their tenant) whose root span is in it, both
    as far as anybody wants to know. Open to the router, which adds most items itself: a call for each would be felt.
    """

    __slots__ = ("count", "ended", "group", "items", "items_size", "roots", "rules", "size", "value")

    def __init__(self, head: bytes) -> None:
        self.value: list[Piece] = [head]
        self.size = len(head)
        self.count = 0
        self.group: ScopeGroup | None = None
        self.items: list[memoryview] = []
        self.items_size = 0
        self.ended = False
        self.rules: tuple[str, ...] = ()
        self.roots: tuple[tuple[str, bytes], ...] = ()

    def add(self, group: ScopeGroup, rule: str | None, item: memoryview) -> None:
        if group is not self.group:
            self.begin(group, rule)
        self.items.append(item)
        self.items_size += len(item)

    def begin(self, group: ScopeGroup, rule: str | None) -> None:
        """What comes now is of this group. Each part turns its own page: a request may have as many groups as parts,
        and going through all parts for each group would take the square of them."""
        if self.items:
            self.finish()
        self.group = group
        if rule is not None and rule not in self.rules:
            self.rules += (rule,)

    def finish(self) -> None:
        group, items = self.group, self.items
        if group is None or not items:
            return
        pieces = wrap(group.resource, group.scope, items, self.items_size)
        self.size += len(pieces[0]) + self.items_size
        self.count += len(items)
        self.value += pieces
        self.items, self.items_size = [], 0


class Parts:
    """By slot of the session or trace."""

    def __init__(self) -> None:
        self.by_slot: dict[int, Part] = {}

    def of(self, slot: int, head: bytes) -> Part:
        """The part of this session; a new one begins with `head`."""
        part = self.by_slot.get(slot)
        if part is None:
            part = self.by_slot[slot] = Part(head)
        return part
