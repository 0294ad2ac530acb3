"""When sessions close, why, what late telemetry does, and that a crash at any moment changes none of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.journal.rows import RowType, names
from collector.sessions.book import Claim, Discarded, IdleRule, Policy, SessionBook
from collector.sessions.index import NOTHING_NEEDED, State
from collector.sessions.keys import Kind, Owner, kept
from collector.sessions.links import parked_owner
from collector.sessions.routing import Routed
from tests.collector.sessions.desk import POLICY, Desk
from tests.collector.sessions.telemetry import log_request, record, span, trace_id, trace_request

ANN = Owner(Kind.SESSION, "ann").digest


def _say(desk: Desk, number: int, trace: int = 1, session: str = "ann") -> None:
    desk.send("traces", trace_request([span(trace, number, session__id=session)]))


def _span_of(session: str, trace: int, number: int, parent: int | None = None) -> Span:
    """Of a session, or of none."""
    return span(trace, number, parent, session__id=session) if session else span(trace, number, parent)


def _end(desk: Desk) -> None:
    desk.send("logs", log_request([record(None, "session.end", session__id="ann")]))


def _only(claims: list[Claim]) -> Claim:
    (claim,) = claims
    return claim


def _spans(desk: Desk, claim: Claim) -> set[str]:
    return {span.name for span in desk.read(claim).spans}


def test_a_session_closes_when_it_has_been_idle_and_not_before() -> None:
    desk = Desk()
    _say(desk, 1)
    assert desk.wait(9) == []
    _say(desk, 2)
    assert desk.wait(9) == []
    claim = _only(desk.wait(2))
    assert (claim.reason, claim.revision, claim.inclusion_probability) == ("idle", 1, 1.0)


def test_sessions_beyond_the_most_stay_open_and_are_due_again() -> None:
    desk = Desk()
    for number in range(1, 6):
        _say(desk, number, trace=number, session=f"chat-{number}")
    desk.now_ms += 20_000
    at_once: list[int] = []
    while due := desk.book.due(desk.now_ms, 2):
        closings = [desk.book.close(ref, reason, desk.now_ms) for ref, reason in due]
        at_once.append(sum(isinstance(closing, Claim) for closing in closings))
        assert desk.book.open_sessions() == 5 - sum(at_once)
    assert at_once == [2, 2, 1]


def test_a_session_that_never_rests_closes_at_its_maximum_age() -> None:
    desk = Desk()
    claims: list[Claim] = []
    for number in range(1, 14):
        _say(desk, number)
        claims += desk.wait(5)
    assert _only(claims).reason == "max_age"


def _fill(desk: Desk) -> Claim:
    for number in range(1, 4):
        _say(desk, number)
    return _only(desk.wait(1.1))


@pytest.mark.parametrize("policy", [replace(POLICY, max_spans=3), replace(POLICY, max_bytes=250)])
@pytest.mark.parametrize("crash", [False, True])
def test_a_session_that_grows_too_large_closes_and_takes_no_more(policy: Policy, crash: bool) -> None:
    desk = Desk(policy)
    claim = _fill(desk)
    assert claim.reason == "max_size"
    desk.done(claim)
    if crash:
        assert desk.crash() == []
    routed = desk.send("traces", trace_request([span(1, 4, session__id="ann"), span(2, 5, session__id="bob")]))
    assert (routed.received, routed.kept, routed.full) == (2, 1, 1)
    assert [desk.read(claim).session_id for claim in desk.wait(20)] == ["bob"]


def test_a_full_session_takes_nothing_while_it_waits_for_its_closing() -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    for number in range(1, 10):
        _say(desk, number)
    assert _spans(desk, _only(desk.wait(1.1))) == {"span 1", "span 2", "span 3"}


def test_the_size_counts_over_all_revisions() -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    _say(desk, 1)
    _say(desk, 2)
    desk.done(_only(desk.wait(11)))
    _say(desk, 3)
    claim = _only(desk.wait(1.1))
    assert (claim.reason, claim.revision) == ("max_size", 2)


def test_a_full_session_is_forgotten_and_begins_anew_after_its_late_window() -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    desk.done(_fill(desk))
    desk.wait(32)
    assert desk.book.index.find(ANN) is None
    _say(desk, 4)
    assert _spans(desk, _only(desk.wait(11))) == {"span 4"}


def test_a_full_trace_does_not_keep_the_sessions_that_read_it_open() -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    _say(desk, 1)
    for number in range(2, 8):
        desk.send("traces", trace_request([span(1, number)]))
    desk.wait(9)
    desk.send("traces", trace_request([span(1, 8)]))
    assert _only(desk.wait(2)).reason == "idle"


def _by_resource(desk: Desk, number: int, trace: int, session: str = "ann") -> Routed:
    return desk.send("traces", trace_request([span(trace, number)], resource={"session.id": session}))


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("judged", [False, True])
def test_what_names_nothing_in_the_trace_of_a_full_session_is_told_and_not_kept(judged: bool, crash: bool) -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    claim = _fill(desk)
    if judged:
        desk.done(claim)
    if crash:
        desk.crash()
    routed = desk.send("traces", trace_request([span(1, 4), span(2, 5)]))
    assert (routed.received, routed.kept, routed.full) == (2, 1, 1)


def test_a_trace_is_full_when_all_that_read_it_are() -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    _say(desk, 9, session="bob")
    _fill(desk)
    assert desk.send("traces", trace_request([span(1, 4, 9)])).kept == 1  # bob reads it
    assert [_spans(desk, claim) for claim in desk.wait(11)] == [{"span 4", "span 9"}]


@pytest.mark.parametrize("crash", [False, True])
def test_what_belongs_to_a_full_session_by_its_parent_and_comes_too_late_is_told_by_who_shares_the_trace(
    crash: bool,
) -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    _say(desk, 9, session="bob")
    desk.send("traces", trace_request([span(1, 4, 1)]))  # of ann, who is not full yet
    ann = _fill(desk)
    assert "span 4" in _spans(desk, ann)
    desk.done(ann)
    desk.wait(1)
    if crash:
        desk.crash()
    desk.send("logs", log_request([record(1)]))  # of ann, who began
    desk.send("traces", trace_request([span(1, 4, 1), span(1, 5, 1), span(1, 6, 9)]))
    bob = desk.read(_only(desk.wait(11)))
    assert {span.name for span in bob.spans} == {"span 6", "span 9"}
    assert (bob.lost_spans, bob.lost_records) == (1, 1)
    (note,) = bob.notes
    assert "1 spans and 1 log records" in note


def test_a_trace_that_only_a_resource_gave_to_a_full_session_is_full_too() -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    _by_resource(desk, 9, trace=5)
    _fill(desk)
    assert desk.send("traces", trace_request([span(5, 10)])).full == 1
    assert _by_resource(desk, 11, trace=6).full == 1


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("copy", [False, True])
def test_a_session_that_only_a_resource_names_is_full_with_as_many_traces_as_it_may_have_items(
    crash: bool, copy: bool
) -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    assert [_by_resource(desk, number, trace=number).kept for number in (1, 2)] == [1, 1]
    assert not copy or desk.move(desk.slot("ann"))
    if crash:
        desk.crash()
    assert [_by_resource(desk, number, trace=number).kept for number in (3, 4)] == [1, 0]
    assert desk.send("traces", trace_request([span(1, 5)])).full == 1
    claim = _only(desk.wait(0.4))
    assert (claim.reason, _spans(desk, claim)) == ("max_size", {"span 1", "span 2", "span 3"})


def test_a_trace_that_turns_out_to_be_of_another_session_does_not_fill_the_one_its_resource_named() -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    for number in range(1, 5):
        assert _by_resource(desk, number, trace=number).kept == 1
        _say(desk, 10 + number, trace=number, session=f"bob {number}")
    assert _by_resource(desk, 5, trace=5).kept == 1


def test_late_telemetry_without_a_name_reopens_the_session_that_a_resource_named() -> None:
    desk = Desk()
    _by_resource(desk, 1, trace=5)
    desk.done(_only(desk.wait(11)))
    desk.send("traces", trace_request([span(5, 2)]))
    claim = _only(desk.wait(11))
    assert (claim.revision, _spans(desk, claim)) == (2, {"span 1", "span 2"})


def test_a_full_session_costs_nothing_for_the_traces_that_name_it() -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    desk.done(_fill(desk))
    rows, traces = desk.rows.last_row(), list(desk.book._links.traces(desk.slot("ann")))
    for number in range(10, 20):
        routed = desk.send("traces", trace_request([span(number, number, session__id="ann"), span(number, 90)]))
        assert routed.full == 2
        assert _by_resource(desk, number, trace=90 + number).full == 1
    assert (desk.rows.last_row(), list(desk.book._links.traces(desk.slot("ann")))) == (rows, traces)


def test_what_was_parked_before_a_full_session_named_it_is_judged_by_itself() -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    desk.done(_fill(desk))
    desk.send("traces", trace_request([span(2, 4)]))
    _say(desk, 5, trace=2)
    claim = _only(desk.wait(11))
    assert (desk.read(claim).session_id, _spans(desk, claim)) == (trace_id(2).hex(), {"span 4"})


_SMALL_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, 3), st.sampled_from(["ann", "bob", "", ""])),
        st.tuples(st.just("child"), st.integers(1, 6), st.just("")),
        st.tuples(st.just("by resource"), st.integers(1, 3), st.sampled_from(["ann", "bob"])),
        st.tuples(st.just("wait"), st.sampled_from([1, 4, 12, 40]), st.just("")),
        st.tuples(st.just("done"), st.just(0), st.just("")),
        st.tuples(st.just("crash"), st.just(0), st.just("")),
    ),
    max_size=25,
)


@given(_SMALL_STEPS)
@settings(max_examples=300, deadline=None)
def test_whatever_was_kept_is_read_by_a_closing_however_small_sessions_are(steps: list[tuple[str, int, str]]) -> None:
    desk = Desk(replace(POLICY, max_spans=3))
    read: set[int] = set()
    stored: set[str] = set()
    judged: set[str] = set()
    told = 0
    for number, (step, value, name) in enumerate([*steps, *[("wait", 40, ""), ("done", 0, "")] * 3], start=1):
        match step:
            case "say":
                stored |= _stored(desk.send("traces", trace_request([_span_of(name, value, number)])), number)
            case "child":
                stored |= _stored(desk.send("traces", trace_request([span(1, number, value)])), number)
            case "by resource":
                stored |= _stored(_by_resource(desk, number, value, name), number)
            case "wait":
                for claim in desk.wait(value):
                    session = desk.read(claim)
                    judged |= {span.name for span in session.spans}
                    told += session.lost_spans
                    read |= {
                        key.row for head in claim.heads for key, _ in desk.rows.chain(head) if key.row < claim.upto
                    }
            case "crash":
                desk.crash()
            case _:
                for claim in desk.claims:
                    desk.done(claim)
                desk.claims.clear()
    assert {key.row for key, _ in desk.rows.telemetry() if key.items} <= read
    assert len(stored - judged) <= told
    assert len(desk.book.index) == 0


def _stored(routed: Routed, number: int) -> set[str]:
    return {f"span {number}"} if routed.kept else set()


def test_a_session_judged_as_often_as_can_be_counted_is_discarded_and_begins_anew() -> None:
    desk = Desk()
    _say(desk, 1)
    slot = desk.book.index.find(ANN)
    assert slot is not None
    desk.book.index.revision[slot] = 2**16 - 1
    desk.now_ms += 11_000
    ((ref, reason),) = desk.book.due(desk.now_ms)
    assert desk.book.close(ref, reason, desk.now_ms) == Discarded("revisions")
    assert desk.book.index.find(ANN) is None


def test_a_closing_that_is_being_judged_outlasts_a_lower_rate_and_a_crash() -> None:
    desk = Desk()
    _say(desk, 1)
    first = _only(desk.wait(11))
    _say(desk, 2)
    desk.policy = desk.book.policy = replace(POLICY, rate=0.0)
    assert desk.wait(11) == []
    assert _only(desk.crash()).revision == first.revision
    assert _spans(desk, first) == {"span 1"}
    desk.done(first)
    desk.wait(31)
    desk.wait(31)
    assert len(desk.book.index) == 0


def test_an_ended_session_closes_once_its_stragglers_have_settled() -> None:
    desk = Desk()
    _say(desk, 1)
    _end(desk)
    desk.wait(1)
    _say(desk, 2)
    claim = _only(desk.wait(4))
    assert claim.reason == "end_marker"
    assert _spans(desk, claim) == {"span 1", "span 2"}


def test_an_end_marker_speaks_for_one_closing_only() -> None:
    desk = Desk()
    _say(desk, 1)
    _end(desk)
    desk.done(_only(desk.wait(4)))
    _say(desk, 2)
    assert desk.wait(5) == []
    assert _only(desk.wait(6)).reason == "idle"


def test_late_telemetry_reopens_the_session_as_the_next_revision() -> None:
    desk = Desk()
    _say(desk, 1)
    first = _only(desk.wait(12))
    desk.done(first)
    desk.wait(10)
    _say(desk, 2)
    second = _only(desk.wait(12))
    assert (first.revision, second.revision) == (1, 2)
    assert _spans(desk, first) == {"span 1"}
    assert _spans(desk, second) == {"span 1", "span 2"}


def test_telemetry_between_closing_and_judging_belongs_to_the_next_revision() -> None:
    desk = Desk()
    _say(desk, 1)
    first = _only(desk.wait(12))
    _say(desk, 2)
    assert _spans(desk, first) == {"span 1"}
    desk.done(first)
    second = _only(desk.wait(12))
    assert (second.revision, _spans(desk, second)) == (2, {"span 1", "span 2"})


def test_late_telemetry_of_a_trace_that_names_nothing_reopens_its_session() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1, session__id="ann"), span(1, 2)]))
    desk.done(_only(desk.wait(12)))
    desk.send("traces", trace_request([span(1, 3)]))
    assert _spans(desk, _only(desk.wait(12))) == {"span 1", "span 2", "span 3"}


def test_late_telemetry_of_a_trace_that_names_nothing_survives_a_crash() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1, session__id="ann"), span(1, 2)]))
    desk.done(_only(desk.wait(12)))
    desk.send("traces", trace_request([span(1, 3)]))
    assert desk.crash() == []
    assert _spans(desk, _only(desk.wait(12))) == {"span 1", "span 2", "span 3"}


def test_a_session_is_forgotten_after_its_late_window() -> None:
    desk = Desk()
    _say(desk, 1)
    desk.done(_only(desk.wait(12)))
    desk.wait(35)
    assert len(desk.book.index) == 0
    assert desk.book.oldest_needed() == desk.rows.last_row() + 1
    _say(desk, 2)
    later = _only(desk.wait(12))
    assert (later.revision, _spans(desk, later)) == (1, {"span 2"})


def test_a_session_that_was_never_judged_is_not_forgotten() -> None:
    desk = Desk()
    _say(desk, 1)
    claim = _only(desk.wait(12))
    desk.wait(3600)
    assert desk.book.oldest_needed() == 1
    assert _spans(desk, claim) == {"span 1"}


def test_a_trace_is_forgotten_with_the_last_session_that_reads_it() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1), span(1, 2, session__id="ann"), span(1, 3, session__id="bob")]))
    for claim in desk.wait(12):
        desk.done(claim)
    desk.wait(35)
    assert len(desk.book.index) == 0


# -- crashes --------------------------------------------------------------------------------------------------------


def test_a_crash_before_closing_starts_the_idle_time_anew() -> None:
    desk = Desk()
    _say(desk, 1)
    desk.wait(9)
    assert desk.crash() == []
    assert desk.wait(9) == []
    assert _spans(desk, _only(desk.wait(2))) == {"span 1"}


def test_a_crash_between_closing_and_judging_brings_the_same_claim_again() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1), span(1, 2, session__id="ann")]))
    claim = _only(desk.wait(12))
    assert desk.crash() == [claim]
    assert desk.wait(12) == []


def test_a_crash_after_judging_brings_no_claim() -> None:
    desk = Desk()
    _say(desk, 1)
    desk.done(_only(desk.wait(12)))
    assert desk.crash() == []
    assert desk.book.index.state[0] == State.LINGERING


def test_a_crash_in_the_late_window_does_not_make_it_longer() -> None:
    desk = Desk()
    _say(desk, 1)
    desk.done(_only(desk.wait(12)))
    desk.wait(20)
    desk.crash()
    desk.wait(12)
    assert len(desk.book.index) == 0


def test_two_closings_that_are_not_yet_judged_both_survive_a_crash() -> None:
    desk = Desk()
    _say(desk, 1)
    first = _only(desk.wait(12))
    _say(desk, 2)
    second = _only(desk.wait(12))
    again = desk.crash()
    assert [(claim.revision, claim.upto) for claim in again] == [(1, first.upto), (2, second.upto)]
    assert [_spans(desk, claim) for claim in again] == [{"span 1"}, {"span 1", "span 2"}]


def test_a_crash_between_an_end_marker_and_the_closing_keeps_the_marker() -> None:
    desk = Desk()
    _say(desk, 1)
    _end(desk)
    desk.crash()
    assert _only(desk.wait(4)).reason == "end_marker"


def test_a_crash_after_an_ended_session_was_closed_does_not_bring_the_marker_back() -> None:
    desk = Desk()
    _say(desk, 1)
    _end(desk)
    desk.done(_only(desk.wait(4)))
    desk.crash()
    _say(desk, 2)
    assert desk.wait(5) == []


def test_a_crash_in_a_reopened_session_keeps_its_age() -> None:
    desk = Desk()
    _say(desk, 1)
    desk.done(_only(desk.wait(59)))
    _say(desk, 2)
    desk.crash()
    assert desk.wait(5) == []


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, 3)),
        st.tuples(st.just("unnamed"), st.integers(1, 3)),
        st.tuples(st.just("end"), st.just(0)),
        st.tuples(st.just("wait"), st.sampled_from([1, 4, 12])),
        st.tuples(st.just("done"), st.just(0)),
        st.tuples(st.just("move"), st.integers(0, 3)),
    ),
    max_size=16,
)


def _closing(claim: Claim) -> tuple[int, bytes, int, str, int]:
    return claim.upto, claim.digest, claim.revision, claim.reason, claim.closed_ms


def _live(steps: list[tuple[str, int]], crash_before: int | None) -> dict[tuple[str, int], set[str]]:
    """Go through the steps; what each (session, revision) was judged on. Nothing may be claimed twice, nor lost.

    The late window is longer than any run: what comes after it counts revisions anew, and the store notices.
    """
    desk = Desk(replace(POLICY, late_window_ms=10_000_000))
    waiting: list[Claim] = []
    judged: dict[tuple[str, int], set[str]] = {}

    def judge() -> None:
        for claim in waiting:
            session = desk.read(claim)
            key = (session.session_id, claim.revision)
            assert key not in judged
            judged[key] = {span.name for span in session.spans}
            desk.done(claim)
        waiting.clear()

    for number, (step, value) in enumerate([*steps, ("wait", 12), ("done", 0)]):
        if number == crash_before:
            # Heads may be newer rows; what stands behind `upto` does not count.
            assert sorted(map(_closing, desk.crash())) == sorted(map(_closing, waiting))
        match step:
            case "say":
                _say(desk, number + 1, trace=value)
            case "unnamed":
                desk.send("traces", trace_request([span(value, number + 1)]))
            case "end":
                _end(desk)
            case "wait":
                waiting += desk.wait(value)
            case "move":
                desk.move(value)
            case _:
                judge()
    desk.wait(12)
    return judged


@given(_STEPS, st.integers(0, 16))
@settings(max_examples=300, deadline=None)
def test_a_crash_anywhere_loses_no_claim_and_repeats_none(steps: list[tuple[str, int]], crash_before: int) -> None:
    judged = _live(steps, crash_before)
    sent = {f"span {number + 1}" for number, (step, _) in enumerate(steps) if step in ("say", "unnamed")}
    seen = set().union(*judged.values()) if judged else set()
    # A crash starts idle times anew, so a session may close later; what came has been judged all the same.
    assert seen == sent


def _outside_the_sample(rate: float) -> int:
    """A trace that would not be kept if it were a session of its own."""
    return next(n for n in range(1, 1000) if not kept(parked_owner(("", trace_id(n))).digest, rate))


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("policy", [replace(POLICY, rate=0.9), replace(POLICY, trace_is_session=False)])
def test_a_trace_that_is_not_judged_alone_waits_for_a_late_name(policy: Policy, crash: bool) -> None:
    desk = Desk(policy)
    trace = _outside_the_sample(0.9)
    assert kept(ANN, policy.rate)
    desk.send("traces", trace_request([span(trace, 1)]))
    assert desk.wait(12) == []
    if crash:
        assert desk.crash() == []
    _say(desk, 2, trace=trace)
    assert _spans(desk, _only(desk.wait(12))) == {"span 1", "span 2"}


def test_a_trace_that_is_not_judged_alone_is_forgotten_after_the_late_window() -> None:
    desk = Desk(replace(POLICY, trace_is_session=False))
    desk.send("traces", trace_request([span(1, 1)]))
    desk.wait(12)
    desk.wait(32)
    assert len(desk.book.index) == 0


# -- the journal's files --------------------------------------------------------------------------------------------


def _known(book: SessionBook) -> dict[bytes, tuple[object, ...]]:
    """What the book knows of each session and trace that has rows, but for the times that start anew."""
    index = book.index
    return {
        index.digest(slot): (
            index.kind[slot],
            index.state[slot],
            index.ended[slot],
            index.last_row[slot],
            index.first_row[slot],
            index.first_s[slot],
            index.items[slot],
            index.size[slot],
            index.revision[slot],
            sorted(book.idle_rules.rules(slot)),
            sorted(book._links.traces(slot)),
            book._deadlines.roots_ended(slot),
        )
        for slot in index.slots()
        if index.first_row[slot] != NOTHING_NEEDED
    }


_FULLER_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, 3), st.sampled_from(["ann", "bob", ""])),
        st.tuples(st.just("root"), st.integers(1, 3), st.sampled_from(["ann", ""])),
        st.tuples(st.just("by resource"), st.integers(1, 3), st.sampled_from(["ann", "dora"])),
        st.tuples(st.just("end"), st.just(0), st.just("")),
        st.tuples(st.just("wait"), st.sampled_from([1, 4, 12, 40]), st.just("")),
        st.tuples(st.just("done"), st.just(0), st.just("")),
        st.tuples(st.just("rule"), st.integers(0, 3), st.sampled_from(["slow*", "", "gone"])),
        st.tuples(st.just("move"), st.integers(0, 4), st.just("")),
    ),
    max_size=20,
)


@given(_FULLER_STEPS)
@settings(max_examples=300, deadline=None)
def test_the_rows_tell_all_that_the_book_knows_wherever_they_were_copied(steps: list[tuple[str, int, str]]) -> None:
    desk = Desk(replace(POLICY, roots_end=True, rules=(IdleRule("slow*", 20_000, 60_000),)))
    for number, (step, value, name) in enumerate(steps, start=1):
        match step:
            case "say":
                desk.send("traces", trace_request([_span_of(name, value, number, 99)]))
            case "root":
                desk.send("traces", trace_request([_span_of(name, value, number)]))
            case "by resource":
                desk.send("traces", trace_request([span(value, number, 99)], resource={"session.id": name}))
            case "end":
                _end(desk)
            case "wait":
                desk.wait(value)
            case "rule" if value < desk.book.slots and desk.book.index.state[value] == State.OPEN:
                desk.book.served(value, name, desk.now_ms)
            case "move":
                desk.move(value)
            case _:
                for claim in desk.claims:
                    desk.done(claim)
                desk.claims.clear()
        desk.write()
        before, needed = _known(desk.book), desk.book.oldest_needed()
        again, claims = SessionBook.read(desk.policy, desk.rows.entries(), desk.rows.last_row(), desk.now_ms)
        assert _known(again) == before
        assert again.oldest_needed() == needed
        assert sorted(map(_closing, claims)) == sorted(map(_closing, desk.claims))


def test_a_copied_session_is_read_from_its_copy_alone() -> None:
    desk = Desk()
    _say(desk, 1)
    _say(desk, 2)
    assert desk.move(0)
    assert [key.row for key, _ in desk.rows.entries()] == [4, 5, 6, 7]
    desk.crash()
    _say(desk, 3)
    assert _spans(desk, _only(desk.wait(11))) == {"span 1", "span 2", "span 3"}


def test_what_a_claim_reads_is_not_moved_until_it_is_judged() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1), span(1, 2, session__id="ann"), span(2, 3)]))
    claim = _only([each for each in desk.wait(11) if each.digest == ANN])
    slots = list(desk.book.index.slots())
    assert [desk.move(slot) for slot in slots] == [False, False, False]
    _say(desk, 4)  # open again, and its first closing not yet judged
    assert not any(map(desk.move, slots))
    assert desk.book.oldest_needed() == 1
    assert _spans(desk, claim) == {"span 1", "span 2"}
    for each in desk.claims:
        desk.done(each)
    assert all(map(desk.move, slots))
    assert _spans(desk, _only(desk.wait(11))) == {"span 1", "span 2", "span 4"}


def test_a_session_that_has_changed_since_its_rows_were_read_is_not_moved() -> None:
    desk = Desk()
    _say(desk, 1)
    (straggler,) = desk.book.stragglers(NOTHING_NEEDED, 0, 10)
    chain = desk.rows.chain(straggler.last_row)
    _say(desk, 2)
    assert not desk.book.move(straggler, chain)


def test_a_claim_needs_its_rows_though_its_session_goes_on_and_is_forgotten() -> None:
    desk = Desk()
    _say(desk, 1)
    first = _only(desk.wait(12))
    _say(desk, 2)
    desk.done(_only(desk.wait(12)))  # the second revision is judged before the first
    desk.wait(40)
    assert desk.book.oldest_needed() == 1
    assert _spans(desk, first) == {"span 1"}
    desk.done(first)
    desk.wait(5)
    assert len(desk.book.index) == 0


# -- other ways to be over ------------------------------------------------------------------------------------------


ROOTS = replace(POLICY, roots_end=True)


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("names_on_roots_only", [False, True])
def test_a_session_is_over_when_each_of_its_traces_has_its_root(crash: bool, names_on_roots_only: bool) -> None:
    desk = Desk(ROOTS)
    child = "" if names_on_roots_only else "ann"
    desk.send("traces", trace_request([_span_of(child, 1, 2, 1), _span_of("ann", 1, 1), _span_of(child, 2, 4, 3)]))
    if not names_on_roots_only:
        assert desk.wait(5) == []
    desk.send("traces", trace_request([span(2, 3, session__id="ann")]))
    if crash:
        desk.crash()
    claim = _only(desk.wait(4))
    assert claim.reason == "roots_ended"
    assert _spans(desk, claim) == {"span 1", "span 2", "span 3", "span 4"}


def test_a_late_child_puts_the_closing_off_until_it_has_settled() -> None:
    desk = Desk(ROOTS)
    desk.send("traces", trace_request([span(1, 1, session__id="ann")]))
    desk.wait(1)
    desk.send("traces", trace_request([span(1, 2, 1, session__id="ann")]))
    assert desk.wait(1.5) == []
    assert _spans(desk, _only(desk.wait(2))) == {"span 1", "span 2"}


def test_a_new_trace_opens_the_session_again_until_its_root_has_come() -> None:
    desk = Desk(ROOTS)
    desk.send("traces", trace_request([span(1, 1, session__id="ann")]))
    desk.done(_only(desk.wait(4)))
    desk.send("traces", trace_request([span(2, 3, 2, session__id="ann")]))
    assert desk.wait(5) == []
    desk.send("traces", trace_request([span(2, 2, session__id="ann")]))
    claim = _only(desk.wait(4))
    assert (claim.reason, claim.revision) == ("roots_ended", 2)


def test_a_trace_that_nothing_names_is_over_with_its_root() -> None:
    desk = Desk(ROOTS)
    desk.send("traces", trace_request([span(1, 2, 1)]))
    assert desk.wait(5) == []
    desk.send("traces", trace_request([span(1, 1)]))
    assert _only(desk.wait(4)).reason == "roots_ended"


def test_roots_close_nothing_unless_that_is_wanted() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1, session__id="ann")]))
    assert desk.wait(9) == []
    assert _only(desk.wait(2)).reason == "idle"


RULES = replace(POLICY, rules=(IdleRule("slow-*", 30_000, 120_000), IdleRule("*-job", 5_000, 60_000)))


def _of(service: str, number: int, session: str = "ann") -> bytes:
    return trace_request([_span_of(session, 1, number)], resource={"service.name": service})


@pytest.mark.parametrize(
    ("services", "idle_s"),
    [
        (["slow-desk"], 30),
        (["quick-job"], 5),
        (["slow-job"], 30),  # the first rule that matches
        (["shop"], 10),
        (["quick-job", "shop"], 10),
        (["shop", "slow-desk", "quick-job"], 30),
        (["quick-job", "slow-desk"], 30),
    ],
)
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_the_longest_idle_time_of_the_services_of_a_session_holds(
    services: list[str], idle_s: int, backward: bool, crash: bool, named: bool
) -> None:
    desk = Desk(RULES)
    for number, service in enumerate(reversed(services) if backward else services, start=1):
        desk.send("traces", _of(service, number, session="ann" if named else ""))
    if not named:
        desk.send("logs", log_request([record(1, session__id="ann")], resource={"service.name": services[0]}))
    if crash:
        desk.crash()
    assert desk.wait(idle_s - 1) == []
    assert _only(desk.wait(2)).reason == "idle"


def test_a_rule_that_is_gone_after_a_restart_gives_way_to_the_usual_times() -> None:
    desk = Desk(RULES)
    desk.send("traces", _of("slow-desk", 1))
    desk.policy = POLICY
    desk.crash()
    assert desk.wait(9) == []
    assert _only(desk.wait(2)).reason == "idle"


def test_links_of_earlier_builds_are_read() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1)]))
    _say(desk, 2)
    names_of_trace = names(parked_owner(("", trace_id(1))))
    rows = [
        (key._replace(type=RowType.NAMED, before=0, items=0), names_of_trace)
        if key.type == RowType.LINK
        else (key, value)
        for key, value in desk.rows.entries()
    ]
    book, _ = SessionBook.read(POLICY, rows, desk.rows.last_row(), desk.now_ms)
    assert _known(book) == _known(desk.book)


# -- clocks ---------------------------------------------------------------------------------------------------------


def test_rows_from_a_time_that_has_not_come_yet_count_as_now() -> None:
    """The clock was hours ahead, and has been set right before the restart."""
    desk = Desk()
    _say(desk, 1)
    desk.send("traces", trace_request([span(2, 2, session__id="bob")]))
    desk.done(next(claim for claim in desk.wait(11) if claim.digest == ANN))
    desk.now_ms -= 5 * 3_600_000
    (bob,) = desk.crash()
    desk.done(bob)
    desk.send("traces", trace_request([span(2, 3, session__id="bob")]))
    assert _spans(desk, _only(desk.wait(11))) == {"span 2", "span 3"}
    desk.wait(20)
    assert desk.book.index.find(ANN) is None


def test_a_closing_is_stamped_with_wall_time_and_waits_by_steady_time() -> None:
    desk = Desk()
    _say(desk, 1)
    desk.now_ms += 11_000
    ((ref, reason),) = desk.book.due(desk.now_ms)
    claim = desk.book.close(ref, reason, desk.now_ms, wall_ms=77)
    assert isinstance(claim, Claim)
    assert claim.closed_ms == 77
    desk.write()
    assert [again.closed_ms for again in desk.crash()] == [77]


# -- traces that were closed before they were named -----------------------------------------------------------------


def test_a_session_says_which_of_its_traces_were_judged_before_something_named_them() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1)]))
    alone = _only(desk.wait(11))
    desk.done(alone)
    _say(desk, 2)
    claim = _only(desk.wait(11))
    assert _spans(desk, claim) == {"span 1", "span 2"}
    assert claim.absorbed == ((alone.digest, 2),)
    desk.done(claim)
    assert desk.wait(11) == []


@pytest.mark.parametrize("policy", [replace(POLICY, rate=0.9), replace(POLICY, trace_is_session=False)])
def test_a_trace_that_was_only_set_aside_is_not_superseded(policy: Policy) -> None:
    desk = Desk(policy)
    trace = _outside_the_sample(0.9)
    desk.send("traces", trace_request([span(trace, 1)]))
    desk.wait(12)
    _say(desk, 2, trace=trace)
    assert _only(desk.wait(12)).absorbed == ()


# -- traces of sessions outside the sample --------------------------------------------------------------------------


def test_a_trace_known_to_be_outside_the_sample_is_so_after_a_crash() -> None:
    desk = Desk(replace(POLICY, rate=0.5))
    outside = next(f"user-{n}" for n in range(100) if not kept(Owner(Kind.SESSION, f"user-{n}").digest, 0.5))
    desk.send("traces", trace_request([span(1, 1)]))
    desk.send("traces", trace_request([span(1, 2, session__id=outside)]))
    desk.crash()
    routed = desk.send("traces", trace_request([span(1, 3)]))
    assert (routed.kept, routed.sampled_out) == (0, 1)
    assert len(desk.book.index) == 0
