"""Who called whom: parents, children and owning agent of a span.

Spans are named by `Key`, (trace id, span id), since a span id alone is unique only within its trace.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from extractors.anchors import Anchor
from extractors.spans import LogRecord, Span

Key: TypeAlias = tuple[str, str]


def key_of(span: Span) -> Key:
    """The name of a span within its session."""
    return span.trace_id, span.span_id


def span_anchor(span: Span) -> Anchor:
    """The place to cite for a fact read from this span."""
    return Anchor("span", span.trace_id, span.span_id)


def record_anchor(record: LogRecord) -> Anchor:
    """The place to cite for a fact read from this log record."""
    return Anchor("record", record.trace_id, record.span_id, record.position)


def in_time_order(spans: Iterable[Span]) -> tuple[Span, ...]:
    """By start, then ids, so that equal starts cannot make two runs differ."""
    return tuple(sorted(spans, key=lambda span: (span.start_ns, span.trace_id, span.span_id)))


@dataclass(frozen=True, slots=True)
class Tree:
    """The spans of a session by key, each with its parent where that arrived. `tops` have none."""

    spans: Mapping[Key, Span]
    below: Mapping[Key, tuple[Span, ...]]
    tops: tuple[Span, ...]

    def parent(self, span: Span) -> Span | None:
        """The span's parent; None for a root, and for a span whose parent never arrived."""
        return self.spans.get((span.trace_id, span.parent_id)) if span.parent_id else None

    def children(self, span: Span) -> tuple[Span, ...]:
        """Direct children in time order."""
        return self.below.get(key_of(span), ())

    def ancestors(self, span: Span) -> Iterator[Span]:
        """Parent, grandparent, ...; ends at a missing parent and, for damaged telemetry, before a repetition."""
        seen = {key_of(span)}
        above = self.parent(span)
        while above is not None and key_of(above) not in seen:
            seen.add(key_of(above))
            yield above
            above = self.parent(above)

    def descendants(self, span: Span) -> Iterator[Span]:
        """Everything below, parents before children."""
        seen = {key_of(span)}
        waiting = deque(self.children(span))
        while waiting:
            below = waiting.popleft()
            if key_of(below) not in seen:
                seen.add(key_of(below))
                yield below
                waiting.extend(self.children(below))

    def roots(self) -> tuple[Span, ...]:
        """Spans without a recorded parent, in time order. A crashed run has orphans, which count as roots."""
        return self.tops

    def walk(self) -> Iterator[Span]:
        """Every span once, a parent always before its children; spans on a parent cycle (damage) come last."""
        seen: set[Key] = set()
        yield from self._down_from(self.tops, seen)
        if len(seen) < len(self.spans):
            yield from self._down_from(self.spans.values(), seen)

    def _down_from(self, starts: Iterable[Span], seen: set[Key]) -> Iterator[Span]:
        for start in starts:
            waiting = [start]
            while waiting:
                span = waiting.pop()
                key = (span.trace_id, span.span_id)
                if key not in seen:
                    seen.add(key)
                    yield span
                    children = self.below.get(key)
                    if children is not None:
                        waiting.extend(reversed(children))

    def top(self, span: Span) -> Span:
        """The highest recorded ancestor, the span itself when it has none."""
        return (span, *self.ancestors(span))[-1]


def tree_of(spans: Collection[Span]) -> Tree:
    """Arrange spans; of two with the same key the first stays."""
    by_key: dict[Key, Span] = {}
    below: defaultdict[Key, list[Span]] = defaultdict(list)
    for span in in_time_order(spans):
        key = (span.trace_id, span.span_id)
        if key in by_key:
            continue
        by_key[key] = span
        if span.parent_id:
            below[span.trace_id, span.parent_id].append(span)
    tops = [span for span in by_key.values() if not span.parent_id or (span.trace_id, span.parent_id) not in by_key]
    return Tree(by_key, {key: tuple(children) for key, children in below.items()}, tuple(tops))


def owning_agents(tree: Tree, is_agent: Callable[[Span], bool]) -> Mapping[Key, Span]:
    """Span key → the nearest agent span at or above it. Spans outside any agent are not in the mapping."""
    owners: dict[Key, Span] = {}
    for span in tree.walk():
        owner = span if is_agent(span) else owners.get((span.trace_id, span.parent_id or ""))
        if owner is not None:
            owners[key_of(span)] = owner
    return owners
