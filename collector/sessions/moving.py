"""A copy of all that the journal says of one session or trace, to be written at its end, so that the old rows can go.

One long session would otherwise keep its file, and every file behind it. The rows of a copy are written in one
transaction; the last of them, MOVED, says how the session stands, and that nothing before the copy counts any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from collector.journal.rows import (
    NO_ROW,
    Row,
    RowKey,
    RowType,
    link_key,
    moved,
)
from collector.sessions.index import Ref, SessionIndex
from collector.sessions.links import TraceLinks
from collector.sessions.policy import IdleRules
from collector.sessions.roots import Roots


@dataclass(frozen=True, slots=True)
class Straggler:
    """A session or trace to copy: the chain of rows from `first_row` to `last_row`, of `size` bytes in all."""

    ref: Ref
    first_row: int
    last_row: int
    size: int


@dataclass(frozen=True, slots=True)
class Known:
    """What the book knows besides the rows of telemetry."""

    index: SessionIndex
    links: TraceLinks
    roots: Roots
    rules: IdleRules


def copied(known: Known, slot: int, chain: Sequence[tuple[RowKey, bytes]], first_row: int) -> list[Row]:
    """The rows of a copy, numbered from `first_row`; `chain` is the telemetry as it was read, oldest first."""
    rows = list(_telemetry(chain, first_row))
    for key, value in _beside(known, slot):
        rows.append((key._replace(row=first_row + len(rows)).encode(), value))
    index = known.index
    state = (moved(index.state[slot], index.ended[slot], index.last_ms[slot]),)
    key = RowKey(
        first_row + len(rows),
        first_row,
        index.digest(slot),
        index.first_s[slot] * 1000,
        index.kind[slot],
        RowType.MOVED,
        index.revision[slot],
    )
    return [*rows, (key.encode(), state)]


def _telemetry(chain: Sequence[tuple[RowKey, bytes]], first_row: int) -> Iterator[Row]:
    before = NO_ROW
    for row, (key, value) in enumerate(chain, start=first_row):
        yield key._replace(row=row, before=before).encode(), (value,)
        before = row


def _beside(known: Known, slot: int) -> Iterator[tuple[RowKey, tuple[bytes, ...]]]:
    """Links, roots and rules, not yet numbered."""
    index = known.index
    digest, kind, now_ms = index.digest(slot), index.kind[slot], index.last_ms[slot]
    for trace, weak in known.links.traces(slot):
        yield link_key(NO_ROW, digest, trace, now_ms, weak=weak), ()
    for trace in (digest, *(trace for trace, _ in known.links.traces(slot))):
        if trace in known.roots:
            yield RowKey(NO_ROW, NO_ROW, digest, now_ms, kind, RowType.ROOT), (trace,)
    for rule in known.rules.rules(slot):
        yield RowKey(NO_ROW, NO_ROW, digest, now_ms, kind, RowType.RULE), (rule.encode(),)
