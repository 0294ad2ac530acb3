from __future__ import annotations

from extractors.conventions import genai
from extractors.conventions.genai_indexed import is_indexed
from extractors.spans import Value
from extractors.trajectory import ToolDefinition
from tests.extractors.spans import agent, session, span


def test_attributes_of_one_field_each_become_messages_in_the_order_of_their_numbers() -> None:
    content: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "You keep bees.",
        "gen_ai.prompt.10.role": "tool",
        "gen_ai.prompt.10.tool_call_id": "c1",
        "gen_ai.prompt.10.content": "31 degrees",
        "gen_ai.prompt.2.role": "user",
        "gen_ai.prompt.2.content": "How warm is hive 4?",
        "gen_ai.prompt.9.role": "assistant",
        "gen_ai.prompt.9.tool_calls.0.id": "c1",
        "gen_ai.prompt.9.tool_calls.0.name": "measure",
        "gen_ai.prompt.9.tool_calls.0.arguments": '{"hive": 4}',
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "It is 31 degrees.",
        "gen_ai.completion.0.finish_reason": "stop",
        "gen_ai.usage.prompt_tokens": 30,
        "gen_ai.usage.completion_tokens": 8,
        "llm.request.functions.0.name": "measure",
        "llm.request.functions.0.description": "Measure a hive.",
        "llm.request.functions.0.parameters": '{"type": "object"}',
    }
    found = genai.extract(session([agent("root", lasts_s=9), span("m1", "root", at_s=2, attributes=content)]))
    assert found.task == "How warm is hive 4?"
    (call,) = found.tool_calls
    assert (call.call_id, call.name, call.arguments, call.result) == ("c1", "measure", {"hive": 4}, "31 degrees")
    (step,) = found.steps
    assert (step.text, step.finish_reason, step.input_tokens, step.output_tokens) == (
        "It is 31 degrees.",
        "stop",
        30,
        8,
    )
    assert found.tool_definitions == (ToolDefinition("measure", "Measure a hive.", {"type": "object"}),)
    assert found.versions.system_prompt_hash is not None


def test_tool_calls_of_a_completion_are_requested_calls() -> None:
    content = {
        "gen_ai.operation.name": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Feed both.",
        "gen_ai.completion.0.tool_calls.1.id": "c2",
        "gen_ai.completion.0.tool_calls.1.name": "feed",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "feed",
        "gen_ai.completion.1.function_call.name": "weigh",
        "gen_ai.completion.1.function_call.arguments": "{}",
        "gen_ai.completion.1.content": "",
    }
    found = genai.extract(session([span("m1", attributes=content)]))
    assert [(call.name, call.call_id) for call in found.tool_calls] == [("feed", "c1"), ("feed", "c2"), ("weigh", None)]


def test_roles_without_content_say_nothing() -> None:
    content = {
        "gen_ai.operation.name": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.x.content": "damaged",
        "gen_ai.completion.": "damaged",
    }
    found = genai.extract(session([span("m1", attributes=content)]))
    assert found.steps[0].text is None
    assert found.task is None


def test_only_a_name_that_begins_so_is_of_one_field_each() -> None:
    assert is_indexed({"app.name": "barn", "gen_ai.completion.0.content": "Fed."})
    assert not is_indexed({"copy.of.gen_ai.prompt.0.content": "Feed them.", "gen_ai.prompt": "[]"})
    assert not is_indexed({})
