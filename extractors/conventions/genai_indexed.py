"""Content in one attribute per field, as instrumentations wrote it before message lists.

`gen_ai.prompt.<i>.{role,content,tool_call_id}`, `gen_ai.prompt.<i>.tool_calls.<j>.{id,name,arguments}`, the same under
`gen_ai.completion`, and `llm.request.functions.<i>.{name,description,parameters}`. Numbers are compared as numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from extractors.spans import Attributes, Value

PROMPT: Final = "gen_ai.prompt."
COMPLETION: Final = "gen_ai.completion."
FUNCTIONS: Final = "llm.request.functions."

_PREFIXES: Final = (PROMPT, COMPLETION, FUNCTIONS)
_TOOL_CALLS: Final = "tool_calls"
_MAX_DIGITS: Final = 9


def is_indexed(attributes: Attributes) -> bool:
    """Whether any attribute has one of these shapes."""
    # Asked of every span: one look at all keys together, and at each only where that finds something.
    keys = "\n".join(attributes)
    return (PROMPT in keys or COMPLETION in keys or FUNCTIONS in keys) and any(
        key.startswith(_PREFIXES) for key in attributes
    )


def indexed_messages(attributes: Attributes, prefix: str) -> list[Mapping[str, Value]] | None:
    """The messages under a prefix, as objects with `role`, `content`, `tool_calls`; None when none says anything."""
    entries = _entries(attributes, prefix)
    told = any({"content", _TOOL_CALLS, "tool_call_id"} & fields.keys() for _, fields in entries)
    return [_message(fields) for _, fields in entries] if told else None


def indexed_functions(attributes: Attributes) -> list[Mapping[str, Value]] | None:
    """Tool definitions, as objects; None when there are none."""
    entries = _entries(attributes, FUNCTIONS)
    found: list[Mapping[str, Value]] = [{key: own[key] for key in own if key != _TOOL_CALLS} for _, own in entries]
    return found or None


def _entries(attributes: Attributes, prefix: str) -> list[tuple[int, dict[str, Value]]]:
    """Fields by number; those of tool calls as {number: fields} under `tool_calls`."""
    found: dict[int, dict[str, Value]] = {}
    calls: dict[int, dict[int, dict[str, Value]]] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        number, _, field = key[len(prefix) :].partition(".")
        at = _number(number)
        if at is None or not field:
            continue
        fields = found.setdefault(at, {})
        kind, _, rest = field.partition(".")
        call, _, name = rest.partition(".")
        of_call = _number(call) if kind == _TOOL_CALLS else None
        if of_call is None:
            fields[field] = value
        else:
            calls.setdefault(at, {}).setdefault(of_call, {})[name] = value
    for at, own in calls.items():
        found[at][_TOOL_CALLS] = [own[number] for number in sorted(own)]
    return sorted(found.items(), key=lambda entry: entry[0])


def _message(fields: Mapping[str, Value]) -> Mapping[str, Value]:
    """The fields; an older `function_call` becomes a tool call without an id."""
    name = fields.get("function_call.name")
    if name is None or _TOOL_CALLS in fields:
        return fields
    return {**fields, _TOOL_CALLS: [{"name": name, "arguments": fields.get("function_call.arguments")}]}


def _number(text: str) -> int | None:
    return int(text) if 0 < len(text) <= _MAX_DIGITS and text.isascii() and text.isdigit() else None
