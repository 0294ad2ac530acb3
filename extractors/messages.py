"""Messages between agent and model, in the many JSON shapes in use, as one shape.

Read are parts of the GenAI convention (`type`: text, tool_call, tool_call_response, ...), Bedrock blocks (`text`,
`toolUse`, `toolResult`), Anthropic blocks (`tool_use`, `tool_result`), OpenAI messages (`tool_calls`,
`role: tool`) and Gemini parts (`functionCall`, `functionResponse`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from extractors.attributes import as_list, as_mapping, as_object, as_text, is_list, parse_afresh, parse_json
from extractors.repetition import SHORTEST, memory, read_once
from extractors.spans import Value
from extractors.trajectory import ToolDefinition

USER: Final = "user"
ASSISTANT_ROLES: Final = frozenset({"assistant", "model", "ai"})
SYSTEM_ROLES: Final = frozenset({"system", "developer"})

_THOUGHTS: Final = frozenset({"reasoning", "thinking", "redacted_thinking", "reasoningContent", "cachePoint"})
_RESULT_KEYS: Final = ("response", "result", "content", "output")
_TEXT_BLOCK_KEYS: Final = frozenset({"text", "type", "content", "annotations"})
_SCHEMA_KEYS: Final = ("parameters", "inputSchema", "input_schema", "schema")
_MAX_TYPE: Final = 40


class RequestedCall(NamedTuple):
    """A tool call as the model asked for it. `arguments` is what was recorded: an object or text; None if nothing."""

    name: str
    call_id: str | None = None
    arguments: Value = None


class ToolResult(NamedTuple):
    """A tool's answer as the model was shown it. `failed` is None when the message does not say."""

    call_id: str | None
    text: str | None
    failed: bool | None = None


