from __future__ import annotations

import pytest

from extractors.messages import Message, RequestedCall, ToolResult, messages, result_text, text_of, tool_definitions
from extractors.spans import Value
from extractors.trajectory import ToolDefinition

CALL = RequestedCall("fetch", "c1", {"page": 3})
REQUESTS: list[tuple[str, Value]] = [
    ("convention", {"parts": [{"type": "tool_call", "id": "c1", "name": "fetch", "arguments": {"page": 3}}]}),
    ("bedrock", {"content": [{"toolUse": {"toolUseId": "c1", "name": "fetch", "input": {"page": 3}}}]}),
    ("anthropic", {"content": [{"type": "tool_use", "id": "c1", "name": "fetch", "input": {"page": 3}}]}),
    ("gemini", {"parts": [{"functionCall": {"id": "c1", "name": "fetch", "args": {"page": 3}}}]}),
    ("gemini, snake case", {"parts": [{"function_call": {"id": "c1", "name": "fetch", "args": {"page": 3}}}]}),
    (
        "openai",
        {"content": None, "tool_calls": [{"id": "c1", "function": {"name": "fetch", "arguments": {"page": 3}}}]},
    ),
]
RESULTS: list[tuple[str, Value, bool | None]] = [
    ("convention", {"parts": [{"type": "tool_call_response", "id": "c1", "response": "done"}]}, None),
    ("convention, other key", {"parts": [{"type": "tool_call_response", "id": "c1", "result": "done"}]}, None),
    ("bedrock", {"content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "done"}]}}]}, None),
    ("bedrock error", {"content": [{"toolResult": {"toolUseId": "c1", "status": "error", "content": "done"}}]}, True),
    (
        "bedrock success",
        {"content": [{"toolResult": {"toolUseId": "c1", "status": "success", "content": "done"}}]},
        False,
    ),
    (
        "anthropic",
        {"content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done", "is_error": True}]},
        True,
    ),
    ("openai", {"role": "tool", "tool_call_id": "c1", "content": "done"}, None),
]


@pytest.mark.parametrize(("shape", "body"), REQUESTS)
def test_a_requested_call_is_read_in_every_shape(shape: str, body: Value) -> None:
    assert isinstance(body, dict)
    assert messages([{"role": "assistant", **body}]) == (Message("assistant", calls=(CALL,)),), shape


@pytest.mark.parametrize(("shape", "body", "failed"), RESULTS)
def test_a_tool_result_is_read_in_every_shape(shape: str, body: Value, failed: bool | None) -> None:
    found = messages([body])
    assert found is not None
    assert found[0].results == (ToolResult("c1", "done", failed),), shape


def test_messages_are_read_from_json_text_and_from_structured_values() -> None:
    structured: Value = [{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]
    as_json = '[{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]'
    assert messages(structured) == messages(as_json) == (Message("user", "hello"),)


@pytest.mark.parametrize("value", [None, "", "hello", '[{"role": "us', 7, b"[]"])
def test_what_is_no_message_list_is_not_recorded(value: Value) -> None:
    assert messages(value) is None


def test_an_empty_list_is_recorded_as_empty() -> None:
    assert messages("[]") == ()


def test_damaged_items_lose_only_themselves() -> None:
    assert messages(["stray", None, {"role": "user", "content": "kept"}]) == (Message("user", "kept"),)


def test_thoughts_are_left_out_and_images_show_as_what_they_are() -> None:
    parts: Value = [
        {"type": "reasoning", "content": "hm"},
        {"type": "text", "content": "look:"},
        {"type": "blob", "modality": "image", "content": "AAAA"},
        {"thought": True, "text": "secret"},
        {"reasoningContent": {"text": "hm"}},
    ]
    assert messages([{"role": "user", "parts": parts}]) == (Message("user", "look:\n[image]"),)


def test_text_that_merely_looks_like_json_stays_the_persons_text() -> None:
    assert messages([{"role": "user", "content": "[1, 2, 3]"}]) == (Message("user", "[1, 2, 3]"),)
    assert messages([{"role": "user", "content": '[{"city": "Oslo"}]'}]) == (Message("user", '[{"city": "Oslo"}]'),)


def test_blocks_written_as_json_text_are_read() -> None:
    assert messages([{"role": "user", "content": '[{"text": "hello"}]'}]) == (Message("user", "hello"),)


def test_a_call_without_a_name_is_no_call() -> None:
    found = messages([{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1"}]}])
    assert found is not None
    assert found[0].calls == ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ([{"text": "one"}, {"text": "two"}], "one\ntwo"),
        ('[{"type": "text", "text": "one"}]', "one"),
        ([{"json": {"a": 1}}], '{"a":1}'),
        ({"a": 1}, '{"a":1}'),
        ([{"title": "Dune"}], '[{"title":"Dune"}]'),
        ("[1, 2]", "[1, 2]"),
        ("[]", "[]"),
        (None, None),
    ],
)
def test_a_result_is_shown_as_the_model_read_it(value: Value, expected: str | None) -> None:
    assert result_text(value) == expected


def test_a_prompt_is_joined_from_its_parts() -> None:
    assert text_of([{"type": "text", "content": "You help."}, {"type": "text", "content": "Be brief."}]) == (
        "You help.\nBe brief."
    )
    assert text_of(None) is None


def test_tool_definitions_are_read_in_every_shape() -> None:
    schema: Value = {"type": "object"}
    shapes: list[Value] = [
        {"type": "function", "name": "a", "description": "d", "parameters": schema},
        {"type": "function", "function": {"name": "a", "description": "d", "parameters": schema}},
        {"name": "a", "description": "d", "inputSchema": {"json": schema}},
        {"name": "a", "description": "d", "input_schema": schema},
    ]
    for shape in shapes:
        assert tool_definitions([shape]) == (ToolDefinition("a", "d", {"type": "object"}),)


def test_definitions_without_schema_and_without_list_differ() -> None:
    assert tool_definitions('[{"name": "a", "parameters": null}]') == (ToolDefinition("a"),)
    assert tool_definitions("[]") == ()
    assert tool_definitions(None) is None
    assert tool_definitions('[{"name": "a"') is None


@pytest.mark.parametrize("key", ["content", "text"])
def test_an_empty_text_is_empty_and_no_part_of_an_unknown_kind(key: str) -> None:
    asks = {"type": "tool_call", "id": "c1", "name": "look"}
    (found,) = messages([{"role": "assistant", "parts": [{"type": "text", key: ""}, asks]}]) or ()
    assert (found.text, found.hidden, [call.name for call in found.calls]) == ("", False, ["look"])


@pytest.mark.parametrize("part", [{"type": "text"}, {"type": "text", "content": None}, {"type": "text", "text": None}])
def test_a_text_part_without_its_text_is_hidden(part: dict[str, Value]) -> None:
    (found,) = messages([{"role": "assistant", "parts": [part]}]) or ()
    assert (found.text, found.hidden) == ("", True)
