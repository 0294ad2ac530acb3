"""Whose is each item of a partition of telemetry? What names its session goes there at once, what does not waits until
something of its trace does (pure).

An item that names no session goes to each session that its trace names, now or later: where the others stand is known,
and they are read again when a name comes. What is done at once is one turn: messages in, `wanted` ones once more, and
what `finish` gives must take effect as one, or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from collector.journal.rows import Signal
from collector.kafka.bundles import Bundle
from collector.kafka.giving import Giving
from collector.kafka.message_items import Contents, Item, ItemReader, Message, Unnamed
from collector.kafka.outcomes import Given, Outcome, Outcomes
from collector.kafka.trace_facts import TraceFact, stands_at
from collector.kafka.traces import Home, Trace, Traces, stronger, whole
from collector.sessions.keys import Kind, Owner
from collector.sessions.links import MOST_SESSIONS, TraceKey
from collector.sessions.surroundings import Marks


@dataclass(frozen=True, slots=True)
class Moved:
    """The trace was given out under `key`, and belongs to `session` after all."""

    key: bytes
    tenant: str
    session: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn comes to. Each item read has one of the `read` outcomes; those parked, in this turn or before, have
    one of `unparked` once they have a home. `repeated` went to one more session after that. `followed` are
    sessions that are over, for others go on from them, which may be worked on elsewhere."""

    bundles: Sequence[Bundle]
    moved: Sequence[Moved]
    followed: Sequence[Owner]
    facts: Sequence[TraceFact]
    oversized: Sequence[Bundle]
    read: Mapping[tuple[Signal, Outcome], int]
    unparked: Mapping[tuple[Signal, Outcome], int]
    repeated: int


@dataclass(slots=True)
class _Owed:
    """To a home of a trace: the items at the first `upto` numbers of its places. `first`: nobody had them before."""

    home: Home
    upto: int
    first: bool


@dataclass(slots=True)
class _News:
    """What a turn has learned of a trace."""

    names: list[str] = field(default_factory=list)
    by_resource: str | None = None
    places: list[int] = field(default_factory=list)
    given: bool = False


