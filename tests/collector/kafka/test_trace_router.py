"""Each item reaches every session that it belongs to, exactly once, in whatever order things come and whoever dies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.errors import Malformed
from collector.kafka.bundles import Bundle
from collector.kafka.giving import Giving
from collector.kafka.link_log import Chunk, LinkLog
from collector.kafka.message_items import Message
from collector.kafka.session_topic import owner_of, session_key
from collector.kafka.trace_facts import decode_facts, encode_facts, place
from collector.kafka.trace_router import TraceRouter, Turn
from collector.kafka.traces import MOST_PLACES, Patience, Traces
from collector.sessions.keys import Kind, Owner, SessionNames, kept
from collector.sessions.surroundings import Marks
from tests.collector.sessions.telemetry import log_request, record, span, trace_request

_MARKS = Marks(names=SessionNames(("session.id",)))
_ROOMY = 1_000_000
_PATIENCE = Patience(name_ms=1000, root_ms=100, most_ms=5000, remember_ms=60_000)


@dataclass
class Partition:
    """A partition of telemetry, the topic of links beside it, and what came out, with a router that can be replaced."""

    patience: Patience = _PATIENCE
    rate: float = 1.0
    trace_is_session: bool = True
    most_bytes: int = _ROOMY
    renew_ms: int = 2000
    now_ms: int = 0
    messages: list[Message] = field(default_factory=list)
    facts: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)
    written: int = 0
    given: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    turns: list[Turn] = field(default_factory=list)
    next: int = 0

    def __post_init__(self) -> None:
        self.take_over()

    def take_over(self) -> None:
        """By a router that knows what is written down, and nothing else."""
        traces = Traces(self.patience)
        chunks, learned = [], []
        for key, (offset, value) in sorted(self.facts.items(), key=lambda entry: entry[1][0]):
            facts = decode_facts(value)
            learned += facts
            chunks.append(Chunk(key, [fact.key for fact in facts], self.now_ms, offset))
        traces.learn(learned, self.now_ms)
        self.links = LinkLog(self.written, chunks, self.renew_ms)
        giving = Giving(self.rate, self.most_bytes, trace_is_session=self.trace_is_session)
        self.router = TraceRouter(traces, _MARKS, giving)

    def spans(self, *spans: Span, tenant: str = "", **resource: str) -> None:
        named = {key.replace("__", "."): value for key, value in resource.items()}
        self.put(Message("traces", len(self.messages), tenant, trace_request(spans, resource=named or None)))

    def put(self, message: Message) -> None:
        self.messages.append(message)

    def turn(self, *, fails: bool = False, keeps: int = _ROOMY) -> Turn:
        """Work on all that is there. When it fails another router begins where it began."""
        for message in self.messages[self.next :]:
            self.router.take(message, self.now_ms)
        self.router.pass_time(self.now_ms)
        for at in self.router.wanted():
            self.router.supply(next(message for message in self.messages if message.place == at))
        old = self.links.old(self.now_ms)
        renew = [key for chunk in old for key in chunk.traces if self._is_newest(key, chunk.written_ms)]
        turn = self.router.finish(renew, self.now_ms)
        if fails:
            self.take_over()
            return turn
        self.next = len(self.messages)
        self._commit(turn, old)
        self.router.unpark(keeps)
        return turn

    def _is_newest(self, key: tuple[str, bytes], written_ms: int) -> bool:
        trace = self.router.traces.get(key)
        return trace is not None and trace.renewed_ms <= written_ms

    def _commit(self, turn: Turn, old: Sequence[Chunk]) -> None:
        self.turns.append(turn)
        for keys, value in encode_facts(turn.facts, self.most_bytes):
            key = self.links.next_key()
            self.facts[key] = (self.written, value)
            self.links.written(Chunk(key, keys, self.now_ms, self.written))
            self.written += 1
        for chunk in old:
            del self.facts[chunk.key]
        for bundle in turn.bundles:
            owner = owner_of(bundle.key)
            self.given[("trace:" if owner.kind is Kind.TRACE else "") + owner.name].update(_items(bundle))

    def wait(self, ms: int) -> None:
        self.now_ms += ms

    def count(self, outcome: str, *, unparked: bool = False) -> int:
        return sum(
            count
            for turn in self.turns
            for (_, each), count in (turn.unparked if unparked else turn.read).items()
            if each == outcome
        )


def _items(bundle: Bundle) -> list[str]:
    if bundle.signal == "logs":
        return [
            each.event_name
            for group in ExportLogsServiceRequest.FromString(bundle.value).resource_logs
            for inner in group.scope_logs
            for each in inner.log_records
        ]
    return [
        str(int.from_bytes(each.span_id, "big"))
        for group in ExportTraceServiceRequest.FromString(bundle.value).resource_spans
        for inner in group.scope_spans
        for each in inner.spans
    ]


def _trace(number: int) -> str:
    return f"trace:{number:032x}"


def _has(partition: Partition, **sessions: list[int]) -> bool:
    return partition.given == {name: Counter(map(str, ids)) for name, ids in sessions.items()}


def test_what_names_its_session_goes_there_at_once() -> None:
    partition = Partition()
    partition.spans(span(1, 1, session__id="ann"), span(2, 2, session__id="bob"))
    partition.turn()
    assert _has(partition, ann=[1], bob=[2])


def test_unnamed_items_wait_for_a_name_and_come_with_it() -> None:
    partition = Partition()
    partition.spans(span(1, 1), span(1, 2))
    assert partition.turn().bundles == []
    partition.spans(span(1, 3, session__id="ann"))
    partition.turn()
    partition.spans(span(1, 4))
    partition.turn()
    assert _has(partition, ann=[1, 2, 3, 4])
    assert (partition.count("parked"), partition.count("session", unparked=True)) == (2, 2)


def test_a_log_record_names_the_session_of_spans() -> None:
    partition = Partition()
    partition.spans(span(1, 1))
    partition.put(Message("logs", 1, "", log_request([record(1, "said", session__id="ann")])))
    partition.turn()
    assert partition.given == {"ann": Counter(["said", "1"])}


def test_unnamed_items_go_to_each_session_that_their_trace_names() -> None:
    partition = Partition()
    partition.spans(span(1, 1))
    partition.turn()
    partition.spans(span(1, 2, session__id="ann"))
    partition.turn()
    partition.spans(span(1, 3))
    partition.turn()
    partition.spans(span(1, 4, session__id="bob"))
    partition.turn()
    assert _has(partition, ann=[1, 2, 3], bob=[1, 3, 4])
    assert sum(turn.repeated for turn in partition.turns) == 2


def test_tenants_share_no_traces() -> None:
    partition = Partition()
    partition.spans(span(1, 1), tenant="acme")
    partition.spans(span(1, 2, session__id="ann"), tenant="other")
    turn = partition.turn()
    assert [bundle.key for bundle in turn.bundles] == [b"other\0ann"]


def test_a_trace_that_nothing_names_in_time_is_a_session() -> None:
    partition = Partition()
    partition.spans(span(1, 2, 1))
    partition.turn()
    partition.wait(999)
    partition.turn()
    assert not partition.given
    partition.wait(1)
    partition.turn()
    partition.spans(span(1, 3, 1))
    partition.turn()
    assert _has(partition, **{_trace(1): [2, 3]})
    assert partition.count("trace", unparked=True) == 1


def test_a_root_without_a_name_shortens_the_wait() -> None:
    partition = Partition()
    partition.spans(span(1, 2, 1))
    partition.spans(span(1, 1))
    partition.turn()
    partition.wait(100)
    partition.turn()
    assert _has(partition, **{_trace(1): [1, 2]})


def test_a_trace_that_never_ends_is_given_out_all_the_same() -> None:
    partition = Partition()
    for number in range(1, 8):
        partition.spans(span(1, number, 99))
        partition.turn()
        partition.wait(900)
    partition.turn()
    assert partition.given[_trace(1)]


def test_a_trace_named_after_it_was_given_out_moves() -> None:
    partition = Partition()
    partition.spans(span(1, 1))
    partition.turn()
    partition.wait(2000)
    partition.turn()
    partition.spans(span(1, 2, session__id="ann"))
    turn = partition.turn()
    assert _has(partition, **{_trace(1): [1], "ann": [1, 2]})
    assert [(moved.key, moved.session) for moved in turn.moved] == [(b"\0" + _trace(1).encode(), "ann")]
    partition.spans(span(1, 3, session__id="bob"))
    assert partition.turn().moved == []


def test_the_session_of_a_resource_counts_when_nothing_better_comes() -> None:
    partition = Partition()
    partition.spans(span(1, 1), session__id="by-resource")
    partition.spans(span(2, 2), session__id="by-resource")
    partition.spans(span(2, 3, session__id="ann"), session__id="by-resource")
    partition.turn()
    assert _has(partition, ann=[2, 3])
    partition.wait(1000)
    partition.turn()
    assert _has(partition, **{"ann": [2, 3], "by-resource": [1]})


@given(order=st.permutations(["r1", "r2", "r3"]))
def test_of_several_resources_the_same_counts_in_any_order(order: list[str]) -> None:
    partition = Partition()
    for number, name in enumerate(order, 1):
        partition.spans(span(1, number), session__id=name)
    partition.turn()
    partition.wait(1000)
    partition.turn()
    strongest = min(order, key=lambda name: Owner(Kind.SESSION, name).digest)
    assert _has(partition, **{strongest: [1, 2, 3]})


def test_records_of_no_trace_go_by_their_resource_or_nowhere() -> None:
    partition = Partition()
    partition.put(Message("logs", 0, "", log_request([record(None, "said")], resource={"session.id": "ann"})))
    partition.put(Message("logs", 1, "", log_request([record(None, "lost")])))
    partition.turn()
    assert partition.given == {"ann": Counter(["said"])}
    assert partition.count("no_session") == 1


def test_traces_may_be_no_sessions() -> None:
    partition = Partition(trace_is_session=False)
    partition.spans(span(1, 1))
    partition.turn()
    partition.wait(1000)
    turn = partition.turn()
    assert (dict(partition.given), partition.count("no_session", unparked=True)) == ({}, 1)
    assert turn.moved == []
    partition.spans(span(1, 2, session__id="ann"))
    assert partition.turn().moved == []
    assert _has(partition, ann=[1, 2])


def _sessions(*, kept_at: float) -> tuple[str, str]:
    """One that is in the sample at this rate, and one that is not."""
    names = [f"s{number}" for number in range(50)]
    inside = next(name for name in names if kept(Owner(Kind.SESSION, name).digest, kept_at))
    return inside, next(name for name in names if not kept(Owner(Kind.SESSION, name).digest, kept_at))


def test_sessions_outside_the_sample_are_not_written_and_nothing_of_their_traces() -> None:
    inside, outside = _sessions(kept_at=0.5)
    partition = Partition(rate=0.5)
    partition.spans(span(1, 1), span(2, 2))
    partition.turn()
    partition.spans(span(1, 3, session__id=inside), span(2, 4, session__id=outside))
    partition.turn()
    partition.spans(span(2, 5))
    partition.turn()
    assert _has(partition, **{inside: [1, 3]})
    assert (partition.count("sampled_out"), partition.count("sampled_out", unparked=True)) == (2, 1)


def test_our_own_and_damaged_items_are_counted() -> None:
    partition = Partition()
    bad = span(1, 2)
    bad.trace_id = b"short"
    partition.put(Message("traces", 0, "", trace_request([span(1, 1)], scope="spanjudge")))
    partition.spans(span(1, 3, session__id="ann"), bad)
    partition.turn()
    assert (partition.count("own"), partition.count("malformed"), partition.count("session")) == (1, 1, 1)
    assert _has(partition, ann=[3])


def test_a_broken_envelope_changes_nothing() -> None:
    partition = Partition()
    good = trace_request([span(1, 1, session__id="ann")])
    with pytest.raises(Malformed):
        partition.router.take(Message("traces", 0, "", good + b"\x0a\xff"), 0)
    turn = partition.turn()
    assert (list(turn.bundles), list(turn.facts), sum(turn.read.values())) == ([], [], 0)


def test_an_item_that_no_message_has_room_for_is_apart() -> None:
    partition = Partition(most_bytes=2000)
    partition.spans(span(1, 1, note="x" * 3000), span(1, 2))
    partition.spans(span(1, 3, session__id="ann"), span(1, 4, note="x" * 3000, session__id="ann"))
    turn = partition.turn()
    assert _has(partition, ann=[2, 3])
    assert [_items(bundle) for bundle in turn.oversized] == [["4"], ["1"]]
    assert (partition.count("oversized"), partition.count("oversized", unparked=True)) == (1, 1)


def test_what_kafka_has_not_any_more_is_counted_as_lost() -> None:
    partition = Partition()
    partition.spans(span(1, 1), span(1, 2))
    partition.turn(keeps=0)
    partition.spans(span(1, 3, session__id="ann"))
    partition.router.take(partition.messages[1], 0)
    assert partition.router.wanted() == {place("traces", 0)}
    turn = partition.router.finish((), 0)
    assert turn.unparked == {("traces", "lost"): 2}


def test_what_waits_is_bounded_in_memory_and_read_again() -> None:
    partition = Partition()
    for number in range(1, 6):
        partition.spans(span(number, number, note="x" * 1000))
    partition.turn(keeps=2500)
    assert (partition.router.waiting, partition.router.parked_bytes <= 2500) == (2, True)
    for number in range(1, 6):
        partition.spans(span(number, number + 10, session__id=f"s{number}"))
    partition.turn()
    assert _has(partition, **{f"s{number}": [number, number + 10] for number in range(1, 6)})
    assert (partition.router.waiting, partition.router.parked_bytes) == (0, 0)


def test_a_trace_is_forgotten_in_the_end() -> None:
    partition = Partition()
    partition.spans(span(1, 1, session__id="ann"), span(2, 2))
    partition.turn()
    partition.wait(60_000)
    partition.turn()
    assert len(partition.router.traces) == 1  # the other has only now been given out
    partition.wait(60_000)
    partition.turn()
    partition.turn()
    assert (len(partition.router.traces), partition.facts) == (0, {})


def test_more_traces_than_may_be_remembered_are_let_go_but_never_unheard() -> None:
    partition = Partition(patience=Patience(most_traces=3))
    for number in range(1, 6):
        partition.spans(span(number, number))
    partition.turn()
    partition.turn()
    assert len(partition.router.traces) == 3
    assert _has(partition, **{_trace(1): [1], _trace(2): [2]})


def test_a_trace_of_very_many_messages_is_given_out() -> None:
    partition = Partition()
    for number in range(1, MOST_PLACES + 2):
        partition.spans(span(1, number))
    partition.turn()
    assert partition.given[_trace(1)].total() == MOST_PLACES + 1
    assert set(partition.given[_trace(1)].values()) == {1}


# -- whatever happens, in whatever order -----------------------------------------------------------------------------

_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("unnamed"), st.integers(1, 3), st.sampled_from(["traces", "logs"])),
        st.tuples(st.just("named"), st.integers(1, 3), st.sampled_from(["ann", "bob"])),
        st.tuples(st.just("mixed"), st.integers(1, 3), st.sampled_from(["ann", "bob"])),
        st.tuples(st.just("wait"), st.sampled_from([50, 700, 1500, 4000]), st.just("")),
        st.tuples(st.just("turn"), st.sampled_from([0, 200, _ROOMY]), st.just("")),
        st.tuples(st.just("fails"), st.just(0), st.just("")),
        st.tuples(st.just("dies"), st.just(0), st.just("")),
    ),
    max_size=30,
)


def _put(partition: Partition, what: str, trace: int, detail: str, number: int) -> tuple[list[str], list[str]]:
    """Put one message in. Returns its unnamed items, and those that name `detail`."""
    if what == "unnamed" and detail == "logs":
        partition.put(Message("logs", len(partition.messages), "", log_request([record(trace, str(number))])))
        return [str(number)], []
    unnamed, named = span(trace, number, 999), span(trace, number + 500, 999, session__id=detail)
    if what == "unnamed":
        partition.spans(unnamed)
        return [str(number)], []
    partition.spans(*([unnamed, named] if what == "mixed" else [named]))
    return ([str(number)] if what == "mixed" else []), [str(number + 500)]


@settings(max_examples=300, deadline=None)
@given(steps=_STEPS)
def test_every_item_is_where_it_belongs_exactly_once(steps: list[tuple[str, Any, str]]) -> None:
    partition = Partition()
    unnamed: dict[int, set[str]] = defaultdict(set)
    named: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for number, (what, detail, more) in enumerate(steps, 1):
        if what == "wait":
            partition.wait(detail)
        elif what == "turn":
            partition.turn(keeps=detail)
        elif what == "fails":
            partition.turn(fails=True)
        elif what == "dies":
            partition.take_over()
        else:
            nameless, naming = _put(partition, what, detail, more, number)
            unnamed[detail].update(nameless)
            if naming:
                named[more][detail].update(naming)
    partition.turn()
    partition.wait(4000)
    partition.turn()
    for session in ("ann", "bob"):
        # What waited in the traces that name it, and what names it.
        expected = {item for trace, items in named[session].items() for item in items | unnamed[trace]}
        assert partition.given.get(session, Counter()) == Counter(expected)
    for trace in (1, 2, 3):
        alone = partition.given.get(_trace(trace), Counter())
        assert not alone or max(alone.values()) == 1
        assert set(alone) <= unnamed[trace]
        if not any(named[session][trace] for session in named):
            assert set(alone) == unnamed[trace]


def test_the_key_of_a_trace_is_that_of_the_topic() -> None:
    assert session_key(Owner(Kind.TRACE, f"{1:032x}")) == b"\0" + _trace(1).encode()


def test_a_session_that_another_goes_on_from_is_told_wherever_it_stands() -> None:
    partition = Partition()
    start = record(None, "session.start", session__id="eve", session__previous_id="ann")
    partition.put(Message("logs", 0, "acme", log_request([start, start])))
    turn = partition.turn()
    assert turn.followed == [Owner(Kind.SESSION, "ann", "acme")]
    assert partition.turn().followed == []


def test_of_a_session_outside_the_sample_nobody_is_told_that_it_is_over() -> None:
    partition = Partition(rate=0.0)
    start = record(None, "session.start", session__id="eve", session__previous_id="ann")
    partition.put(Message("logs", 0, "", log_request([start])))
    assert partition.turn().followed == []
