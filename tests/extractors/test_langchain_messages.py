from __future__ import annotations

import json

import pytest

from extractors.langchain_messages import ToolMessage, messages_in, tool_message
from extractors.messages import Message, RequestedCall, messages
from extractors.spans import Value


def constructed(kind: str, **fields: Value) -> Value:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": fields}


CALL: Value = {"name": "dig", "args": {"bed": 4}, "id": "c1", "type": "tool_call"}


@pytest.mark.parametrize(
    "value",
    [
        {"messages": [{"role": "user", "content": "hi"}]},
        {"messages": [["user", "hi"]]},
        {"messages": ["hi"]},
        {"messages": [{"type": "human", "data": {"content": "hi", "type": "human"}}]},
        {"messages": [[constructed("HumanMessage", content="hi", type="human")]]},
        json.dumps({"messages": [{"role": "user", "content": "hi"}]}),
        [{"type": "human", "content": "hi"}],
        ["user", "hi"],
    ],
)
def test_a_persons_message_is_read_in_every_shape(value: Value) -> None:
    assert messages(messages_in(value)) == (Message("user", "hi"),)


@pytest.mark.parametrize(
    "value",
    [{"type": "ai", "data": {"content": "", "tool_calls": [CALL]}}, constructed("AIMessageChunk", tool_calls=[CALL])],
)
def test_calls_of_the_model_keep_name_id_and_arguments(value: Value) -> None:
    calls = [call for message in messages(messages_in(value)) or () for call in message.calls]
    assert calls == [RequestedCall("dig", "c1", {"bed": 4})]


@pytest.mark.parametrize(
    "value", ["", "no json", '{"rows": 1}', {"messages": 7}, 7, None, {"messages": []}, [[[[[]]]]]]
)
def test_what_holds_no_messages_gives_none(value: Value) -> None:
    assert messages_in(value) is None


@pytest.mark.parametrize(
    "value",
    [
        {"type": "tool", "data": {"content": "dug", "tool_call_id": "c1", "status": "success"}},
        constructed("ToolMessage", content="dug", tool_call_id="c1", status="success"),
        {
            "graph": None,
            "update": {
                "messages": [{"type": "tool", "data": {"content": "dug", "tool_call_id": "c1", "status": "success"}}]
            },
        },
        {"type": "tool", "content": [{"type": "text", "text": "dug"}], "tool_call_id": "c1", "status": "success"},
    ],
)
def test_a_tools_message_is_read_in_every_shape(value: Value) -> None:
    assert tool_message(json.dumps(value)) == ToolMessage("c1", "dug", failed=False)


def test_a_status_says_whether_the_tool_failed_and_none_says_nothing() -> None:
    told: dict[str, Value] = {"type": "tool", "tool_call_id": "c1", "content": "no"}
    assert tool_message({**told, "status": "error"}) == ToolMessage("c1", "no", failed=True)
    assert tool_message(told) == ToolMessage("c1", "no", failed=None)


@pytest.mark.parametrize("value", ["dug", "", None, '{"low": 1}', {"update": {"messages": []}}, {"update": 7}])
def test_another_output_is_no_tools_message(value: Value) -> None:
    assert tool_message(value) is None
