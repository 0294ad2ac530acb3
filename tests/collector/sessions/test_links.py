"""Traces and the sessions they belong to: both directions agree, whatever is named and forgotten in which order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.sessions.index import SessionIndex
from collector.sessions.keys import Digest, Kind, Owner
from collector.sessions.links import MOST_SESSIONS, TraceLinks, parked_owner
from tests.collector.sessions.telemetry import trace_id

SESSIONS, TRACES = range(4), range(3)


def _trace(number: int) -> Digest:
    return parked_owner(("", trace_id(number))).digest


def _session(index: SessionIndex, number: int) -> int:
    return index.add(Owner(Kind.SESSION, f"{number}").digest, Kind.SESSION, 0)


_STEPS = st.lists(
    st.tuples(st.sampled_from(["link", "link_weakly", "forget"]), st.sampled_from(SESSIONS), st.sampled_from(TRACES))
)


@given(_STEPS)
def test_both_directions_always_agree(steps: list[tuple[str, int, int]]) -> None:
    index = SessionIndex()
    links = TraceLinks(index)
    slots = [_session(index, number) for number in SESSIONS]
    strong: set[tuple[int, int]] = set()
    weak: dict[int, int] = {}
    for step, session, trace in steps:
        slot, named = slots[session], any(of == trace for _, of in strong)
        match step:
            case "link":
                assert links.link(_trace(trace), slot) == ((session, trace) not in strong)
                strong.add((session, trace))
                weak.pop(trace, None)
            case "link_weakly":
                smaller = trace not in weak or index.digest(slot) < index.digest(slots[weak[trace]])
                assert links.link_weakly(_trace(trace), slot) == (smaller and not named)
                if smaller and not named:
                    weak[trace] = session
            case _:
                reads = {of for who, of in strong if who == session} | {
                    of for of, who in weak.items() if who == session
                }
                strong = {pair for pair in strong if pair[0] != session}
                weak = {of: who for of, who in weak.items() if who != session}
                alone = {of for of in reads if of not in weak and not any(other == of for _, other in strong)}
                assert sorted(links.forget(slot)) == sorted(map(_trace, alone))
                index.free(slot)
                slots[session] = _session(index, session)  # the slot is used again, by one that has no trace yet
        for number, each in enumerate(slots):
            expected = [(_trace(of), False) for who, of in strong if who == number]
            expected += [(_trace(of), True) for of, who in weak.items() if who == number]
            assert sorted(links.traces(each)) == sorted(expected)
        for of in TRACES:
            named_by = {slots[who] for who, other in strong if other == of}
            assert set(links.sessions(_trace(of))) == named_by
            assert set(links.readers(_trace(of))) == named_by | ({slots[weak[of]]} if of in weak else set())


def test_sessions_that_share_a_trace_by_name_are_neighbours() -> None:
    index = SessionIndex()
    links = TraceLinks(index)
    ann, bob, carl = (_session(index, number) for number in range(3))
    for trace, session in ((1, ann), (1, bob), (2, bob), (3, carl)):
        links.link(_trace(trace), session)
    assert [links.neighbours(each) for each in (ann, bob, carl)] == [{bob}, {ann}, set()]


def test_a_trace_is_linked_to_so_many_sessions_and_to_others_when_those_are_gone() -> None:
    index = SessionIndex()
    links = TraceLinks(index)
    slots = [_session(index, number) for number in range(MOST_SESSIONS + 1)]
    assert [links.link(_trace(1), slot) for slot in slots] == [*[True] * MOST_SESSIONS, False]
    links.forget(slots[0])
    index.free(slots[0])
    assert links.link(_trace(1), slots[-1])
