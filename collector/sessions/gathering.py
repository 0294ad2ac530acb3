"""The rows that a closing is judged by, within a bound.

A session takes no more than it may have, but the traces it reads, and the sessions that share them, bring as much each:
together that is what senders like it to be. What there is no room for is left out whole, and told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from collector.journal.rows import RowKey, signal_of
from collector.journal.segments import ChainTooLarge, MissingRow
from collector.sessions.claims import Claim

log = structlog.get_logger(__name__)

MOST_BYTES = 256 * 1024 * 1024
"""Of the traces that a session reads, and again of its neighbours, unless somebody says otherwise."""


class Chains(Protocol):
    """The journal, as far as it is read here."""

    def chain(self, last_row: int, most_bytes: int | None = None) -> list[tuple[RowKey, bytes]]:
        """The row with this number and all of the same owner before it, oldest first. Raises `MissingRow`,
        `ChainTooLarge` where they have more than so many bytes, or `StoreUnavailable` when it cannot be read just
        now."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """`own` is the session's and its traces', `neighbours` other sessions' in the same traces. `notes` say what was
    left out, for people; `lost_spans` and `lost_records` are how much of the session's own that is."""

    own: Sequence[tuple[RowKey, bytes]]
    neighbours: Sequence[tuple[RowKey, bytes]]
    notes: tuple[str, ...] = ()
    lost_spans: int = 0
    lost_records: int = 0


def gather(claim: Claim, journal: Chains, most_bytes: int) -> Gathered:
    """All of the session's own telemetry, and of its traces and its neighbours at most so many bytes each. Raises what
    `Chains.chain` does for the session's own, without which there is nothing to judge."""
    own = [row for head in claim.heads[:1] for row in journal.chain(head)]
    traces, left_out = _within(claim.heads[1:], journal, most_bytes)
    neighbours, ignored, forgotten = _neighbours(claim, journal, most_bytes)
    spans, records = _items(claim, left_out, "traces"), _items(claim, left_out, "logs")
    notes = []
    if left_out:
        notes.append(
            f"left out, as its traces hold more than sessions.max_bytes: traces of the session ({len(left_out)}), with "
            f"{spans} spans and {records} log records"
        )
    if ignored:
        notes.append(
            "not looked at, as they hold more than sessions.max_bytes: sessions that share its traces "
            f"({ignored}); {_DOUBTFUL}"
        )
    if forgotten:
        notes.append(f"forgotten: sessions that shared its traces ({forgotten}); {_DOUBTFUL}")
    return Gathered([*own, *traces], neighbours, tuple(notes), spans, records)


_DOUBTFUL = "spans here that name no session may be theirs"

_Rows = list[tuple[RowKey, bytes]]


def _within(heads: Sequence[int], journal: Chains, most_bytes: int) -> tuple[_Rows, list[Sequence[RowKey]]]:
    """The chains there is room for, and the keys of those there is none for."""
    rows: _Rows = []
    left_out: list[Sequence[RowKey]] = []
    for head in heads:
        try:
            chain = journal.chain(head, most_bytes)
        except ChainTooLarge as large:
            left_out.append(large.keys)
            continue
        most_bytes -= sum(key.size for key, _ in chain)
        rows += chain
    return rows, left_out


def _neighbours(claim: Claim, journal: Chains, most_bytes: int) -> tuple[_Rows, int, int]:
    """Their rows, as far as they can be read, and how many sessions are too large and forgotten: without them some
    unnamed spans may fall to this one, which is better than no verdicts at all."""
    rows: _Rows = []
    ignored = forgotten = 0
    for head in claim.neighbours:
        try:
            found, too_large = _within([head], journal, most_bytes)
        except MissingRow as gone:
            log.warning("neighbour_forgotten", digest=claim.digest.hex(), row=gone.args[0])
            forgotten += 1
            continue
        most_bytes -= sum(key.size for key, _ in found)
        ignored += len(too_large)
        rows += found
    return rows, ignored, forgotten


def _items(claim: Claim, chains: Sequence[Sequence[RowKey]], signal: str) -> int:
    """How many there are of this signal, as far as they came before the closing."""
    return sum(key.items for keys in chains for key in keys if key.row < claim.upto and signal_of(key.flags) == signal)
