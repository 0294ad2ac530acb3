"""Messages as OpenInference flattens them into attributes, made into messages of the GenAI convention.

`llm.input_messages.<i>.message.role`, `....message.tool_calls.<k>.tool_call.function.name` and so on become a list of
`{role, parts}`. Indices are sorted as numbers. Content that the instrumentation was told to hide is not recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from extractors import attributes as at
from extractors.messages import ASSISTANT_ROLES, SYSTEM_ROLES, USER
from extractors.spans import Attributes, Value

INPUT_MESSAGES: Final = "llm.input_messages"
OUTPUT_MESSAGES: Final = "llm.output_messages"
TOOLS: Final = "llm.tools"

HIDDEN: Final = "__REDACTED__"
"""What instrumentations write in place of content that they were told to hide."""

UNKNOWN: Final = "unknown"
"""Role of a message whose own was lost, for example to a limit on the number of attributes."""

_TOOL_ROLES: Final = frozenset({"tool", "function"})
_ROLES: Final = {"human": USER, "ai": "assistant", "agent": "assistant"}

Fields: TypeAlias = Mapping[str, Value]


def flattened(attributes: Attributes, head: str) -> list[Fields] | None:
    """The entries `<head>.<i>.<rest>` by number, each as `rest` → value; None when there are none."""
    entries: dict[int, dict[str, Value]] = {}
    start = f"{head}."
    length = len(start)
    for key in [key for key in attributes if key.startswith(start)]:
        index, _, rest = key[length:].partition(".")
        if index.isdecimal() and len(index) <= at.MAX_DIGITS:
            entries.setdefault(int(index), {})[rest] = attributes[key]
    return [entries[index] for index in sorted(entries)] or None


def input_messages(attributes: Attributes) -> list[Value] | None:
    """What went into the model; None when it was not recorded or hidden.

    Hidden text makes the whole list unrecorded: who asked for what in it cannot be told any more.
    """
    found = flattened(attributes, INPUT_MESSAGES)
    if found is None or (hides_anything(attributes) and any(hides_text(fields) for fields in found)):
        return None
    return _as_messages(found)


def output_messages(attributes: Attributes) -> list[Value] | None:
    """What the model said. Of a message with hidden text the calls are kept."""
    return _as_messages(flattened(attributes, OUTPUT_MESSAGES))


def hides_anything(attributes: Attributes) -> bool:
    """Whether any value was hidden."""
    return HIDDEN in attributes.values()


def hides_text(fields: Fields) -> bool:
    """Whether a message's text was hidden."""
    texts = [fields.get("message.content"), *(value for key, value in fields.items() if key.endswith("_content.text"))]
    return HIDDEN in texts


def tool_definitions(attributes: Attributes) -> list[Value] | None:
    """The tools that the model was told about, as JSON text each."""
    schemas = [fields.get("tool.json_schema") for fields in flattened(attributes, TOOLS) or ()]
    return [schema for schema in schemas if schema is not None and schema != HIDDEN] or None


def _as_messages(found: Sequence[Fields] | None) -> list[Value] | None:
    # Some emitters write a lone role, without content, where they found no message that they could read.
    messages = [_message(fields) for fields in found or () if fields.keys() != {"message.role"}]
    return list(messages) or None


def _message(fields: Fields) -> Value:
    call_id = at.text(fields, "message.tool_call_id")
    calls = _calls(fields)
    text = _text(fields)
    role = _role(fields, call_id, bool(calls))
    if role in _TOOL_ROLES or (call_id is not None and role not in ASSISTANT_ROLES):
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": text}]}
    texts: list[Value] = [{"type": "text", "content": text}] if text else []
    return {"role": role, "parts": [*texts, *calls], "finish_reason": fields.get("message.finish_reason")}


def _role(fields: Fields, call_id: str | None, calls: bool) -> str:
    named = at.text(fields, "message.role")
    if named:
        return _ROLES.get(named, named)
    if call_id is not None:
        return "tool"
    return "assistant" if calls else UNKNOWN


def _text(fields: Fields) -> str | None:
    """`message.content`, else the text parts of `message.contents`, else numbered `message.content.<n>`."""
    content = fields.get("message.content")
    if content == HIDDEN:
        return None
    if content is not None:
        return at.as_text(content)
    parts = [_part_text(part) for part in flattened(fields, "message.contents") or ()]
    parts += [at.as_text(part.get("")) for part in flattened(fields, "message.content") or ()]
    texts = [part for part in parts if part]
    return "\n".join(texts) if texts else None


def _part_text(part: Fields) -> str | None:
    """The text of a part; a stand-in for what is neither text nor a tool."""
    kind = at.text(part, "message_content.type")
    text = at.text(part, "message_content.text")
    if kind in {"reasoning", "tool_use"} or text == HIDDEN:
        return None
    return text if text is not None or kind in {None, "text"} else f"[{kind}]"


def _calls(fields: Fields) -> list[Value]:
    """The calls of a message, each once: `message.contents` may repeat `message.tool_calls`."""
    found = [_call(call) for call in flattened(fields, "message.tool_calls") or ()]
    if not found:
        parts = flattened(fields, "message.contents") or ()
        found = [_call(part) for part in parts if part.get("message_content.type") == "tool_use"]
    if not found and "message.function_call_name" in fields:
        name, arguments = fields["message.function_call_name"], fields.get("message.function_call_arguments_json")
        return [{"type": "tool_call", "name": name, "arguments": _shown(arguments)}]
    return list(found)


def _call(fields: Fields) -> Value:
    return {
        "type": "tool_call",
        "id": fields.get("tool_call.id"),
        "name": fields.get("tool_call.function.name"),
        "arguments": _shown(fields.get("tool_call.function.arguments")),
    }


def _shown(value: Value) -> Value:
    return None if value == HIDDEN else value


def has_prompt(found: Sequence[Value] | None) -> bool:
    """Whether a list of messages holds anything but the system prompt."""
    roles = (at.text(at.as_mapping(message) or {}, "role") for message in found or ())
    return any(role not in SYSTEM_ROLES for role in roles)