class TraceRouter:
    """Belongs to one partition."""

    def __init__(self, traces: Traces, marks: Marks, giving: Giving) -> None:
        self.traces = traces
        self.parked_bytes = 0
        """Of items that wait, in memory."""
        self._reader = ItemReader(marks)
        self._giving = giving
        self._parking: dict[TraceKey, int] = {}
        self._begin()

    def _begin(self) -> None:
        self._news: dict[TraceKey, _News] = {}
        self._owed: dict[TraceKey, list[_Owed]] = {}
        self._again: dict[tuple[TraceKey, int], list[Item]] = {}
        self._moved: list[Moved] = []
        self._followed: dict[Owner, None] = {}
        self._read: Outcomes = Counter()
        self._unparked: Outcomes = Counter()
        self._repeated = 0

    @property
    def size(self) -> int:
        """Bytes of the items that this turn gives out."""
        return self._giving.bundles.size

    # -- reading --------------------------------------------------------------------------------------------------

    def take(self, message: Message, now_ms: int) -> Contents:
        """Returns what the message holds, for what is wrong with it. Raises `Malformed` or `TooLarge`, nothing taken,
        when its envelope is broken."""
        contents = self._reader.read(message, self._giving.bundles.same)
        signal, read = message.signal, self._read
        before = (b"", "")
        for tenant, trace, session, item in contents.named:
            if trace and (trace, session) != before:
                before = (trace, session)
                self._names((tenant, trace), session, now_ms)
            read[signal, self._giving.one(tenant, session, signal, item)] += 1
        for tenant, session in contents.followed:
            if self._giving.session(tenant, session).kept:
                self._followed[Owner(Kind.SESSION, session, tenant)] = None
        # Behind what names sessions: then it does not matter where in its message that stands.
        for key, unnamed in contents.unnamed.items():
            self._place(key, unnamed, message, now_ms)
        read[signal, "own"] += contents.own
        read[signal, "no_session"] += contents.no_session
        read[signal, "malformed"] += contents.rejected
        return contents

    def rejected(self, signal: Signal, count: int) -> None:
        """Items of a message of this turn that were damaged already in its encoding."""
        self._read[signal, "malformed"] += count

    def _names(self, key: TraceKey, session: str, now_ms: int) -> None:
        """An item of the trace names this session."""
        trace = self.traces.touch(key, now_ms)
        if session in trace.names or len(trace.names) >= MOST_SESSIONS:
            return
        self._owe(key, trace, session)
        trace.names += (session,)
        self._news_of(key).names.append(session)

    def _place(self, key: TraceKey, unnamed: Unnamed, message: Message, now_ms: int) -> None:
        trace, signal, items = self.traces.touch(key, now_ms), message.signal, unnamed.items
        for name in unnamed.by_resource:
            self._named_by_resource(key, trace, name)
        if not trace.homes():
            if not trace.places:
                trace.parked = {}
            elif trace.full:
                self._give_out(key, trace)
        if not trace.full:
            trace.places.extend((message.place, len(items)))
            self._news_of(key).places += (message.place, len(items))
        if homes := trace.homes():
            self._count(self._read, signal, self._giving.to_homes(key, homes, signal, items))
            return
        self._read[signal, "parked"] += len(items)
        self._park(key, trace, message.place, items)
        if unnamed.root:
            self.traces.rooted(key, trace, now_ms)

    def _named_by_resource(self, key: TraceKey, trace: Trace, name: str) -> None:
        if not stronger(name, trace.by_resource, key[0]):
            return
        if trace.given and not trace.names:
            self._owe(key, trace, name)
        trace.by_resource = self._news_of(key).by_resource = name

    # -- waiting --------------------------------------------------------------------------------------------------

    def _park(self, key: TraceKey, trace: Trace, at: int, items: Sequence[Item]) -> None:
        if trace.parked is None:
            return
        # Copies: a view would keep all of its message, which may hold many traces.
        trace.parked[at] = [(group, bytes(item)) for group, item in items]
        size = sum(len(item) for _, item in items)
        self.parked_bytes += size
        self._parking[key] = self._parking.get(key, 0) + size

    def unpark(self, most_bytes: int) -> int:
        """Keep no more than this many bytes: what has waited longest is read again when it is needed. Returns how many
        were let go."""
        before = self.parked_bytes
        while self.parked_bytes > most_bytes:
            self._let_go(next(iter(self._parking)))
        return before - self.parked_bytes

    def _let_go(self, key: TraceKey) -> None:
        self.parked_bytes -= self._parking.pop(key, 0)
        if (trace := self.traces.get(key)) is not None:
            trace.parked = None

    @property
    def waiting(self) -> int:
        """Traces with items in memory."""
        return len(self._parking)

    def pass_time(self, read_ms: int) -> None:
        """Give out traces that have waited long enough by `read_ms`, the time up to which everything has been read, and
        forget those of which nothing comes any more."""
        for traces in (self.traces.due(read_ms), self.traces.surplus()):
            for key, trace in traces:
                if not trace.homes():
                    self._give_out(key, trace)
                elif key not in self._owed:
                    self.traces.forget(key)

    def _give_out(self, key: TraceKey, trace: Trace) -> None:
        """Nothing of it has named a session in time."""
        self._owe(key, trace, trace.by_resource)
        trace.given = self._news_of(key).given = True

    def _owe(self, key: TraceKey, trace: Trace, home: Home) -> None:
        """The trace is about to get one more home, which gets what others have."""
        homes = trace.homes()
        if trace.places:
            self._owed.setdefault(key, []).append(_Owed(home, len(trace.places), first=not homes))
        if homes == (None,) and home is not None and self._giving.refused(key, None) is None:
            self._moved.append(Moved(self._giving.trace(key).key, key[0], home))

    # -- once more ------------------------------------------------------------------------------------------------

    def wanted(self) -> set[int]:
        """Places of messages that are needed once more to finish this turn; see `supply`."""
        return {at for key, owed in self._owed.items() for at in self._missing(key, owed)}

    def _missing(self, key: TraceKey, owed: Sequence[_Owed]) -> list[int]:
        trace = self._known(key)
        upto = max((each.upto for each in owed if self._giving.refused(key, each.home) is None), default=0)
        parked = trace.parked
        return [at for at in trace.places[:upto:2] if parked is None or at not in parked]

    def supply(self, message: Message) -> None:
        """A message that was read before. Raises `Malformed` or `TooLarge` when it is not what it was."""
        for key, unnamed in self._reader.read(message, self._giving.bundles.same).unnamed.items():
            if key in self._owed:
                self._again[key, message.place] = unnamed.items

    # -- finishing ------------------------------------------------------------------------------------------------

    def finish(self, renew: Sequence[TraceKey], now_ms: int) -> Turn:
        """What this turn comes to; all that is known of the traces in `renew` is to be written down anew."""
        for key, owed in self._owed.items():
            for each in owed:
                self._pay(key, self._known(key), each)
            self._let_go(key)
        bundles, oversized = self._giving.take()
        facts = self._facts(renew, now_ms)
        turn = Turn(
            bundles, self._moved, list(self._followed), facts, oversized, self._read, self._unparked, self._repeated
        )
        self._begin()
        return turn

    def _pay(self, key: TraceKey, trace: Trace, owed: _Owed) -> None:
        refused = self._giving.refused(key, owed.home)
        parked = trace.parked or {}
        for at, count in zip(trace.places[: owed.upto : 2], trace.places[1 : owed.upto : 2], strict=True):
            signal, _ = stands_at(at)
            items = parked.get(at) or self._again.get((key, at))
            outcomes: Counter[Outcome] = Counter()
            if refused is not None or items is None:
                outcomes[refused or "lost"] = count
            else:
                outcomes.update(self._giving.to_homes(key, (owed.home,), signal, items))
            if owed.first:
                self._count(self._unparked, signal, outcomes)
            else:
                self._repeated += outcomes.total()

    def _known(self, key: TraceKey) -> Trace:
        trace = self.traces.get(key)
        assert trace is not None, "a trace with something owed is not forgotten"
        return trace

    @staticmethod
    def _count(into: Outcomes, signal: Signal, outcomes: Mapping[Given, int] | Mapping[Outcome, int]) -> None:
        for outcome, count in outcomes.items():
            into[signal, outcome] += count

    def _news_of(self, key: TraceKey) -> _News:
        return self._news.setdefault(key, _News())

    def _facts(self, renew: Sequence[TraceKey], now_ms: int) -> list[TraceFact]:
        facts = []
        for key in dict.fromkeys(renew):
            if (trace := self.traces.get(key)) is not None:
                self._news.pop(key, None)
                trace.renewed_ms = now_ms
                facts.append(whole(key, trace))
        for key, news in self._news.items():
            facts.append(TraceFact(key, tuple(news.names), news.by_resource, news.places, news.given))
        return facts
