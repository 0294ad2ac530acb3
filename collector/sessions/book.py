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
from itertools import islice

from collector.journal.rows import FIRST_ROW, NO_ROW, Row, RowKey, RowType, closing, link_key, names, pack_key
from collector.sessions.claims import Claim as Claim  # noqa: PLC0414 - what the book gives is looked for here
from collector.sessions.claims import Discarded as Discarded  # noqa: PLC0414
from collector.sessions.claims import Holds
from collector.sessions.deadlines import Deadlines
from collector.sessions.hot import OUTSIDE, SAMPLED_OUT, HotTraces
from collector.sessions.index import Ref, State, seconds
from collector.sessions.keys import Digest, Kind, Owner, kept
from collector.sessions.links import TraceKey, parked_owner
from collector.sessions.moving import Known, Straggler, copied
from collector.sessions.policy import IdleRule as IdleRule  # noqa: PLC0414
from collector.sessions.policy import Policy as Policy  # noqa: PLC0414
from collector.sessions.recovery import Recovered, nothing_yet, recover
from collector.sessions.wheel import Wheel

_MOST_REVISIONS = 2**16 - 1  # as many as the journal has room for
_HOT_MS = 60_000  # a trace not seen for this long is read exactly again
_MOST_LOOKS = 5_000  # at once, at sessions that may be due; the rest comes up the next time
_HELD_MS = 1_000  # until another look at what a claim still reads
_OPEN, _TELEMETRY = int(State.OPEN), int(RowType.TELEMETRY)  # numbers: an enum's member costs ten times as much


