"""The session id is read exactly: nothing that a prompt can say moves telemetry between sessions."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.errors import Malformed
from collector.journal.rows import split_names
from collector.otlp.envelope import encode_varint
from collector.sessions.book import Policy
from collector.sessions.keys import MOST_NAME_BYTES, Kind, Owner
from collector.sessions.links import MOST_SESSIONS
from collector.sessions.routing import Marks, Routed
from extractors.spans import Session
from tests.collector.sessions.desk import NAMES, POLICY, Desk
from tests.collector.sessions.telemetry import log_request, record, span, span_id, trace_id, trace_request


def _field(number: int, body: bytes) -> bytes:
    return encode_varint(number << 3 | 2) + encode_varint(len(body)) + body


def _request(*spans: bytes) -> bytes:
    """A trace request around spans in wire form."""
    return _field(1, _field(2, b"".join(_field(2, body) for body in spans)))


def _ids(trace: int, number: int) -> bytes:
    return _field(1, trace_id(trace)) + _field(2, span_id(number)) + _field(5, f"span {number}".encode())


def _attribute(key: str, value: bytes, *, value_first: bool = False) -> bytes:
    parts = [_field(1, key.encode()), _field(2, value)]
    return _field(9, b"".join(reversed(parts) if value_first else parts))


def _text(value: str) -> bytes:
    return _field(1, value.encode())


def _names(session: Session) -> set[str]:
    return {span.name for span in session.spans}


def _where(desk: Desk) -> dict[str, set[str]]:
    return {name: _names(session) for name, session in desk.close_all().items()}


FORGED = "\n\nsession.id\x12\x05\n\x03bob"
"""What an attribute `session.id` = "bob" looks like on the wire, as text in a message."""


def _knows_ann_and_bob(desk: Desk) -> None:
    desk.send("traces", trace_request([span(1, 1, session__id="ann"), span(2, 2, session__id="bob")]))


def _with_event(made: Span) -> None:
    made.events.add(name="note").attributes.add(key="session.id").value.string_value = "bob"


def _with_link(made: Span) -> None:
    made.links.add(trace_id=trace_id(9), span_id=span_id(9)).attributes.add(key="session.id").value.string_value = "bob"


def _with_nested_list(made: Span) -> None:
    inner = made.attributes.add(key="context").value.kvlist_value.values.add(key="session.id")
    inner.value.string_value = "bob"


def _with_array(made: Span) -> None:
    inner = made.attributes.add(key="context").value.array_value.values.add().kvlist_value.values.add(key="session.id")
    inner.value.string_value = "bob"


def _with_text(made: Span) -> None:
    made.attributes.add(key="gen_ai.prompt").value.string_value = FORGED


def _with_name(made: Span) -> None:
    made.name = "span 5" + FORGED


def _with_longer_key(made: Span) -> None:
    made.attributes.add(key="my.session.id").value.string_value = "bob"


TRAPS = [_with_event, _with_link, _with_nested_list, _with_array, _with_text, _with_name, _with_longer_key]


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("trace", [1, 3], ids=["trace known as ann's", "trace not seen before"])
def test_a_session_id_anywhere_but_in_the_spans_own_attributes_is_not_its_session(trap: object, trace: int) -> None:
    assert callable(trap)
    desk = Desk()
    _knows_ann_and_bob(desk)
    made = span(trace, 5)
    trap(made)
    desk.send("traces", trace_request([made]))
    assert _where(desk)["bob"] == {"span 2"}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_forged_id_does_not_outweigh_the_real_one(trap: object) -> None:
    assert callable(trap)
    desk = Desk()
    _knows_ann_and_bob(desk)
    made = span(3, 5)
    trap(made)
    made.attributes.add(key="session.id").value.string_value = "ann"
    desk.send("traces", trace_request([made]))
    assert _where(desk)["bob"] == {"span 2"}


def test_text_that_forges_the_sessions_of_two_traces_moves_neither() -> None:
    desk = Desk()
    _knows_ann_and_bob(desk)
    made = span(1, 5, session__id="ann", gen_ai__prompt=FORGED)
    made.attributes.insert(0, made.attributes.pop())  # the forged text stands first
    desk.send("traces", trace_request([made]))
    assert len(_where(desk)["bob"]) == 1


@pytest.mark.parametrize("known", [False, True], ids=["trace not seen before", "trace known"])
@pytest.mark.parametrize(
    "attribute",
    [
        _attribute("session.id", _text("ann"), value_first=True),
        _field(9, b"\x0a\x8a\x80\x00session.id" + b"\x12\x85\x80\x00" + _text("ann")),
        _attribute("session.id", _text("ann")) + _attribute("session.id", _text("bob")),
        _attribute("gen_ai.conversation.id", _text("bob")) + _attribute("session.id", _text("ann")),
        _attribute("session.id", b"") + _attribute("gen_ai.conversation.id", _text("ann")),
        _attribute("session.id", _text("")) + _attribute("gen_ai.conversation.id", _text("ann")),
        _attribute("session.id", b"\x18\x07") + _attribute("gen_ai.conversation.id", _text("ann")),
        _attribute("session.id", b"\x10\x01") + _attribute("gen_ai.conversation.id", _text("ann")),
    ],
    ids=["value first", "long varints", "twice: first", "alias too", "unset", "empty", "number", "true"],
)
def test_every_way_to_write_the_id_is_read(attribute: bytes, known: bool) -> None:
    desk = Desk()
    if known:
        desk.send("traces", trace_request([span(7, 1, session__id="ann")]))
    desk.send("traces", _request(_ids(7, 5) + attribute))
    assert "span 5" in _where(desk)["ann"]


@pytest.mark.parametrize("stronger_first", [True, False])
def test_a_stronger_name_counts_also_in_a_trace_that_an_alias_named(stronger_first: bool) -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(7, 1, gen_ai__conversation__id="ann")]))
    both = [_attribute("session.id", _text("bob")), _attribute("gen_ai.conversation.id", _text("ann"))]
    desk.send("traces", _request(_ids(7, 5) + b"".join(both if stronger_first else reversed(both))))
    desk.send("traces", _request(_ids(7, 6) + _attribute("gen_ai.conversation.id", _text("ann"))))
    assert _where(desk) == {"ann": {"span 1", "span 6"}, "bob": {"span 5"}}


def test_scopes_that_name_sessions_differently_do_not_mix_within_a_trace() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(7, 1, session__id="ann")]))
    desk.send("traces", trace_request([span(7, 2, session__id="ann", conversation__id="bob")], scope="codex"))
    desk.send("traces", trace_request([span(7, 3, session__id="ann")]))
    assert _where(desk) == {"ann": {"span 1", "span 3"}, "bob": {"span 2"}}


@given(st.integers(1, MOST_NAME_BYTES))
def test_an_id_may_have_any_length_up_to_the_bound(length: int) -> None:
    desk = Desk()
    name = "s" * length
    for number in (1, 2):
        desk.send("traces", trace_request([span(1, number, session__id=name)]))
    assert _where(desk) == {name: {"span 1", "span 2"}}


@pytest.mark.parametrize("name", ["s" * (MOST_NAME_BYTES + 1), "é" * (MOST_NAME_BYTES // 2 + 1)])
def test_an_id_past_the_bound_loses_only_its_own_items(name: str) -> None:
    desk = Desk()
    routed = desk.send("traces", trace_request([span(1, 1, session__id="ann"), span(2, 2, session__id=name)]))
    assert (routed.received, routed.kept, routed.rejected) == (2, 1, 1)
    assert f"at most {MOST_NAME_BYTES} are taken" in routed.cause
    assert desk.send("logs", log_request([record(None, session__id=name)])).rejected == 1
    by_resource = trace_request([span(3, 3), span(3, 4)], resource={"session.id": name})
    assert desk.send("traces", by_resource).rejected == 2
    assert _where(desk) == {"ann": {"span 1"}}


def test_a_tenant_past_the_bound_is_malformed() -> None:
    with pytest.raises(Malformed, match="tenant"):
        Desk().send("traces", trace_request([span(1, 1, session__id="ann")]), tenant="t" * (MOST_NAME_BYTES + 1))


def _owners(desk: Desk) -> set[tuple[str, str]]:
    """(tenant, session) of every row; a trace without session is its id."""
    return {
        (owner.tenant, owner.name)
        for key, value in desk.rows.telemetry()
        for owner in [split_names(value, key.kind)[0]]
    }


def test_the_same_session_and_trace_of_two_tenants_never_mix() -> None:
    desk = Desk(marks=Marks(names=NAMES, tenant_attribute="team"))
    for team in ("red", "blue", "red"):
        desk.send("traces", trace_request([span(1, 1, session__id="ann")], resource={"team": team}))
        desk.send("traces", trace_request([span(1, 2), span(2, 3)], resource={"team": team}))
        desk.send("logs", log_request([record(1, "step"), record(None, session__id="ann")], resource={"team": team}))
    found = {(session.tenant, session.session_id): len(session.spans) for session in map(desk.read, desk.wait(3600))}
    lone = trace_id(2).hex()
    assert found == {("red", "ann"): 2, ("blue", "ann"): 2, ("red", lone): 1, ("blue", lone): 1}


def test_a_header_outweighs_the_tenant_that_resources_name() -> None:
    desk = Desk(marks=Marks(names=NAMES, tenant_attribute="team"))
    for tenant in ("", "green"):
        desk.send("traces", trace_request([span(1, 1, session__id="ann")], resource={"team": "red"}), tenant)
    desk.send("traces", trace_request([span(1, 1, session__id="ann")], resource={"team": ""}))
    assert _owners(desk) == {("red", "ann"), ("green", "ann"), ("", "ann")}


def test_resources_that_name_no_tenant_are_those_of_none_unless_so_configured() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1, session__id="ann")], resource={"team": "red"}))
    assert _owners(desk) == {("", "ann")}


def test_a_tenant_attribute_past_the_bound_loses_only_its_own_items() -> None:
    desk = Desk(marks=Marks(names=NAMES, tenant_attribute="team"))
    routed = desk.send("traces", trace_request([span(1, 1)], resource={"team": "t" * (MOST_NAME_BYTES + 1)}))
    assert (routed.kept, routed.rejected) == (0, 1)
    assert "tenant" in routed.cause


def test_resources_that_differ_in_every_request_do_not_pile_up() -> None:
    desk = Desk()
    for number in range(1, 40):
        resource = {"service.name": "shop", "build": f"{number}" + "x" * 1024**2}
        assert desk.send("traces", trace_request([span(1, number, session__id="ann")], resource=resource)).kept == 1
    assert desk.router.surroundings.size <= 32 * 1024**2


def _usual(trace: int, number: int, session: str) -> Span:
    """With the head that most encoders write, `session.id` first, and long enough to be read where it stands."""
    made = span(trace, number, 99, session__id=session, text="x" * 300)
    made.kind = Span.SPAN_KIND_CLIENT
    return made


@given(st.lists(st.tuples(st.sampled_from(("ann", "bob")), st.integers(1, 4), st.booleans()), max_size=12))
def test_a_new_trace_of_a_known_session_is_its_trace_from_then_on(sent: list[tuple[str, int, bool]]) -> None:
    desk, wanted = Desk(), dict[str, set[str]]()
    for number, (session, trace, named) in enumerate(sent, start=1):
        own = trace if session == "ann" else trace + 10
        first = _usual(own, 100 + number, session)
        spans = [first] if named else [first, span(own, number)]
        wanted.setdefault(session, set()).update(each.name for each in spans)
        desk.send("traces", trace_request(spans))
    assert _where(desk) == wanted


def test_a_session_spelled_alike_is_another_one_for_another_tenant() -> None:
    desk = Desk()
    for number, tenant in enumerate(("a", "b", "a", "b"), start=1):
        desk.send("traces", trace_request([_usual(number, number, "ann")]), tenant)
    assert sorted((each.tenant, _names(each)) for each in map(desk.read, desk.wait(3600))) == [
        ("a", {"span 1", "span 3"}),
        ("b", {"span 2", "span 4"}),
    ]


def test_a_stronger_name_in_a_new_trace_outweighs_the_session_that_is_spelled_first() -> None:
    desk = Desk()
    for number, stronger in enumerate(("", "bob"), start=1):
        made = _usual(number, number, "ann")
        made.attributes[0].key = "gen_ai.conversation.id"
        if stronger:
            made.attributes.add(key="session.id").value.string_value = stronger
        desk.send("traces", trace_request([made]))
    assert _where(desk) == {"ann": {"span 1"}, "bob": {"span 2"}}


@pytest.mark.parametrize("broken", ["trace_id", "span_id"])
def test_a_span_of_a_known_session_without_its_ids_is_rejected(broken: str) -> None:
    desk = Desk()
    made = _usual(2, 2, "ann")
    setattr(made, broken, bytes(len(getattr(made, broken))))
    routed = desk.send("traces", trace_request([_usual(1, 1, "ann"), made]))
    assert (routed.kept, routed.rejected) == (1, 1)


def test_a_session_that_was_forgotten_begins_anew_in_a_new_trace() -> None:
    desk = Desk()
    desk.send("traces", trace_request([_usual(1, 1, "ann")]))
    for claim in desk.wait(11):
        desk.done(claim)
    desk.wait(3600)
    desk.claims.clear()
    assert desk.book.index.find(Owner(Kind.SESSION, "ann").digest) is None
    desk.send("traces", trace_request([_usual(3, 3, "bob"), _usual(2, 2, "ann")]))
    assert _where(desk) == {"bob": {"span 3"}, "ann": {"span 2"}}


def test_the_same_trace_id_in_every_session_keeps_each_with_what_names_it() -> None:
    desk = Desk()
    names = [f"chat-{number}" for number in range(MOST_SESSIONS + 20)]
    for number, name in enumerate(names, start=1):
        desk.send("traces", trace_request([span(1, number, session__id=name)]))
    desk.send("traces", trace_request([span(1, 1000)]))
    claims = desk.wait(3600)
    assert {desk.read(claim).session_id for claim in claims} == set(names)
    assert max(len(claim.neighbours) for claim in claims) < MOST_SESSIONS


def test_ids_that_begin_alike_are_different_sessions() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1, session__id="chat-1")]))
    desk.send("traces", trace_request([span(1, 2, session__id="chat-10"), span(1, 3, session__id="chat")]))
    assert _where(desk) == {"chat-1": {"span 1"}, "chat-10": {"span 2"}, "chat": {"span 3"}}


BROKEN = [
    _field(1, b"short") + _field(2, span_id(1)),
    _field(1, bytes(16)) + _field(2, span_id(1)),
    _field(1, trace_id(1)) + _field(2, b"xyz"),
    _field(1, trace_id(1)) + _field(2, bytes(8)),
    _field(1, trace_id(1)),
    _field(1, trace_id(1)) + b"\x4a\xff",
    b"\xff\xff\xff",
    b"",
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_bad_span_loses_only_itself_and_says_why(broken: bytes) -> None:
    desk = Desk()
    routed = desk.send("traces", _request(_ids(1, 5) + _attribute("session.id", _text("ann")), broken, _ids(1, 6)))
    assert (routed.received, routed.kept, routed.rejected) == (3, 2, 1)
    assert routed.cause.startswith("a span")
    assert _where(desk) == {"ann": {"span 5", "span 6"}}


def test_a_damaged_span_in_a_known_trace_that_mentions_the_end_loses_only_itself() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1, session__id="ann")]))
    damaged = _ids(1, 2) + _attribute("session.id", _text("ann")) + _field(11, b"session.end\xff")
    routed = desk.send("traces", _request(damaged, _ids(1, 3)))
    assert routed.received == 2
    assert "span 3" in _where(desk)["ann"]


def test_a_session_id_that_cannot_be_decoded_costs_its_sender_nothing_else() -> None:
    desk = Desk()
    damaged = _ids(1, 1) + _attribute("session.id", b"\x0a\x7f")
    routed = desk.send("traces", _request(damaged, _ids(2, 2) + _attribute("session.id", _text("ann"))))
    assert (routed.kept, routed.rejected) == (2, 0)
    assert _where(desk)["ann"] == {"span 2"}


def test_a_bad_record_loses_only_itself() -> None:
    desk = Desk()
    good = record(None, session__id="ann").SerializeToString()
    routed = desk.send("logs", _request(good, b"\x32\xff"))
    assert (routed.received, routed.kept, routed.rejected) == (2, 1, 1)
    assert "log record" in routed.cause


def test_a_broken_envelope_keeps_nothing() -> None:
    desk = Desk()
    with pytest.raises(Malformed):
        desk.send("traces", trace_request([span(1, 1, session__id="ann")]) + b"\x0a\x7f")
    assert desk.close_all() == {}


def test_a_broken_resource_is_a_broken_envelope() -> None:
    with pytest.raises(Malformed, match="resource or scope"):
        Desk().send("traces", _field(1, _field(1, b"\x0a\xff") + _field(2, _field(2, _ids(1, 1)))))


@pytest.mark.parametrize(
    "own", [{"scope": "spanjudge"}, {"resource": {"service.name": "spanjudge"}}], ids=["scope", "service"]
)
def test_our_own_telemetry_is_counted_and_not_judged(own: dict[str, object]) -> None:
    desk = Desk()
    routed = desk.send("traces", trace_request([span(1, 1, session__id="ann")], **own))  # type: ignore[arg-type]
    assert (routed.received, routed.own, routed.kept) == (1, 1, 0)
    assert desk.send("logs", log_request([record(1)], **own)).own == 1  # type: ignore[arg-type]
    assert desk.close_all() == {}


def test_a_record_without_session_and_trace_is_counted() -> None:
    desk = Desk()
    assert desk.send("logs", log_request([record(None, "step")])).no_session == 1


def test_a_record_without_a_trace_follows_its_resource() -> None:
    desk = Desk()
    desk.send("logs", log_request([record(None, "step")], resource={"session.id": "ann"}))
    assert list(desk.close_all()) == ["ann"]


@given(st.lists(st.lists(st.integers(1, 4), max_size=5), max_size=5), st.integers(1, 7))
def test_a_request_in_turns_becomes_what_it_becomes_at_once(sessions: list[list[int]], most: int) -> None:
    numbers = itertools.count(1)
    request = b"".join(
        trace_request([span(session, next(numbers), session__id=f"s-{session}") for session in group])
        for group in sessions
    )
    at_once, in_turns = Desk(), Desk()
    whole = at_once.send("traces", request)
    turns = []
    for routed in in_turns.router.turns("traces", request, "", in_turns.now_ms, most):
        in_turns.rows.append(routed.rows)
        turns.append(routed)
    assert [routed.received for routed in turns[:-1]] == [most] * (len(turns) - 1)
    assert sum(routed.kept for routed in turns) == whole.kept == sum(map(len, sessions))
    assert _where(in_turns) == _where(at_once)


def test_of_a_broken_envelope_no_turn_is_taken() -> None:
    desk = Desk()
    with pytest.raises(Malformed):
        desk.router.turns("traces", trace_request([span(1, 1, session__id="ann")] * 9) + b"\x0a\x7f", "", 0, 2)


_SPANS = st.builds(
    span,
    trace=st.integers(1, 3),
    number=st.integers(1, 9),
    session__id=st.sampled_from(["ann", "bob", "carl", "dora", "eve", ""]),
)
_GROUPS = st.tuples(st.lists(_SPANS | st.just(Span()), max_size=5), st.sampled_from(["tests", "spanjudge"]))


def _books(routed: Routed) -> int:
    return routed.kept + routed.sampled_out + routed.own + routed.no_session + routed.rejected


@given(st.lists(_GROUPS, max_size=8), st.sampled_from([0.0, 0.3, 1.0]))
def test_the_books_balance_whatever_comes(groups: list[tuple[list[Span], str]], rate: float) -> None:
    desk = Desk(Policy(rate=rate))
    for spans, scope in groups:
        routed = desk.send("traces", trace_request(spans, scope=scope))
        assert routed.received == len(spans) == _books(routed)


@given(
    st.lists(st.builds(record, trace=st.none() | st.integers(1, 3), session__id=st.sampled_from(["ann", "bob", ""])))
)
def test_the_books_of_records_balance(records: list[object]) -> None:
    routed = Desk(Policy(rate=0.5)).send("logs", log_request(records))  # type: ignore[arg-type]
    assert routed.received == len(records) == _books(routed)


@given(st.permutations([(t, n) for t in (1, 2) for n in (1, 2, 3)]), st.integers(1, 6))
def test_the_sample_is_the_same_for_every_arrival(arrivals: list[tuple[int, int]], batch: int) -> None:
    """Twenty sessions, of each two traces whose third span alone names it."""
    desk = Desk(Policy(rate=0.5, idle_ms=10_000, max_age_ms=60_000))
    for start in range(0, len(arrivals), batch):
        for user in range(20):
            spans = [
                span(user * 10 + t, user * 100 + t * 10 + n, session__id=f"user-{user}" if n == 3 else "")
                for t, n in arrivals[start : start + batch]
            ]
            desk.send("traces", trace_request(spans))
    sessions = desk.close_all()
    assert {name: len(session.spans) for name, session in sessions.items()} == dict.fromkeys(_in_sample(), 6)


def _in_sample() -> list[str]:
    desk = Desk(Policy(rate=0.5))
    desk.send("traces", trace_request([span(user, user, session__id=f"user-{user}") for user in range(1, 20)]))
    desk.send("traces", trace_request([span(99, 99, session__id="user-0")]))
    sampled = list(desk.close_all())
    assert 3 < len(sampled) < 17
    return sampled


def test_a_session_outside_the_sample_is_dropped_at_once_when_its_trace_is_known() -> None:
    desk = Desk(Policy(rate=0.0))
    for _ in range(2):
        routed = desk.send("traces", trace_request([span(1, 1, session__id="ann"), span(1, 2)]))
        assert routed.sampled_out == 2
    assert desk.rows.last_row() == 0


def test_a_session_outside_the_sample_is_looked_at_anew_when_the_rate_changes() -> None:
    desk = Desk(Policy(rate=0.0))
    assert desk.send("traces", trace_request([_usual(1, 1, "ann")])).sampled_out == 1
    desk.book.policy = replace(desk.book.policy, rate=1.0)
    assert desk.send("traces", trace_request([_usual(1, 2, "ann"), _usual(2, 3, "ann")])).kept == 2


ENDS = Marks(names=NAMES, end_attributes=("chat.closed",))


def _ended_after_settling(signal: str, request: bytes) -> bool:
    desk = Desk(POLICY, ENDS)
    desk.send("traces", trace_request([span(1, 1, session__id="ann")]))
    desk.send(signal, request)  # type: ignore[arg-type]
    ann = Owner(Kind.SESSION, "ann").digest
    return [claim.reason for claim in desk.wait(4) if claim.digest == ann] == ["end_marker"]


def _span_with_event(name: str, session: str = "") -> Span:
    made = span(1, 2, session__id=session)
    made.events.add(name=name)
    return made


def _flagged(value: bool) -> Span:
    made = span(1, 2, session__id="ann")
    made.attributes.add(key="chat.closed").value.bool_value = value
    return made


@pytest.mark.parametrize(
    ("signal", "request_body"),
    [
        ("logs", log_request([record(None, "session.end", session__id="ann")])),
        ("logs", log_request([record(None, event__name="session.end", session__id="ann")])),
        ("logs", log_request([record(1, "session.end")])),
        ("logs", log_request([record(None, session__id="ann", chat__closed="yes")])),
        ("traces", trace_request([_span_with_event("session.end", "ann")])),
        ("traces", trace_request([_span_with_event("session.end")])),
        ("traces", trace_request([_flagged(True)])),
        ("traces", _request(_ids(1, 2) + b"\xda\x00\x0d" + _field(2, b"session.end"))),  # a longer tag than it takes
        ("logs", log_request([record(None, "session.start", session__id="eve", session__previous_id="ann")])),
    ],
)
def test_an_end_marker_closes_the_session_after_it_has_settled(signal: str, request_body: bytes) -> None:
    assert _ended_after_settling(signal, request_body)


@pytest.mark.parametrize(
    ("signal", "request_body"),
    [
        ("logs", log_request([record(None, "step", session__id="ann", text="then session.end was sent")])),
        ("logs", log_request([record(None, "session.start", session__id="ann")])),
        ("logs", log_request([record(None, "session.end", session__id="bob")])),
        ("traces", trace_request([span(1, 2, session__id="ann", gen_ai__prompt="what does session.end do?")])),
        ("traces", trace_request([span(1, 2, gen_ai__prompt="session.end")])),
        ("traces", trace_request([_span_with_event("session.end.later", "ann")])),
        ("traces", trace_request([_flagged(False)])),
    ],
)
def test_text_that_mentions_an_end_marker_closes_nothing(signal: str, request_body: bytes) -> None:
    assert not _ended_after_settling(signal, request_body)


def test_the_end_of_a_trace_is_the_end_of_the_session_that_names_it_later() -> None:
    desk = Desk()
    desk.send("traces", trace_request([_span_with_event("session.end")]))
    desk.send("traces", trace_request([span(1, 1, session__id="ann")]))
    assert [claim.reason for claim in desk.wait(4)] == ["end_marker"]


def test_what_an_envelope_holds_beyond_the_spans_is_stored_with_them() -> None:
    request = ExportTraceServiceRequest.FromString(trace_request([span(1, 1, session__id="ann")]))
    request.resource_spans[0].schema_url = "urn:schema"
    desk = Desk()
    desk.send("traces", request.SerializeToString())
    (claim,) = desk.wait(3600)
    stored = b"".join(value for head in claim.heads for _, value in desk.rows.chain(head))
    assert b"urn:schema" in stored