class Message(NamedTuple):
    """One message. `text` is "" when it has none; parts that are neither text nor tools show as `[type]`. `hidden`:
    it has text that was not recorded (content capture is off)."""

    role: str
    text: str = ""
    calls: tuple[RequestedCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    finish_reason: str | None = None
    hidden: bool = False


Part: TypeAlias = str | RequestedCall | ToolResult


def messages(value: Value, role: str = USER) -> tuple[Message, ...] | None:
    """The messages of a list, one message, or JSON text of either; None when it is neither. `role`: of messages in a
    list that name none."""
    if value is None:
        return None
    if isinstance(value, str):
        return history(value) if role == USER else messages(parse_json(value), role)
    if is_list(value):
        return tuple([message(body, role) for item in value if (body := as_mapping(item)) is not None])
    one = as_mapping(value)
    return None if one is None else (message(one, "assistant"),)


def history(text: str) -> tuple[Message, ...] | None:
    """`messages` of a JSON text. One that goes on where an earlier one ended, as the history of a conversation does
    from request to request, is read from there."""
    known = memory()
    if known is None or len(text) < SHORTEST:
        return messages(parse_json(text))
    key = (history, text)
    found: tuple[Message, ...] | None = known.readings.get(key)
    if found is not None or key in known.readings:
        return found
    beginning = text[:SHORTEST]
    before = known.latest.get(beginning)
    found = None if before is None else _continued(text, *before)
    if found is None:
        found = messages(parse_afresh(text))
    if known.keep(history, text, found) and found is not None and text.startswith("[") and text.endswith("]"):
        known.latest[beginning] = (text, found)
    return found


def _continued(text: str, before: str, told: tuple[Message, ...]) -> tuple[Message, ...] | None:
    """The messages of `before`, an array, and those that follow it in `text`; None when nothing readable does."""
    end = len(before) - 1
    if len(text) <= len(before) or not text.startswith(before[:end]):
        return None
    rest = text[end:].lstrip(" \n\r\t")
    more = messages(as_list(parse_afresh(f"[{rest[1:]}"))) if rest.startswith(",") else None
    return None if more is None else (*told, *more)


def message(body: Mapping[str, Value], role: str) -> Message:
    """One message object; `role` is used when it names none."""
    named = body.get("role")
    if isinstance(named, str) and named:
        role = named
    if "parts" in body:
        content = body["parts"]
    else:
        content = body.get("content")
        tool_id = body.get("tool_call_id") or body.get("id")
        if role == "tool" and isinstance(tool_id, str):
            return Message(role, results=(ToolResult(tool_id, result_text(content)),))
    parts = parts_of(content)
    if "tool_calls" in body:
        parts = [*parts, *_openai_calls(body["tool_calls"])]
    finish = body.get("finish_reason")
    hidden = "" in parts and hides_text(content)
    return from_parts(role, parts, finish if isinstance(finish, str) else None, hidden)


def hides_text(content: Value) -> bool:
    """Whether a part is said to be text, and the text is left out."""
    blocks = (as_mapping(block) or {} for block in as_list(content) or ())
    return any(
        block.get("type") == "text" and block.get("content") is None and block.get("text") is None for block in blocks
    )


def from_parts(role: str, parts: Sequence[Part], finish_reason: str | None = None, hidden: bool = False) -> Message:
    """Sort parts into the fields of a message."""
    if len(parts) == 1:  # most messages: spared the lists
        only = parts[0]
        if isinstance(only, str):
            return Message(role, only, (), (), finish_reason, hidden)
        if isinstance(only, ToolResult):
            return Message(role, "", (), (only,), finish_reason, hidden)
    texts: list[str] = []
    calls: list[RequestedCall] = []
    results: list[ToolResult] = []
    for part in parts:
        if isinstance(part, str):
            if part:
                texts.append(part)
        elif isinstance(part, RequestedCall):
            calls.append(part)
        else:
            results.append(part)
    return Message(role, "\n".join(texts), tuple(calls), tuple(results), finish_reason, hidden)


def parts_of(content: Value) -> list[Part]:
    """The parts of a message's content: text, one part, a list of parts, or JSON text of parts."""
    if isinstance(content, str):
        encoded = _encoded_parts(content)
        return [content] if encoded is None else encoded
    blocks = content if is_list(content) else () if as_mapping(content) is None else (content,)
    return [found for block in blocks if (found := part(block)) is not None]


def text_of(content: Value) -> str | None:
    """The text of a prompt given as text or as parts; None when nothing was recorded."""
    if content is None:
        return None
    if isinstance(content, str):
        return _text_in(content)
    if as_list(content) is not None or as_mapping(content) is not None:
        return _joined_texts(parts_of(content))
    return None


@read_once
def _text_in(content: str) -> str:
    return _joined_texts(parts_of(content))


def _joined_texts(parts: Iterable[Part]) -> str:
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def part(block: Value) -> Part | None:
    """One part; None for thoughts and for what is no part at all."""
    body = block if isinstance(block, dict) else as_mapping(block)
    if body is None:
        return block if isinstance(block, str) else None
    if body.get("type") == "text" and isinstance(said := body.get("content"), str):
        return said  # most parts by far
    known = _known(body)
    return known if known is not None else _opaque(body)


def _known(body: Mapping[str, Value]) -> Part | None:
    """A part of a kind that this module reads."""
    kind = body.get("type")
    read = _BY_TYPE.get(kind) if isinstance(kind, str) else None
    known = read(body) if read is not None else None
    return known if known is not None else _keyed(body)


def _text(body: Mapping[str, Value]) -> str | None:
    said = _first_text(body, ("content", "text"))
    return "" if said is None and hides_text((body,)) else said


def _tool_call(body: Mapping[str, Value]) -> RequestedCall | None:
    arguments = body["arguments"] if "arguments" in body else body.get("input")
    return _call(body.get("name"), body.get("id") or body.get("call_id"), arguments)


def _server_call(body: Mapping[str, Value]) -> RequestedCall | None:
    return _call(body.get("name"), body.get("id"), body.get("server_tool_call"))


def _response(body: Mapping[str, Value]) -> ToolResult:
    return _result(body.get("id"), _answer(body), None)


def _server_response(body: Mapping[str, Value]) -> ToolResult:
    return _result(body.get("id"), body.get("server_tool_call_response"), False)  # the provider ran it


def _tool_result(body: Mapping[str, Value]) -> ToolResult:
    failed = body.get("is_error")
    return _result(body.get("tool_use_id"), body.get("content"), failed if isinstance(failed, bool) else None)


_BY_TYPE: Final[Mapping[str, Callable[[Mapping[str, Value]], Part | None]]] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "tool_call": _tool_call,
    "tool_use": _tool_call,
    "function_call": _tool_call,
    "server_tool_call": _server_call,
    "tool_call_response": _response,
    "server_tool_call_response": _server_response,
    "tool_result": _tool_result,
}


def _answer(body: Mapping[str, Value]) -> Value:
    for key in _RESULT_KEYS:
        if key in body:
            return body[key]
    return None


def _keyed(body: Mapping[str, Value]) -> Part | None:
    """A part whose one key says what it is."""
    if body.get("thought") is True:
        return ""
    for key in body:
        read = _READERS.get(key)
        inner = as_mapping(body[key]) if read is not None else None
        if read is not None and inner is not None:
            return read(inner)
    return _first_text(body, ("text",)) if "type" not in body else None


def _bedrock_result(body: Mapping[str, Value]) -> ToolResult:
    status = body.get("status")
    return _result(body.get("toolUseId"), body.get("content"), None if status is None else status == "error")


def _bedrock_call(body: Mapping[str, Value]) -> RequestedCall | None:
    return _call(body.get("name"), body.get("toolUseId"), body.get("input"))


