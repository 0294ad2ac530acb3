"""Sessions and the parked traces they read: both sides agree, and those that are gone are in neither."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.sessions.index import SessionIndex
from collector.sessions.keys import Kind, Owner
from collector.sessions.parking import Parking

SESSIONS, TRACES = range(3), range(3, 6)


def _parking() -> tuple[SessionIndex, Parking]:
    index = SessionIndex()
    for slot in (*SESSIONS, *TRACES):
        kind = Kind.SESSION if slot in SESSIONS else Kind.TRACE
        index.add(Owner(kind, f"{slot}").digest, kind, 0)
    return index, Parking(index)


_STEPS = st.lists(
    st.tuples(st.sampled_from(["attach", "detach", "forget"]), st.sampled_from(SESSIONS), st.sampled_from(TRACES))
)


@given(_STEPS)
def test_both_sides_always_agree(steps: list[tuple[str, int, int]]) -> None:
    index, parking = _parking()
    expected: set[tuple[int, int]] = set()
    for step, session, trace in steps:
        match step:
            case "attach":
                parking.attach(session, trace)
                expected.add((session, trace))
            case "detach":
                parking.detach(session, trace)
                expected.discard((session, trace))
            case _:
                parking.forget(session)
                index.free(session)
                # The slot is used again, by a session that reads nothing yet.
                index.add(Owner(Kind.SESSION, f"{session}").digest, Kind.SESSION, 0)
                expected = {pair for pair in expected if pair[0] != session}
        assert {(s, t) for s in SESSIONS for t in parking.traces(s)} == expected
        assert {(s, t) for t in TRACES for s in parking.readers(t)} == expected


def test_forgetting_a_session_names_the_traces_that_nobody_reads_any_more() -> None:
    _, parking = _parking()
    for session, trace in ((0, 3), (0, 4), (1, 4)):
        parking.attach(session, trace)
    assert parking.forget(0) == [3]
    assert parking.forget(1) == [4]


def test_a_session_that_is_gone_is_no_reader() -> None:
    index, parking = _parking()
    parking.attach(0, 3)
    index.free(0)
    assert parking.readers(3) == []
