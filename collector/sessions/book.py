"""The book of sessions: what is open, which trace belongs where, when each is due, what was closed.

Every row of the journal belongs to a session (each item in it names that session) or to a trace (none of them names
any). A trace's rows are *parked*: they are read together with every session the trace is linked to when that session
closes, so it does not matter which came first, the name or the telemetry. A trace that nothing ever names is closed
as a session of its own.

The book is a function of the journal: `recover` builds it from the rows' keys and the links, and each change to it is
written as a row in the same batch as the telemetry that caused it. It belongs to the event loop; nothing here waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from collector.journal.rows import FIRST_ROW, NO_ROW, Row, RowKey, RowType, closing, names
from collector.sessions.hot import SAMPLED_OUT, Hot, HotTraces
from collector.sessions.index import Ref, SessionIndex, State
from collector.sessions.keys import Digest, Kind, Owner, kept
from collector.sessions.links import TraceKey, TraceLinks, parked_owner
from collector.sessions.recovery import recover
from collector.sessions.wheel import Wheel

_MOST_REVISIONS = 2**16 - 1  # as many as the journal has room for
_HOT_MS = 60_000  # a trace not seen for this long is read exactly again


@dataclass(frozen=True, slots=True)
class Policy:
    """Times in milliseconds."""

    idle_ms: int = 300_000
    max_age_ms: int = 14_400_000
    settle_ms: int = 2_000
    late_window_ms: int = 600_000
    max_spans: int = 20_000
    max_bytes: int = 256 * 1024**2
    rate: float = 1.0
    trace_is_session: bool = True


@dataclass(frozen=True, slots=True)
class Claim:
    """One closing, to be judged. `heads` are the newest rows of what belongs to the session (its own and its traces');
    `neighbours` those of other sessions that share a trace with it. Rows above `upto` came later and do not count."""

    digest: Digest
    kind: Kind
    revision: int
    reason: str
    closed_ms: int
    inclusion_probability: float
    upto: int
    heads: tuple[int, ...]
    neighbours: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Discarded:
    """A session that closed and is not judged: `sampled_out`, `no_session` (a trace that nothing named, where those
    are to be dropped), `empty` (all its telemetry turned out to belong elsewhere) or `revisions` (it has been judged
    as often as can be counted)."""

    reason: str


class SessionBook:
    def __init__(self, policy: Policy, now_ms: int) -> None:
        self.policy = policy
        index = SessionIndex()
        self._begin(index, TraceLinks(index), now_ms, next_row=FIRST_ROW)

    def _begin(self, index: SessionIndex, links: TraceLinks, now_ms: int, next_row: int) -> None:
        self.index = index
        self.hot = HotTraces(now_ms)
        self._links = links
        self._parking = links.parking
        self._wheel = Wheel(now_ms)
        self._outside: list[TraceKey] = []
        self._next_row = next_row
        self._rows: list[Row] = []
        self._row_bytes = 0

    # -- rows ---------------------------------------------------------------------------------------------------

    def take_rows(self) -> tuple[list[Row], int]:
        """The rows made since the last call, in order, and their bytes. They must all go into one journal batch."""
        rows, size = self._rows, self._row_bytes
        self._rows, self._row_bytes = [], 0
        return rows, size

    def _row(
        self,
        slot: int,
        row_type: RowType,
        value: Sequence[bytes | memoryview],
        size: int,
        now_ms: int,
        *,
        before: int = NO_ROW,
        flags: int = 0,
        items: int = 0,
    ) -> int:
        row = self._next_row
        self._next_row = row + 1
        index = self.index
        key = RowKey(row, before, index.digest(slot), now_ms, index.kind[slot], row_type, flags, items, size)
        self._rows.append(Row(key, value))
        self._row_bytes += size
        return row

    def telemetry(
        self, slot: int, value: Sequence[bytes | memoryview], size: int, items: int, flags: int, now_ms: int
    ) -> None:
        """Chain one row of telemetry to a session or trace. `value`, of `size` bytes in all, begins with
        `rows.names(...)` of it."""
        self._touch(slot, now_ms)
        before = self.index.last_row[slot]
        row = self._row(slot, RowType.TELEMETRY, value, size, now_ms, before=before, flags=flags, items=items)
        self.index.append(slot, row, items, size, now_ms)
        if self.full(slot):
            self._file(slot, now_ms)

    def full(self, slot: int) -> bool:
        """Has this session, or trace, got all it may have, in all its revisions? Its next closing judges it, and it
        takes nothing more: every revision reads all that came before it."""
        return self.index.items[slot] >= self.policy.max_spans or self.index.size[slot] >= self.policy.max_bytes

    # -- who is it? ---------------------------------------------------------------------------------------------

    def named(self, owner: Owner, trace: bytes, head: bytes, wire: bytes, now_ms: int) -> int:
        """An item of this trace (b"": of none) names this session. Returns its slot, or SAMPLED_OUT.

        `head` and `wire` are remembered for the next item of the trace, see `Hot`.
        """
        digest, key = owner.digest, (owner.tenant, trace)
        if not kept(digest, self.policy.rate):
            if trace:
                self.hot.put(*key, Hot(owner.name, SAMPLED_OUT, 0, wire, head))
                self._outside.append(key)
            return SAMPLED_OUT
        slot = self._open(digest, Kind.SESSION, now_ms)
        if trace:
            self.hot.put(*key, Hot(owner.name, slot, self.index.generation[slot], wire, head))
            if self._links.link(key, slot):
                self._write_link(key, slot, weak=False, now_ms=now_ms)
                self._end_with(key, slot, now_ms)
        return slot

    def unnamed(self, tenant: str, trace: bytes, resource_name: str | None, now_ms: int) -> int:
        """An item of this trace that names no session. Returns the trace's slot, or SAMPLED_OUT."""
        key = (tenant, trace)
        digest = parked_owner(key).digest
        sessions = self._links.sessions(key)
        slot = self.index.find(digest)
        if slot is None and not sessions:
            seen = self.hot.get(tenant, trace)
            if seen is not None and seen.slot == SAMPLED_OUT:
                return SAMPLED_OUT
        if slot is None:
            slot = self._open(digest, Kind.TRACE, now_ms)
            for session in sessions:
                self._parking.attach(session, slot)
        if not self.full(slot):
            for session in sessions:
                self._touch(session, now_ms)
        if resource_name is not None and not sessions:
            self._name_by_resource(key, Owner(Kind.SESSION, resource_name, tenant), now_ms)
        return slot

    def _name_by_resource(self, key: TraceKey, owner: Owner, now_ms: int) -> None:
        session = self._open(owner.digest, Kind.SESSION, now_ms)
        if self.index.last_row[session] == NO_ROW:  # an empty row, so that its name can be read at closing
            head = names(owner)
            self.telemetry(session, (head,), len(head), 0, 0, now_ms)
        if self._links.link_weakly(key, session):
            self._write_link(key, session, weak=True, now_ms=now_ms)

    def _write_link(self, key: TraceKey, session: int, *, weak: bool, now_ms: int) -> None:
        value = names(parked_owner(key))
        row = self._row(session, RowType.LINK, (value,), len(value), now_ms, flags=int(weak))
        self.index.first_row[session] = min(self.index.first_row[session], row)

    def drop_outside(self, now_ms: int) -> list[int]:
        """Forget what is parked of traces that turned out to belong to sessions outside the sample; their slots.

        For the end of a request: while it is being routed, rows for those slots may be in the making.
        """
        dropped: list[int] = []
        outside, self._outside = self._outside, []
        for key in outside:
            parked = self.index.find(parked_owner(key).digest)
            if parked is not None and not self._parking.readers(parked):
                self._forget(parked, now_ms)
                dropped.append(parked)
        return dropped

    def ended(self, slot: int, now_ms: int) -> None:
        """An end marker for this session was seen. In a trace's rows it speaks for the sessions that read it."""
        for reader in self._parking.readers(slot):
            self.ended(reader, now_ms)
        if not self.index.ended_ms[slot]:
            self.index.ended_ms[slot] = now_ms
            self._row(slot, RowType.ENDED, (), 0, now_ms)
            self._file(slot, now_ms + self.policy.settle_ms)

    def _end_with(self, key: TraceKey, session: int, now_ms: int) -> None:
        """The end marker may have come before the name."""
        parked = self.index.find(parked_owner(key).digest)
        if parked is not None and self.index.ended_ms[parked]:
            self.ended(session, now_ms)

    def _open(self, digest: Digest, kind: Kind, now_ms: int) -> int:
        slot = self.index.find(digest)
        if slot is None:
            slot = self.index.add(digest, kind, now_ms)
            self._file(slot, self._due_ms(slot))
        else:
            self._touch(slot, now_ms)
        return slot

    def _touch(self, slot: int, now_ms: int) -> None:
        if self.full(slot):
            return
        self.index.last_ms[slot] = now_ms
        if self.index.reopen(slot, now_ms):
            self._file(slot, self._due_ms(slot))

    # -- time ---------------------------------------------------------------------------------------------------

    def _due_ms(self, slot: int) -> int:
        index, policy = self.index, self.policy
        if index.state[slot] == State.LINGERING:
            return index.closed_ms[slot] + policy.late_window_ms
        due = min(index.last_ms[slot] + policy.idle_ms, index.first_ms[slot] + policy.max_age_ms)
        if index.ended_ms[slot]:
            due = min(due, index.last_ms[slot] + policy.settle_ms)
        return 0 if self.full(slot) else due

    def _file(self, slot: int, due_ms: int) -> None:
        """Look at this session at that time. A session may be filed more than once; early looks do no harm."""
        self._wheel.file(self.index.ref(slot), due_ms)

    def due(self, now_ms: int, most: int | None = None) -> list[tuple[Ref, str]]:
        """What to close now, with the reason; the rest comes up again when there are more than `most`. Sessions judged
        long enough ago are forgotten on the way."""
        self.hot.turn(now_ms, max(self.policy.idle_ms, _HOT_MS))
        found: dict[Ref, str] = {}
        for ref in self._wheel.take(now_ms):
            slot = self.index.slot(ref)
            if slot is None or ref in found or self.index.state[slot] == State.CLOSED:
                continue
            due_ms = self._due_ms(slot)
            if due_ms > now_ms:
                self._file(slot, due_ms)
            elif self.index.state[slot] == State.LINGERING and not self._parking.readers(slot):
                self._forget(slot, now_ms)
            elif (reason := self._reason(slot, now_ms)) is not None:
                found[ref] = reason
                if len(found) == most:
                    break
        return list(found.items())

    def _reason(self, slot: int, now_ms: int) -> str | None:
        """Why the session closes now; None when it is a trace that follows the sessions that read it."""
        index, policy = self.index, self.policy
        if index.kind[slot] == Kind.TRACE and self._parking.readers(slot):
            self._file(slot, now_ms + policy.idle_ms)
            return None
        if self.full(slot):
            return "max_size"
        if index.ended_ms[slot] and index.last_ms[slot] + policy.settle_ms <= now_ms:
            return "end_marker"
        return "max_age" if index.first_ms[slot] + policy.max_age_ms <= now_ms else "idle"

    # -- closing ------------------------------------------------------------------------------------------------

    def close(self, ref: Ref, reason: str, now_ms: int) -> Claim | Discarded | None:
        """Close a session. None when it is not open any more."""
        index = self.index
        slot = index.slot(ref)
        if slot is None or index.state[slot] != State.OPEN:
            return None
        if (discarded := self._unwanted(slot)) is not None:
            if index.kind[slot] == Kind.TRACE and index.revision[slot] < _MOST_REVISIONS:
                self._set_aside(slot, discarded.reason, now_ms)
            else:
                self._forget(slot, now_ms)
            return discarded
        revision, row = self._end_revision(slot, reason, now_ms)
        return self._claim(slot, revision, reason, now_ms, self.policy.rate, row)

    def _end_revision(self, slot: int, reason: str, now_ms: int) -> tuple[int, int]:
        """Returns its number, and that of the row that says so."""
        revision = self.index.revision[slot] + 1
        self.index.close(slot, revision, now_ms)
        value = closing(revision, self.policy.rate, reason)
        return revision, self._row(slot, RowType.CLOSED, (value,), len(value), now_ms)

    def _set_aside(self, slot: int, reason: str, now_ms: int) -> None:
        """Close a trace that is not judged. Its telemetry stays for the late window: a session that is kept may yet
        turn out to own it."""
        revision, _ = self._end_revision(slot, reason, now_ms)
        self.finished(self.index.digest(slot), revision, now_ms)

    def _unwanted(self, slot: int) -> Discarded | None:
        index = self.index
        if not kept(index.digest(slot), self.policy.rate):
            return Discarded("sampled_out")
        if index.kind[slot] == Kind.TRACE and not self.policy.trace_is_session:
            return Discarded("no_session")
        if index.revision[slot] >= _MOST_REVISIONS:
            return Discarded("revisions")
        empty = not index.items[slot] and not index.revision[slot] and not self._parking.traces(slot)
        return Discarded("empty") if empty else None

    def _claim(self, slot: int, revision: int, reason: str, closed_ms: int, probability: float, upto: int) -> Claim:
        """What is to be judged in this closing, whose CLOSED row has the number `upto`."""
        others = {
            self.index.last_row[reader]
            for trace in self._parking.traces(slot)
            for reader in self._parking.readers(trace)
            if reader != slot
        }
        return Claim(
            self.index.digest(slot),
            Kind(self.index.kind[slot]),
            revision,
            reason,
            closed_ms,
            probability,
            upto,
            tuple(self._heads(slot)),
            tuple(sorted(others - {NO_ROW})),
        )

    def _heads(self, slot: int) -> list[int]:
        slots = (slot, *self._parking.traces(slot))
        return [row for owner in slots if (row := self.index.last_row[owner]) != NO_ROW]

    def finished(self, digest: Digest, revision: int, now_ms: int) -> None:
        """The verdicts of this revision are durable."""
        slot = self.index.find(digest)
        if slot is None:
            return
        self._row(slot, RowType.DONE, (), 0, now_ms, flags=revision)
        if self.index.judged(slot, revision):
            self._file(slot, self._due_ms(slot))

    def _forget(self, slot: int, now_ms: int) -> None:
        """Free a session, and the traces that nobody else reads."""
        for gone in (*self._links.forget(slot), slot):
            self._parking.forget(gone)
            self._row(gone, RowType.FORGOTTEN, (), 0, now_ms)
            self.index.free(gone)

    # -- recovery -----------------------------------------------------------------------------------------------

    def recover(self, rows: Iterable[tuple[RowKey, bytes]], last_row: int, now_ms: int) -> list[Claim]:
        """Build the book from the journal's rows, in order; values are needed of LINK and CLOSED rows only.

        Idle times start anew, for senders may have been waiting for us. Returns the closings still to be judged.
        """
        recovered = recover(rows, now_ms)
        self._begin(recovered.index, recovered.links, now_ms, last_row + 1)
        for slot in self.index.slots():
            self._file(slot, self._due_ms(slot))
        return [
            self._claim(slot, left.revision, left.reason, left.closed_ms, left.probability, left.upto)
            for slot, left in recovered.unjudged
        ]

    # -- figures ------------------------------------------------------------------------------------------------

    def open_sessions(self) -> int:
        """Sessions that collect telemetry."""
        return self.index.open(Kind.SESSION)

    def open_traces(self) -> int:
        """Traces with parked telemetry, which follow a session or will be one themselves."""
        return self.index.open(Kind.TRACE)

    def oldest_needed(self) -> int:
        """Rows below this one are needed by nobody."""
        return min(self.index.oldest_needed(), self._next_row)
