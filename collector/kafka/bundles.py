"""Items of one or many requests, gathered into one message for each trace or session (pure).

They are carried over byte for byte, with the resource and the scope that stood around them.
"""

from __future__ import annotations

from dataclasses import dataclass

from collector.journal.rows import Signal
from collector.otlp.envelope import Piece, ScopeGroup
from collector.sessions.parts import Part

_AROUND = 32  # bytes: tags and lengths of a message's envelope, at most


@dataclass(frozen=True, slots=True)
class Bundle:
    """`value` is an Export{Trace,Logs}ServiceRequest with `items` spans or records, all for `key`."""

    key: bytes
    signal: Signal
    value: bytes
    items: int


class Bundles:
    """`most_bytes` is the size of the largest value that a message may have."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._open: dict[tuple[bytes, Signal], Part] = {}
        self._done: list[Bundle] = []
        self._groups: dict[tuple[bytes, bytes], ScopeGroup] = {}
        self.size = 0
        """Bytes of the items, together."""

    def same(self, group: ScopeGroup) -> ScopeGroup:
        """A group with the same resource and scope that came before, or this one: what follows one another in equal
        surroundings is put into them together."""
        return self._groups.setdefault((group.resource, group.scope), group)

    def add(self, key: bytes, signal: Signal, group: ScopeGroup, item: Piece) -> bool:
        """`group` is what `same` gave, where items of several requests come together; `item` a field of it with its
        tag. False when no message has room for it."""
        around = len(group.resource) + len(group.scope) + _AROUND
        size = len(item)
        if size + around > self._most:
            return False
        part = self._open.get((key, signal))
        if part is not None and part.size + part.items_size + size + around + self._pending(part) > self._most:
            self._done.append(_bundle(key, signal, part))
            part = None
        if part is None:
            part = self._open[key, signal] = Part(b"")
        part.add(group, item if isinstance(item, memoryview) else memoryview(item))
        self.size += size
        return True

    @staticmethod
    def _pending(part: Part) -> int:
        """Bytes that finishing the group at hand will put around its items."""
        group = part.group
        return len(group.resource) + len(group.scope) + _AROUND if group is not None and part.items else 0

    def take(self) -> list[Bundle]:
        """All of them, and begin anew. Those for one key and signal are in the order in which items were added."""
        done = self._done + [_bundle(key, signal, part) for (key, signal), part in self._open.items()]
        self._open, self._done, self._groups, self.size = {}, [], {}, 0
        return done


def alone(key: bytes, signal: Signal, group: ScopeGroup, item: Piece) -> Bundle:
    """An item in a message of its own, however large."""
    part = Part(b"")
    part.add(group, memoryview(item))
    return _bundle(key, signal, part)


def _bundle(key: bytes, signal: Signal, part: Part) -> Bundle:
    part.finish()
    return Bundle(key, signal, b"".join(part.value), part.count)