def _gemini_call(body: Mapping[str, Value]) -> RequestedCall | None:
    return _call(body.get("name"), body.get("id"), body.get("args"))


def _gemini_result(body: Mapping[str, Value]) -> ToolResult:
    return _result(body.get("id"), body.get("response"), None)


_READERS: Final[Mapping[str, Callable[[Mapping[str, Value]], Part | None]]] = {
    "toolUse": _bedrock_call,
    "toolResult": _bedrock_result,
    "functionCall": _gemini_call,
    "function_call": _gemini_call,
    "functionResponse": _gemini_result,
    "function_response": _gemini_result,
}


def _opaque(body: Mapping[str, Value]) -> str | None:
    """A stand-in for an image, a file or a part of a kind not known here; None for thoughts and approvals."""
    kind = next((name for key in ("modality", "type") if isinstance(name := body.get(key), str)), None)
    kind = kind or next(iter(body), None)
    if kind is None or kind in _THOUGHTS or kind.startswith("function_approval"):
        return None
    return f"[{kind[:_MAX_TYPE]}]"


def _call(name: Value, call_id: Value, arguments: Value) -> RequestedCall | None:
    if not isinstance(name, str) or not name:
        return None
    return RequestedCall(name, call_id if isinstance(call_id, str) and call_id else None, arguments)


def _result(call_id: Value, value: Value, failed: bool | None) -> ToolResult:
    return ToolResult(call_id if isinstance(call_id, str) and call_id else None, result_text(value), failed)


def _first_text(body: Mapping[str, Value], keys: Sequence[str]) -> str | None:
    for key in keys:
        if isinstance(value := body.get(key), str):
            return value
    return None


def _openai_calls(value: Value) -> list[RequestedCall]:
    """`tool_calls` of an OpenAI message: a list of {id, type, function: {name, arguments}}."""
    items = as_list(parse_json(value) if isinstance(value, str) else value) or ()
    found: list[RequestedCall] = []
    for item in items:
        body = as_mapping(item) or {}
        function = as_mapping(body.get("function")) or body
        call = _call(function.get("name"), body.get("id"), function.get("arguments"))
        if call is not None:
            found.append(call)
    return found


@read_once
def _encoded_parts(content: str) -> list[Part] | None:
    """Parts that were written as JSON text. A person's text that merely is JSON stays text, hence None."""
    if not content.startswith("["):
        return None
    blocks = as_list(parse_json(content))
    if blocks is None:
        return None
    found: list[Part] = []
    for block in blocks:
        body = as_mapping(block)
        known = None if body is None else _known(body)
        if known is not None:
            found.append(known)
        elif body is None or "reasoningContent" not in body:
            return None
    return found


def result_text(value: Value) -> str | None:
    """What a tool returned, as the model read it: text, blocks of text joined by newlines, else compact JSON."""
    if isinstance(value, str) and not value.startswith("["):
        return value
    blocks = as_list(parse_json(value) if isinstance(value, str) else value)
    if blocks:
        lines = [_block_text(as_mapping(block)) for block in blocks]
        if all(line is not None for line in lines):
            return "\n".join(line for line in lines if line is not None)
    return as_text(value)


def _block_text(body: Mapping[str, Value] | None) -> str | None:
    if body is None:
        return None
    if len(body) == 1 and "json" in body:
        return as_text(body["json"])
    return _first_text(body, ("text", "content")) if body.keys() <= _TEXT_BLOCK_KEYS else None


def tool_definitions(value: Value) -> tuple[ToolDefinition, ...] | None:
    """Tools as the model was told about them, from a list of definitions or JSON text of one; None if neither."""
    return _definitions_in(value) if isinstance(value, str) else _definitions(as_list(value))


@read_once
def _definitions_in(text: str) -> tuple[ToolDefinition, ...] | None:
    return _definitions(as_list(parse_json(text)))


def _definitions(items: Sequence[Value] | None) -> tuple[ToolDefinition, ...] | None:
    if items is None:
        return None
    found = [_definition(as_mapping(parse_json(item) if isinstance(item, str) else item)) for item in items]
    return tuple([definition for definition in found if definition is not None])


def _definition(body: Mapping[str, Value] | None) -> ToolDefinition | None:
    if body is None:
        return None
    body = as_mapping(body.get("function")) or body
    name, description = body.get("name"), body.get("description")
    if not isinstance(name, str) or not name:
        return None
    schema = None
    for key in _SCHEMA_KEYS:
        schema = as_object(body.get(key))
        if schema is not None:
            break
    wrapped = as_mapping(schema.get("json")) if schema is not None else None
    return ToolDefinition(name, description if isinstance(description, str) else None, wrapped or schema)