class SessionBook:
    """Times are milliseconds by a clock that does not jump; `wall_ms` are by the one that people read."""

    def __init__(self, policy: Policy, now_ms: int) -> None:
        self._policy = policy
        self._begin(nothing_yet(policy), now_ms, next_row=FIRST_ROW)

    def _begin(self, known: Recovered, now_ms: int, next_row: int) -> None:
        self.index = known.index
        self.idle_rules = known.rules
        self.hot = HotTraces(now_ms)
        self._links = known.links
        self._roots = known.roots
        self._deadlines = Deadlines(self.policy, known.index, known.links, known.roots, known.rules)
        self._holds = Holds(known.index.needed)
        self._wheel = Wheel(now_ms)
        self._outside: list[TraceKey] = []
        self._next_row = next_row
        self._rows: list[Row] = []
        self._row_bytes = 0

    @property
    def policy(self) -> Policy:
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        """Only the rate may be another one: deadlines and idle rules go by the policy that the book was made with, and
        what is full stays so. What was outside the sample may be inside from now on, and the other way round.
        """
        if policy.rate != self._policy.rate:
            self.hot.clear()
        self._policy = policy

    # -- rows ---------------------------------------------------------------------------------------------------

    @property
    def next_row(self) -> int:
        """The number that the next row will have."""
        return self._next_row

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
        flags: int = 0,
    ) -> int:
        """A row of any type but TELEMETRY. Returns its number."""
        row = self._next_row
        self._next_row = row + 1
        index = self.index
        key = pack_key(row, NO_ROW, index.digest(slot), now_ms, index.kind[slot], row_type, flags, 0, size)
        self._rows.append((key, value))
        self._row_bytes += size
        return row

    def telemetry(
        self, slot: int, value: Sequence[bytes | memoryview], size: int, items: int, flags: int, now_ms: int
    ) -> bool:
        """Chain one row of telemetry to a session or trace. `value`, of `size` bytes in all, begins with
        `rows.names(...)` of it. False, and nothing is done, where it is `full`."""
        index, policy = self.index, self._policy
        if index.items[slot] >= policy.max_spans or index.size[slot] >= policy.max_bytes:  # `full`, without the calls
            return False
        if index.state[slot] != _OPEN:
            self._touch(slot, now_ms)
        row = self._next_row
        self._next_row = row + 1
        before, all_items, all_size = index.append(slot, row, items, size, now_ms)
        key = pack_key(row, before, index.digest(slot), now_ms, index.kind[slot], _TELEMETRY, flags, items, size)
        self._rows.append((key, value))
        self._row_bytes += size
        if all_items >= policy.max_spans or all_size >= policy.max_bytes:
            self._file(slot, now_ms)
        return True

    def full(self, slot: int) -> bool:
        """Has this session, or trace, got all it may have, in all its revisions? Its next closing judges it, and it
        takes nothing more: every revision reads all that came before it."""
        return self._deadlines.full(slot)

    # -- who is it? ---------------------------------------------------------------------------------------------

    def named(self, owner: Owner, trace: bytes, now_ms: int) -> int:
        """An item of this trace (b"": of none) names this session. Returns its slot, or SAMPLED_OUT. One that is full
        gets no more traces, as it gets nothing else: each would be a link for as long as something names it."""
        digest, key = owner.digest, (owner.tenant, trace)
        if not kept(digest, self.policy.rate):
            if trace:
                self._outside.append(key)
            return SAMPLED_OUT
        slot = self._open(digest, Kind.SESSION, now_ms)
        if trace:
            self._belongs(parked_owner(key).digest, slot, now_ms)
        return slot

    def joined(self, slot: int, tenant: str, trace: bytes, now_ms: int) -> None:
        """As `named`, of a session whose slot is known, or SAMPLED_OUT."""
        key = (tenant, trace)
        if slot == SAMPLED_OUT:
            self._outside.append(key)
        else:
            self._touch(slot, now_ms)
            self._belongs(parked_owner(key).digest, slot, now_ms)

    def _belongs(self, trace: Digest, session: int, now_ms: int) -> None:
        if self.full(session) or not self._links.link(trace, session):
            return
        self._write_link(trace, session, weak=False, now_ms=now_ms)
        parked = self.index.find(trace)
        if parked is not None and self.index.ended[parked]:  # the end marker came before the name
            self.ended(session, now_ms)
        if self.policy.roots_end and trace in self._roots:
            self._file(session, self._deadlines.due_ms(session))

    def unnamed(self, tenant: str, trace: bytes, resource_name: str | None, now_ms: int) -> int:
        """An item of this trace that names no session. Returns the trace's slot, or SAMPLED_OUT.

        Where all sessions that would read it are full, the slot of one of them, which takes nothing: parked, it would
        be read by nobody, and go with the last of them.
        """
        digest = parked_owner((tenant, trace)).digest
        slot = self.index.find(digest)
        linked = False
        if not self._links.sessions(digest):
            elsewhere = self._elsewhere(tenant, trace, resource_name) if slot is None else None
            if elsewhere is not None:
                return elsewhere
            if resource_name is not None:
                linked = self._name_by_resource(digest, Owner(Kind.SESSION, resource_name, tenant), now_ms)
        readers = self._links.readers(digest)
        if readers and not linked and all(map(self.full, readers)):  # the one that fills it is kept, as elsewhere
            return readers[0]
        if slot is None:
            slot = self._open(digest, Kind.TRACE, now_ms)
        if not self.full(slot):
            for session in readers:
                self._touch(session, now_ms)
        return slot

    def _elsewhere(self, tenant: str, trace: bytes, resource_name: str | None) -> int | None:
        """Of a trace of which nothing is kept: SAMPLED_OUT, or the full session that it is known to belong to."""
        seen = self.hot.get(tenant, trace)
        if seen is not None:
            if seen.slot == SAMPLED_OUT:
                return SAMPLED_OUT
            if self.index.generation[seen.slot] == seen.generation and self.full(seen.slot):
                return seen.slot
        if resource_name is None:
            return None
        session = self.index.find(Owner(Kind.SESSION, resource_name, tenant).digest)
        return session if session is not None and self.full(session) else None

    def _name_by_resource(self, trace: Digest, owner: Owner, now_ms: int) -> bool:
        """Whether that made it the reader."""
        session = self._open(owner.digest, Kind.SESSION, now_ms)
        if self.full(session):
            return False
        if self.index.last_row[session] == NO_ROW:  # an empty row, so that its name can be read at closing
            head = names(owner)
            self.telemetry(session, (head,), len(head), 0, 0, now_ms)
        if not self._links.link_weakly(trace, session):
            return False
        self._write_link(trace, session, weak=True, now_ms=now_ms)
        if self.full(session):
            self._file(session, now_ms)
        return True

    def _write_link(self, trace: Digest, session: int, *, weak: bool, now_ms: int) -> None:
        row = self._next_row
        self._next_row = row + 1
        self._rows.append((link_key(row, self.index.digest(session), trace, now_ms, weak=weak).encode(), ()))
        self.index.begins_at(session, min(self.index.first_row[session], row))

    def drop_outside(self, now_ms: int) -> list[int]:
        """Forget what is parked of traces that turned out to belong to sessions outside the sample; their slots.

        For the end of a request: while it is being routed, rows for those slots may be in the making.
        """
        dropped: list[int] = []
        outside, self._outside = self._outside, []
        for key in outside if self.index.known(Kind.TRACE) else ():  # most senders name a session in every item
            owner = parked_owner(key)
            parked = self.index.find(owner.digest)
            if parked is None or self._links.readers(owner.digest) or self.index.ref(parked) in self._holds:
                continue
            self._forget(parked, now_ms, names(owner))
            dropped.append(parked)
        return dropped

    def ended(self, slot: int, now_ms: int) -> None:
        """An end marker for this session was seen. In a trace's rows it speaks for the sessions that read it."""
        for reader in self._readers(slot):
            self.ended(reader, now_ms)
        if not self.index.ended[slot]:
            self.index.ended[slot] = 1
            self._row(slot, RowType.ENDED, (), 0, now_ms)
            self._file(slot, now_ms + self.policy.settle_ms)

    def rooted(self, slot: int, tenant: str, trace: bytes, now_ms: int) -> None:
        """The root span of this trace came, for this session, or for the trace where it names none. To be called only
        where `Policy.roots_end` is set."""
        digest = parked_owner((tenant, trace)).digest
        if not self._roots.arrived(digest):
            return
        self._row(slot, RowType.ROOT, (digest,), len(digest), now_ms)
        for session in {slot, *self._links.readers(digest)}:
            if self._roots.complete(session):
                self._file(session, now_ms + self.policy.settle_ms)

    def served(self, slot: int, rule: str, now_ms: int) -> None:
        """Telemetry under this rule, `idle_rules.of` its service, came for the session or trace. To be called only
        where `Policy.rules` are set."""
        if self.idle_rules.add(slot, rule):
            text = rule.encode()
            self._row(slot, RowType.RULE, (text,), len(text), now_ms)
            for session in (slot, *self._readers(slot)):
                self._file(session, self._deadlines.due_ms(session))

    def _readers(self, slot: int) -> tuple[int, ...]:
        """Of a trace; none of a session."""
        return self._links.readers(self.index.digest(slot)) if self.index.kind[slot] == Kind.TRACE else ()

    def _open(self, digest: Digest, kind: Kind, now_ms: int) -> int:
        slot = self.index.find(digest)
        if slot is None:
            slot = self.index.add(digest, kind, now_ms)
            self._file(slot, self._deadlines.due_ms(slot))
        else:
            self._touch(slot, now_ms)
        return slot

    def _touch(self, slot: int, now_ms: int) -> None:
        if self.full(slot):
            return
        self.index.last_ms[slot] = now_ms
        if self.index.reopen(slot, now_ms):
            self._row(slot, RowType.OPENED, (), 0, now_ms)
            self._file(slot, self._deadlines.due_ms(slot))

    # -- time ---------------------------------------------------------------------------------------------------

    def _file(self, slot: int, due_ms: int) -> None:
        """Look at this session at that time. A session may be filed more than once; early looks do no harm."""
        self._wheel.file(self.index.ref(slot), due_ms)

    def due(self, now_ms: int, most: int | None = None) -> list[tuple[Ref, str]]:
        """What to close now, at most so many, with the reason. Sessions judged long enough ago are forgotten on the
        way. It is over soon, however many there are: what is left comes up at the next call, see `behind`."""
        self.hot.turn(now_ms, max(self.policy.idle_ms, _HOT_MS))
        found: dict[Ref, str] = {}
        for ref in islice(self._wheel.take(now_ms), _MOST_LOOKS):
            slot = self.index.slot(ref)
            if slot is None or ref in found or self.index.state[slot] == State.CLOSED:
                continue
            due_ms = self._deadlines.due_ms(slot)
            if due_ms > now_ms:
                self._file(slot, due_ms)
            elif self.index.state[slot] == State.LINGERING:
                self._let_go(slot, now_ms)
            elif self._readers(slot):  # a trace, which follows the sessions that read it
                self._file(slot, now_ms + self.policy.idle_ms)
            else:
                found[ref] = self._deadlines.reason(slot, now_ms)
                if len(found) == most:
                    break
        return list(found.items())

    @property
    def behind(self) -> bool:
        """Is there more to be looked at than the last call of `due` got to?"""
        return self._wheel.left

    def _let_go(self, slot: int, now_ms: int) -> None:
        """Its late window is over."""
        if self.index.ref(slot) in self._holds:
            self._file(slot, now_ms + _HELD_MS)
        elif not self._readers(slot):
            self._forget(slot, now_ms)

    # -- closing ------------------------------------------------------------------------------------------------

    def close(self, ref: Ref, reason: str, now_ms: int, wall_ms: int | None = None) -> Claim | Discarded | None:
        """Close a session. None when it is not open any more. `wall_ms` is `now_ms` unless given."""
        index = self.index
        slot = index.slot(ref)
        if slot is None or index.state[slot] != State.OPEN:
            return None
        wall_ms = now_ms if wall_ms is None else wall_ms
        if (discarded := self._unwanted(slot)) is not None:
            stays = index.kind[slot] == Kind.TRACE or ref in self._holds  # FORGOTTEN would end earlier closings too
            if stays and index.revision[slot] < _MOST_REVISIONS:
                self._set_aside(slot, discarded.reason, now_ms, wall_ms)
            else:
                self._forget(slot, now_ms)
            return discarded
        revision, row = self._end_revision(slot, reason, now_ms, wall_ms)
        return self._claim(slot, revision, reason, wall_ms, self.policy.rate, row)

    def _end_revision(self, slot: int, reason: str, now_ms: int, wall_ms: int) -> tuple[int, int]:
        """Returns its number, and that of the row that says so."""
        revision = self.index.revision[slot] + 1
        self.index.close(slot, revision, now_ms)
        value = closing(revision, self.policy.rate, reason)
        return revision, self._row(slot, RowType.CLOSED, (value,), len(value), wall_ms)

    def _set_aside(self, slot: int, reason: str, now_ms: int, wall_ms: int) -> None:
        """Close what is not judged, and let its telemetry stay for the late window. A trace: a session that is kept may
        yet turn out to own it. A session: its closing before this one is still being judged."""
        revision, _ = self._end_revision(slot, reason, now_ms, wall_ms)
        self.finished(self.index.digest(slot), revision, now_ms)

    def _unwanted(self, slot: int) -> Discarded | None:
        index = self.index
        if not kept(index.digest(slot), self.policy.rate):
            return Discarded("sampled_out")
        if index.kind[slot] == Kind.TRACE and not self.policy.trace_is_session:
            return Discarded("no_session")
        if index.revision[slot] >= _MOST_REVISIONS:
            return Discarded("revisions")
        empty = not index.items[slot] and not index.revision[slot] and not self._links.parked(slot)
        return Discarded("empty") if empty else None

    def _claim(self, slot: int, revision: int, reason: str, closed_ms: int, probability: float, upto: int) -> Claim:
        """What is to be judged in this closing, whose CLOSED row has the number `upto`."""
        index = self.index
        own = (slot, *self._links.parked(slot))
        others = self._links.neighbours(slot)
        claim = Claim(
            index.digest(slot),
            Kind(index.kind[slot]),
            revision,
            reason,
            closed_ms,
            probability,
            upto,
            tuple(self._heads(own)),
            tuple(sorted(self._heads(others))),
            tuple((index.digest(trace), index.revision[trace] + 1) for trace in own[1:] if self._was_judged(trace)),
            tuple(sorted((index.digest(other), index.last_ms[other]) for other in others if self._sated(other))),
        )
        read = (*own, *others)
        self._holds.hold(claim, [index.first_row[each] for each in read], tuple(map(index.ref, read)))
        return claim

    def _sated(self, session: int) -> bool:
        """Does it take nothing more, and not close again?"""
        return self.index.state[session] != State.OPEN and self.full(session)

    def _was_judged(self, trace: int) -> bool:
        """As a session of its own, for want of a name."""
        index, policy = self.index, self._policy
        return index.revision[trace] > 0 and policy.trace_is_session and kept(index.digest(trace), policy.rate)

    def _heads(self, slots: Iterable[int]) -> list[int]:
        return [row for slot in slots if (row := self.index.last_row[slot]) != NO_ROW]

    def finished(self, digest: Digest, revision: int, now_ms: int) -> None:
        """The verdicts of this revision are durable."""
        self._holds.release(digest, revision)
        slot = self.index.find(digest)
        if slot is None:
            return
        self._row(slot, RowType.DONE, (), 0, now_ms, flags=revision)
        if self.index.judged(slot, revision):
            self._file(slot, self._deadlines.due_ms(slot))

    def leave(self, slot: int, now_ms: int) -> bool:
        """Forget one that is not to be closed: what it has is read elsewhere. False while a closing of it is being
        judged."""
        if self.index.ref(slot) in self._holds:
            return False
        self._forget(slot, now_ms)
        return True

    def _forget(self, slot: int, now_ms: int, outside: bytes = b"") -> None:
        """Free a session, and the traces that nobody else reads. `outside` are the names of a trace of a session that
        is not in the sample."""
        orphans = self._links.forget(slot)
        self._roots.forget((self.index.digest(slot), *orphans))
        parked = [found for trace in orphans if (found := self.index.find(trace)) is not None]
        for gone in (*parked, slot):
            value = (outside,) if outside else ()
            self._row(gone, RowType.FORGOTTEN, value, len(outside), now_ms, flags=int(bool(outside)))
            self.index.free(gone)

    # -- rows that stand in the way -------------------------------------------------------------------------------

    def stragglers(self, below: int, start: int, most: int) -> list[Straggler]:
        """Of the slots from `start` on, `most` of them: what needs rows below this one."""
        index = self.index
        return [
            Straggler(index.ref(slot), row, index.last_row[slot], index.size[slot])
            for slot, row in enumerate(index.first_row[start : start + most], start)
            if row < below
        ]

    def can_move(self, straggler: Straggler) -> bool:
        """Is it as it was, and does nobody read its rows? A claim not yet judged means rows by their numbers."""
        slot = self.index.slot(straggler.ref)
        return (
            slot is not None
            and self.index.state[slot] in (State.OPEN, State.LINGERING)
            and self.index.last_row[slot] == straggler.last_row
            and straggler.ref not in self._holds
        )

    def move(self, straggler: Straggler, chain: Sequence[tuple[RowKey, bytes]]) -> bool:
        """Write all that is known of it anew; `chain` are the rows that `last_row` ends. False when it has changed
        since they were read."""
        if not self.can_move(straggler):
            return False
        slot = self.index.slot(straggler.ref)
        assert slot is not None
        rows = copied(Known(self.index, self._links, self._roots, self.idle_rules), slot, chain, self._next_row)
        self._rows += rows
        self._row_bytes += sum(len(piece) for _, value in rows for piece in value)
        if chain:
            self.index.last_row[slot] = self._next_row + len(chain) - 1
        self.index.begins_at(slot, self._next_row)
        self._next_row += len(rows)
        return True

    # -- recovery -----------------------------------------------------------------------------------------------

    @classmethod
    def read(
        cls, policy: Policy, rows: Iterable[tuple[RowKey, bytes]], last_row: int, now_ms: int
    ) -> tuple[SessionBook, list[Claim]]:
        """The book that the journal's rows tell, in order, and the closings still to be judged. Values are needed of
        the types in `rows.RECOVERED` only.

        Idle times start anew, for senders may have been waiting for us. A row's time that has not come yet was written
        by a clock that was wrong; it counts as now.
        """
        book = cls(policy, now_ms)
        known = recover(rows, policy)
        book._begin(known, now_ms, last_row + 1)
        for tenant, trace in known.outside:
            book.hot.put(tenant, trace, OUTSIDE)
        book._file_all(now_ms)
        claims = [
            book._claim(slot, left.revision, left.reason, left.closed_ms, left.probability, left.upto)
            for slot, left in known.unjudged()
        ]
        return book, claims

    def _file_all(self, now_ms: int) -> None:
        index = self.index
        for slot in index.slots():
            index.first_s[slot] = min(index.first_s[slot], seconds(now_ms))
            index.last_ms[slot] = now_ms if index.state[slot] == State.OPEN else min(index.last_ms[slot], now_ms)
            self._file(slot, self._deadlines.due_ms(slot))

    def recover(self, rows: Iterable[tuple[RowKey, bytes]], last_row: int, now_ms: int) -> list[Claim]:
        """Become the book that `read` gives; the closings still to be judged."""
        book, claims = self.read(self.policy, rows, last_row, now_ms)
        self.become(book)
        return claims

    def become(self, book: SessionBook) -> None:
        """Take the place of what was read from the journal while this book stood still. Row numbers are not used again:
        where files were lost, somebody may still mean the rows that stood in them."""
        next_row = max(self._next_row, book._next_row)
        policy = self.policy  # which may have been read anew meanwhile
        for name, value in vars(book).items():
            setattr(self, name, value)
        self.policy, self._next_row = policy, next_row

    # -- figures ------------------------------------------------------------------------------------------------

    def open_sessions(self) -> int:
        """Sessions that collect telemetry."""
        return self.index.open(Kind.SESSION)

    def open_traces(self) -> int:
        """Traces with parked telemetry, which follow a session or will be one themselves."""
        return self.index.open(Kind.TRACE)

    def oldest_needed(self) -> int:
        """Rows below this one are needed by nobody, neither by a session nor by a claim that is being judged."""
        lowest = self.index.needed.lowest()
        return self._next_row if lowest is None else max(lowest, FIRST_ROW)

    def needed_below(self, row: int) -> int:
        """How many sessions, traces and claims need a row below this one; to the block."""
        return self.index.needed.below(row)

    @property
    def slots(self) -> int:
        """Room for sessions and traces, free or not: what `stragglers` goes through."""
        return len(self.index.state)
