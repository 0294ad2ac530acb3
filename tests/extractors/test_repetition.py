"""Texts that a session repeats are read once, and read right."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from extractors.messages import messages, tool_definitions
from extractors.repetition import SHORTEST, Memory, memory, read_once, remembered
from tests.extractors.test_attributes import VALUES

LONG = "x" * SHORTEST
PARTS = st.dictionaries(st.sampled_from(["type", "content", "id", "name", "text", "response"]), VALUES, max_size=3)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"]), "parts": st.lists(PARTS, max_size=2)}
)


def test_a_text_is_read_once_in_a_session_and_again_in_the_next() -> None:
    read: list[str] = []

    @read_once
    def length(text: str) -> int:
        read.append(text)
        return len(text)

    for _ in range(2):
        with remembered():
            assert [length(LONG), length(LONG), length("short"), length("short")] == [SHORTEST, SHORTEST, 5, 5]
    assert read == [LONG, "short", "short"] * 2
    assert memory() is None


def test_a_reading_that_is_none_is_remembered_as_well() -> None:
    read: list[str] = []

    @read_once
    def nothing(text: str) -> None:
        read.append(text)

    with remembered():
        nothing(LONG)
        nothing(LONG)
    assert read == [LONG]


def test_no_more_is_remembered_than_there_is_room_for() -> None:
    small = Memory(room=SHORTEST)
    assert small.keep(len, LONG, 1)
    assert not small.keep(len, "y", 2)
    assert len(small.readings) == 1


def test_sessions_inside_one_another_share_their_memory() -> None:
    with remembered():
        outer = memory()
        with remembered():
            assert memory() is outer
        assert memory() is outer


@given(st.lists(MESSAGES, max_size=6), st.data(), st.sampled_from([None, 1]))
def test_a_history_that_goes_on_is_read_as_if_it_were_the_first(
    told: list[dict[str, object]], data: st.DataObject, indent: int | None
) -> None:
    lengths = data.draw(st.lists(st.integers(0, len(told)), max_size=4))
    texts = [json.dumps(told[:length], indent=indent, default=str) for length in (*lengths, len(told))]
    texts += [text[: data.draw(st.integers(0, len(text)))] for text in texts]  # cut by a limit
    expected = [messages(text) for text in texts]
    with remembered():
        assert [messages(text) for text in texts] == expected


def test_a_text_that_only_begins_like_a_history_is_read_by_itself() -> None:
    first = json.dumps([{"role": "user", "content": "What does a berth for two nights cost at the north quay?"}])
    others = [first[:-1], f"{first[:-1]}]]", f"{first[:-1]};{first[1:]}", f"{first[:-1]},", f"{first}, 1]", first + " "]
    expected = [messages(text) for text in (first, *others)]
    with remembered():
        assert [messages(text) for text in (first, *others)] == expected


def test_tools_told_with_every_request_are_the_same_each_time() -> None:
    text = json.dumps([{"name": "find_berth", "description": "Finds a free berth.", "parameters": {"type": "object"}}])
    with remembered():
        assert tool_definitions(text) is tool_definitions(text)
