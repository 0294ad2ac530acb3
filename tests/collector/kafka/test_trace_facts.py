"""What one router writes down another can read."""

from __future__ import annotations

from array import array

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.kafka.trace_facts import (
    FactsOfAnotherVersion,
    FactsUnreadable,
    TraceFact,
    decode_facts,
    encode_facts,
    place,
    stands_at,
)
from collector.kafka.traces import Patience, Traces

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_FACTS = st.builds(
    TraceFact,
    st.tuples(_TEXT, st.binary(min_size=16, max_size=16)),
    st.lists(_TEXT, max_size=3).map(tuple),
    st.none() | _TEXT,
    st.lists(st.integers(0, 2**60), max_size=4).map(lambda places: tuple(at for place in places for at in (place, 1))),
    st.booleans(),
)


@given(facts=st.lists(_FACTS), most=st.integers(1, 2000))
def test_facts_are_read_as_written_in_messages_that_are_not_too_large(facts: list[TraceFact], most: int) -> None:
    messages = list(encode_facts(facts, most))
    told = [fact for _, value in messages for fact in decode_facts(value)]
    assert _learned(told) == _learned(facts)
    assert [key for keys, _ in messages for key in keys] == [fact.key for fact in told]
    for keys, value in messages:
        assert len(value) <= most or len(keys) == 1
    assert [fact for _, value in encode_facts(facts, 1_000_000) for fact in decode_facts(value)] == facts


def _learned(facts: list[TraceFact]) -> list[tuple[object, ...]]:
    """What a router knows that has read them, in whichever pieces."""
    traces = Traces(Patience())
    traces.learn(facts, 0)
    found = [(fact.key, traces.get(fact.key)) for fact in facts]
    return list(
        dict.fromkeys(
            (key, trace.names, trace.by_resource, tuple(trace.places), trace.given) for key, trace in found if trace
        )
    )


def test_what_is_known_of_one_trace_may_take_several_messages() -> None:
    names = tuple(f"{number:04}" + "s" * 1000 for number in range(100))
    fact = TraceFact(("acme", b"t" * 16), names, "r", array("q", range(40_000)), True)
    messages = list(encode_facts([fact], 12_000))
    assert len(messages) > 10
    assert all(len(value) <= 12_000 for _, value in messages)
    told = [fact for _, value in messages for fact in decode_facts(value)]
    assert tuple(name for fact in told for name in fact.names) == names
    assert [at for fact in told for at in fact.places] == list(range(40_000))


def test_a_place_tells_signal_and_offset() -> None:
    assert stands_at(place("traces", 7)) == ("traces", 7)
    assert stands_at(place("logs", 2**40)) == ("logs", 2**40)
    assert place("traces", 7) != place("logs", 7)


def _written(trace: str, places: list[int]) -> bytes:
    return orjson.dumps({"version": 1, "traces": [["", trace, [], None, places, False]]})


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"version": 1}',
        b'{"version": 1, "traces": [["", "zz", [], null]]}',
        _written("0a", []),
        _written("0a" * 16, [1]),
        _written("0a" * 16, [-1, 1]),
        _written("0a" * 16, [2**63, 1]),
    ],
    ids=range(9),
)
def test_what_we_did_not_write_is_told(value: bytes) -> None:
    with pytest.raises(FactsUnreadable):
        decode_facts(value)


def test_what_a_later_version_wrote_is_not_passed_over() -> None:
    with pytest.raises(FactsOfAnotherVersion, match="version 2, 1 expected"):
        decode_facts(b'{"version": 2, "facts": []}')
