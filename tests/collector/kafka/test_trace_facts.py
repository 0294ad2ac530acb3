"""What one router writes down another can read."""

from __future__ import annotations

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

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_FACTS = st.builds(
    TraceFact,
    st.tuples(_TEXT, st.binary(min_size=16, max_size=16)),
    st.lists(_TEXT, max_size=3).map(tuple),
    st.none() | _TEXT,
    st.lists(st.integers(0, 2**60), max_size=8).map(tuple),
    st.booleans(),
)


@given(facts=st.lists(_FACTS), most=st.integers(1, 2000))
def test_facts_are_read_as_written_in_messages_that_are_not_too_large(facts: list[TraceFact], most: int) -> None:
    messages = list(encode_facts(facts, most))
    assert [fact for _, value in messages for fact in decode_facts(value)] == facts
    assert [key for keys, _ in messages for key in keys] == [fact.key for fact in facts]
    for keys, value in messages:
        assert len(value) <= most or len(keys) == 1


def test_a_place_tells_signal_and_offset() -> None:
    assert stands_at(place("traces", 7)) == ("traces", 7)
    assert stands_at(place("logs", 2**40)) == ("logs", 2**40)
    assert place("traces", 7) != place("logs", 7)


@pytest.mark.parametrize("value", [b"", b"[]", b'{"version": 1}', b'{"version": 1, "traces": [["", "zz", [], null]]}'])
def test_what_we_did_not_write_is_told(value: bytes) -> None:
    with pytest.raises(FactsUnreadable):
        decode_facts(value)


def test_what_a_later_version_wrote_is_not_passed_over() -> None:
    with pytest.raises(FactsOfAnotherVersion, match="version 2, 1 expected"):
        decode_facts(b'{"version": 2, "facts": []}')
