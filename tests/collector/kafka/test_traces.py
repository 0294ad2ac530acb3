"""What is known of traces, and when something has to be done about one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.kafka.trace_facts import TraceFact
from collector.kafka.traces import Patience, Traces, stronger, whole
from collector.sessions.links import TraceKey
from tests.collector.sessions.telemetry import trace_id

_PATIENCE = Patience(name_ms=100, root_ms=10, most_ms=1000, remember_ms=500, most_traces=2)
_KEY: TraceKey = ("", trace_id(1))


def _due(traces: Traces, at_ms: int) -> list[TraceKey]:
    return [key for key, _ in traces.due(at_ms)]


def test_a_trace_is_due_when_nothing_of_it_came_for_long_enough() -> None:
    traces = Traces(_PATIENCE)
    traces.touch(_KEY, 0)
    traces.touch(_KEY, 60)
    assert (_due(traces, 159), _due(traces, 160)) == ([], [_KEY])


def test_a_root_without_a_name_makes_it_due_sooner() -> None:
    traces = Traces(_PATIENCE)
    trace = traces.touch(_KEY, 0)
    traces.rooted(_KEY, trace, 20)
    assert (_due(traces, 29), _due(traces, 30)) == ([], [_KEY])


def test_a_trace_with_a_home_is_due_when_it_may_be_forgotten() -> None:
    traces = Traces(_PATIENCE)
    traces.touch(_KEY, 0).names = ("ann",)
    assert (_due(traces, 499), _due(traces, 500)) == ([], [_KEY])


def test_a_trace_comes_up_again_until_it_is_dealt_with() -> None:
    traces = Traces(_PATIENCE)
    traces.touch(_KEY, 0)
    assert _due(traces, 200) == _due(traces, 200) == [_KEY]
    traces.forget(_KEY)
    assert _due(traces, 200) == []


def test_of_too_many_those_that_began_first_come_up() -> None:
    traces = Traces(_PATIENCE)
    keys = [("", trace_id(number)) for number in range(1, 5)]
    for key in keys:
        traces.touch(key, 0)
    assert [key for key, _ in traces.surplus()] == keys[:2]


_FACTS = st.lists(
    st.builds(
        TraceFact,
        st.just(_KEY),
        st.lists(st.sampled_from("abc"), max_size=2).map(tuple),
        st.none(),
        st.lists(st.integers(0, 9), unique=True, max_size=4).map(lambda at: [n for each in at for n in (each, 1)]),
        st.booleans(),
    ),
    min_size=1,
)


@given(facts=_FACTS)
def test_learning_facts_twice_is_learning_them_once(facts: list[TraceFact]) -> None:
    once, twice = Traces(_PATIENCE), Traces(_PATIENCE)
    once.learn(facts, 7)
    twice.learn([*facts, *facts], 7)
    known, again = once.get(_KEY), twice.get(_KEY)
    assert known is not None
    assert again is not None
    assert whole(_KEY, known) == whole(_KEY, again)
    assert known.last_ms == 7
    assert set(known.names) == {name for fact in facts for name in fact.names}
    assert set(known.places[::2]) == {place for fact in facts for place in fact.places[::2]}


def test_what_is_written_down_of_a_trace_is_all_there_is_to_know() -> None:
    first, then = Traces(_PATIENCE), Traces(_PATIENCE)
    first.learn([TraceFact(_KEY, ("ann",), "r", [4, 1], given=True)], 0)
    trace = first.get(_KEY)
    assert trace is not None
    then.learn([whole(_KEY, trace)], 0)
    again = then.get(_KEY)
    assert again is not None
    assert (again.names, again.by_resource, list(again.places), again.given) == (("ann",), "r", [4, 1], True)


def test_of_two_resources_one_is_stronger_whoever_asks() -> None:
    assert stronger("a", "b", "") != stronger("b", "a", "")
    assert stronger("a", None, "")
    assert not stronger("a", "a", "")
