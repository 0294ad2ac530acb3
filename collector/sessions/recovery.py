"""The book of sessions as the journal tells it: what `SessionBook` wrote, row by row, read back after a crash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from collector.journal.rows import NO_ROW, RowKey, RowType, linked, split_closing, split_moved, split_names
from collector.sessions.index import SessionIndex, State, seconds
from collector.sessions.keys import Digest, Kind
from collector.sessions.links import TraceKey, TraceLinks
from collector.sessions.policy import IdleRules, Policy
from collector.sessions.roots import Roots

_TELEMETRY, _OPEN = int(RowType.TELEMETRY), int(State.OPEN)
_MOST_OUTSIDE = 50_000


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A closing whose verdicts are not known to be durable; `upto` is the number of its CLOSED row, `closed_ms` wall
    time."""

    revision: int
    reason: str
    closed_ms: int
    probability: float
    upto: int


@dataclass(slots=True)
class Recovered:
    """What the rows read so far say. Times are the rows' own."""

    index: SessionIndex
    links: TraceLinks
    roots: Roots
    rules: IdleRules
    closings: dict[Digest, dict[int, Unjudged]] = field(default_factory=dict)
    outside: dict[TraceKey, None] = field(default_factory=dict)
    """Traces of sessions outside the sample, as far as that had to be said; the newest ones."""

    def unjudged(self) -> list[tuple[int, Unjudged]]:
        """Closings with the slots of their sessions, in the order in which they were closed."""
        found = [
            (slot, closing)
            for digest, closings in self.closings.items()
            if (slot := self.index.find(digest)) is not None
            for closing in closings.values()
        ]
        return sorted(found, key=lambda each: each[1].upto)


def nothing_yet(policy: Policy) -> Recovered:
    """What an empty journal says."""
    index = SessionIndex()
    links = TraceLinks(index)
    return Recovered(index, links, Roots(index, links), IdleRules(policy, index))


def recover(rows: Iterable[tuple[RowKey, bytes]], policy: Policy) -> Recovered:
    """From the journal's rows in order; values are needed of the types in `rows.RECOVERED` only."""
    recovered = nothing_yet(policy)
    index = recovered.index
    find, add, append, state, last_row = index.find, index.add, index.append, index.state, index.last_row
    for key, value in rows:
        row, before, digest, at_ms, kind, row_type, _, items, size = key
        if row_type != _TELEMETRY:
            _take(recovered, key, value)
            continue
        slot = find(digest)
        if slot is None:
            slot = add(digest, kind, at_ms)
        elif state[slot] != _OPEN:
            index.reopen(slot, at_ms)
        if before == NO_ROW and last_row[slot] != NO_ROW:  # the beginning of a copy: nothing before it counts
            index.items[slot] = sum(weak for _, weak in recovered.links.traces(slot))
            index.size[slot] = 0
            index.begins_at(slot, row)
        append(slot, row, items, size, at_ms)
    return recovered


def _take(recovered: Recovered, key: RowKey, value: bytes) -> None:
    index = recovered.index
    if key.type == RowType.FORGOTTEN:
        _forget(recovered, key, value)
        return
    slot = index.find(key.digest)
    if slot is None:
        slot = index.add(key.digest, key.kind, key.at_ms)
    match key.type:
        case RowType.LINK | RowType.NAMED:
            trace = linked(key) if key.type == RowType.LINK else split_names(value, Kind.TRACE)[0].digest
            _ = recovered.links.link_weakly(trace, slot) if key.flags else recovered.links.link(trace, slot)
            index.begins_at(slot, min(index.first_row[slot], key.row))
        case RowType.ENDED:
            index.ended[slot] = 1
        case RowType.OPENED:
            index.reopen(slot, key.at_ms)
        case RowType.CLOSED:
            revision, probability, reason = split_closing(value)
            index.close(slot, revision, key.at_ms)
            closing = Unjudged(revision, reason, key.at_ms, probability, key.row)
            recovered.closings.setdefault(key.digest, {})[revision] = closing
        case RowType.DONE:
            _done(recovered, key.digest, key.flags)
            index.judged(slot, key.flags)
        case RowType.MOVED:
            _moved(index, slot, key, value)
        case RowType.ROOT:
            recovered.roots.arrived(value)
        case RowType.RULE:
            recovered.rules.add(slot, value.decode())


def _done(recovered: Recovered, digest: Digest, revision: int) -> None:
    closings = recovered.closings.get(digest)
    if closings is not None:
        closings.pop(revision, None)
        if not closings:
            del recovered.closings[digest]


def _moved(index: SessionIndex, slot: int, key: RowKey, value: bytes) -> None:
    state, index.ended[slot], index.last_ms[slot] = split_moved(value)
    index.set_state(slot, state)
    index.revision[slot], index.first_s[slot] = key.flags, seconds(key.at_ms)
    index.begins_at(slot, key.before)


def _forget(recovered: Recovered, key: RowKey, value: bytes) -> None:
    recovered.closings.pop(key.digest, None)
    slot = recovered.index.find(key.digest)
    if slot is not None:
        recovered.roots.forget((key.digest, *recovered.links.forget(slot)))
        recovered.index.free(slot)
    if key.flags:
        trace, _ = split_names(value, Kind.TRACE)
        recovered.outside[trace.tenant, bytes.fromhex(trace.name)] = None
        if len(recovered.outside) > _MOST_OUTSIDE:
            del recovered.outside[next(iter(recovered.outside))]
