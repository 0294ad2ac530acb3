"""Spans of OpenInference told in the terms of the GenAI convention, so that one reader serves both.

What a span is stands in `openinference.span.kind`. LLM spans become model requests, TOOL spans tool calls, AGENT spans
agents; a CHAIN around several agents becomes a workflow. Values that a span already states in GenAI terms stay.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors.conventions.genai_spans import AGENT, TOOL, WORKFLOW, WORKFLOW_NAME
from extractors.conventions.openinference_messages import (
    HIDDEN,
    has_prompt,
    input_messages,
    output_messages,
    tool_definitions,
)
from extractors.spans import Attributes, Span, Value
from extractors.tree import Tree

KIND: Final = "openinference.span.kind"
INPUT: Final = "input.value"
INPUT_TYPE: Final = "input.mime_type"
OUTPUT: Final = "output.value"
OUTPUT_TYPE: Final = "output.mime_type"
JSON_TYPE: Final = "application/json"
AGENT_NAME: Final = "agent.name"
TOOL_NAME: Final = "tool.name"
METADATA: Final = "metadata"

MAX_LITERAL: Final = 100_000
"""Characters of Python source worth reading as a literal."""

_PROMPT_KEYS: Final = ("input", "task", "prompt", "query", "question")


def kind_of(span: Span) -> str | None:
    """The span's kind in capitals; a retriever that was called as a tool counts as one."""
    kind = at.text(span.attributes, KIND)
    if kind is None:
        return None
    kind = kind.upper()
    return "TOOL" if kind == "RETRIEVER" and TOOL_NAME in span.attributes else kind


def retold(span: Span, tree: Tree) -> Span:
    """The span in GenAI terms; as it is when OpenInference does not say what it is."""
    match kind_of(span):
        case "LLM":
            return with_defaults(span, request(span))
        case "TOOL":
            return with_defaults(span, tool_call(span))
        case "AGENT":
            return with_defaults(span, agent(span, shown(span, AGENT_NAME) or span.name))
        case "CHAIN" if any(kind_of(below) == "AGENT" for below in tree.children(span)):
            return with_defaults(span, {at.OPERATION_NAME: WORKFLOW, WORKFLOW_NAME: span.name})
    return span


def with_defaults(span: Span, told: Attributes) -> Span:
    """The span with these attributes where it has none of its own."""
    return replace(span, attributes={**recorded(told), **span.attributes})


def recorded(told: Attributes) -> dict[str, Value]:
    """Without what was not recorded."""
    return {key: value for key, value in told.items() if value is not None}


def request(span: Span) -> dict[str, Value]:
    """A model request in GenAI attributes; None where not recorded."""
    attributes = span.attributes
    parameters = at.json_object(attributes, "llm.invocation_parameters") or {}
    model = shown(span, "llm.model_name")
    asked_for = (at.text(parameters, key) for key in ("model", "model_name", "model_id"))
    return {
        at.OPERATION_NAME: "chat",
        at.REQUEST_MODEL: next((name for name in asked_for if name), model),
        at.RESPONSE_MODEL: model,
        at.INPUT_MESSAGES: _asked(span),
        at.OUTPUT_MESSAGES: output_messages(attributes),
        at.TOOL_DEFINITIONS: tool_definitions(attributes),
        at.INPUT_TOKENS: attributes.get("llm.token_count.prompt"),
        at.OUTPUT_TOKENS: attributes.get("llm.token_count.completion"),
        at.FINISH_REASONS: attributes.get("llm.finish_reason"),
    }


def _asked(span: Span) -> list[Value] | None:
    """The input messages; a prompt given as bare text is not among them."""
    found = input_messages(span.attributes)
    text = shown(span, INPUT)
    if has_prompt(found) or text is None or span.attributes.get(INPUT_TYPE) == JSON_TYPE or text[:1] in {"{", "["}:
        return found
    return [*(found or ()), user_message(text)]


def tool_call(span: Span) -> dict[str, Value]:
    """A tool call in GenAI attributes; None where not recorded."""
    attributes = span.attributes
    return {
        at.OPERATION_NAME: TOOL,
        at.TOOL_NAME: shown(span, TOOL_NAME) or span.name,
        at.TOOL_CALL_ID: at.text(attributes, "tool.id") or at.text(attributes, "tool_call.id"),
        at.TOOL_CALL_ARGUMENTS: arguments_in(shown(span, INPUT)),
        at.TOOL_CALL_RESULT: shown(span, OUTPUT),
    }


def agent(span: Span, name: str | None) -> dict[str, Value]:
    """An agent's run in GenAI attributes: what it was asked, what it answered."""
    return {
        at.OPERATION_NAME: AGENT,
        at.AGENT_NAME: name,
        at.INPUT_MESSAGES: input_messages(span.attributes) or prompt_in(shown(span, INPUT)),
        at.OUTPUT_MESSAGES: output_messages(span.attributes) or answer_in(span),
    }


def prompt_in(value: str | None) -> list[Value] | None:
    """A person's prompt in an agent's input: bare text, or text under a usual key; None for any other JSON."""
    if not value or value[:1] not in {"{", "["}:
        return [user_message(value)] if value else None
    body = at.as_mapping(at.parse_json(value)) or {}
    text = next((text for key in _PROMPT_KEYS if (text := at.text(body, key))), None)
    return None if text is None else [user_message(text)]


def answer_in(span: Span) -> list[Value] | None:
    """An agent's output as its last message, when it is text."""
    text = shown(span, OUTPUT)
    if not text or span.attributes.get(OUTPUT_TYPE) == JSON_TYPE or text[:1] in {"{", "["}:
        return None
    return [assistant_message(text)]


def user_message(text: str) -> Value:
    """A message of the person."""
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def assistant_message(text: str) -> Value:
    """A message of the model."""
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def shown(span: Span, key: str) -> str | None:
    """A text attribute; None also when its content was hidden. Other types are given as JSON text."""
    value = at.as_text(span.attributes.get(key))
    return None if value == HIDDEN else value


def arguments_in(value: str | None) -> Value:
    """Arguments of a call: an object written as JSON or as a Python literal, else the text itself."""
    if value is None:
        return None
    found = at.as_object(value)
    return found if found is not None else python_object(value) or value


def python_object(text: str) -> Mapping[str, Value] | None:
    """A dict written as Python would; None when the text is none."""
    if not text.startswith("{") or len(text) > MAX_LITERAL:
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return {str(key): inner for key, inner in value.items()} if isinstance(value, dict) else None


def exception_message(span: Span) -> str | None:
    """What the last recorded exception said; None without one."""
    told = (at.text(event.attributes, at.EXCEPTION_MESSAGE) for event in reversed(span.events))
    return next((message for message in told if message), None)


def with_own_message(span: Span, message: str | None) -> Span:
    """The span with its status explained by this message, where there is one."""
    return replace(span, status_message=message) if message else span


def has_below(tree: Tree, span: Span, kinds: Sequence[str]) -> bool:
    """Whether any span below is of one of these kinds."""
    return any(kind_of(below) in kinds for below in tree.descendants(span))
