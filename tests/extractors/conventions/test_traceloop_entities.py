from __future__ import annotations

import json

import pytest

from extractors.conventions.traceloop_entities import answered, arguments_of, asked, returned
from extractors.messages import messages
from extractors.spans import Value


@pytest.mark.parametrize(
    ("recorded", "arguments"),
    [
        ({"input_str": "{'hive': '4', 'deep': True}", "tags": []}, {"hive": "4", "deep": True}),
        ({"input_str": "{'hive': '4'}", "inputs": {"hive": 4}}, {"hive": 4}),
        ({"input_str": '{"hive": 4}', "inputs": None}, {"hive": 4}),
        ({"input_str": "hive 4", "inputs": None}, "hive 4"),
        ({"args": [], "kwargs": {"hive": 4}}, {"hive": 4}),
        ({"args": [4], "kwargs": {}}, {"args": [4], "kwargs": {}}),
        ({"hive": 4}, {"hive": 4}),
    ],
)
def test_arguments_come_out_of_their_wrappings(recorded: Value, arguments: Value) -> None:
    assert arguments_of(json.dumps(recorded)) == arguments


@pytest.mark.parametrize("damaged", ["{'hive': ", "{'a': __import__('os')}", "[" * 5_000, '{"input_str": '])
def test_damaged_arguments_stay_text(damaged: str) -> None:
    assert arguments_of(damaged) == damaged


def test_a_tool_message_tells_text_call_id_and_failure() -> None:
    fields = {"content": "no such hive", "tool_call_id": "c1", "status": "error"}
    dump = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "ToolMessage"], "kwargs": fields}
    found = returned(json.dumps({"output": dump, "kwargs": {}}))
    assert (found.value, found.call_id, found.failed) == ("no such hive", "c1", True)


@pytest.mark.parametrize(
    ("recorded", "value"),
    [
        ('{"output": "31 degrees"}', "31 degrees"),
        ('"31 degrees"', "31 degrees"),
        ("31 degrees", "31 degrees"),
        ('{"degrees": 31}', '{"degrees": 31}'),
        ('{"output": {"degrees": 31}}', {"degrees": 31}),
        (None, None),
    ],
)
def test_other_results_are_what_the_tool_returned(recorded: Value, value: Value) -> None:
    assert returned(recorded).value == value


@pytest.mark.parametrize(
    "recorded",
    [
        {"inputs": {"messages": [{"role": "user", "content": "Warm?"}]}},
        {"inputs": {"question": "Warm?", "limit": 3}},
        {"args": ["Warm?"], "kwargs": {}},
        {"args": [], "kwargs": {"question": "Warm?"}},
    ],
)
def test_the_prompt_is_a_message_or_the_one_text_there_is(recorded: Value) -> None:
    told = asked(json.dumps(recorded)) or []
    assert [message.text for message in messages(told) or ()] == ["Warm?"]


@pytest.mark.parametrize(
    "recorded", ['{"inputs": {"a": "x", "b": "y"}}', '{"args": ["x", "y"]}', "[1]", "{", None, "3"]
)
def test_several_texts_or_none_are_no_prompt(recorded: Value) -> None:
    assert asked(recorded) is None


def test_an_answer_is_what_came_after_the_persons_last_message() -> None:
    state = [{"role": "user", "content": "a"}, {"role": "ai", "content": "b"}, {"role": "user", "content": "c"}]
    told = answered(json.dumps({"outputs": {"messages": [*state, {"role": "ai", "content": "d"}]}})) or []
    assert [json.dumps(message).count('"d"') for message in told] == [1]
