"""Messages as LangChain serialises them, made into messages of the GenAI convention.

Three shapes are in use: `{"type": "ai", "data": {...}}`, `{"lc": 1, "type": "constructor", "id": [..., "AIMessage"],
"kwargs": {...}}`, and what people pass in: `{"role", "content"}`, a pair of role and text, or text alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extractors import attributes as at
from extractors.messages import result_text
from extractors.spans import Value

_ROLES: Final = {"human": "user", "ai": "assistant", "aimessagechunk": "assistant", "function": "tool"}
_MAX_NESTING: Final = 3


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """A tool's answer to the model. `failed` is None when the message does not say."""

    call_id: str | None
    text: str | None
    failed: bool | None


def messages_in(value: Value) -> list[Value] | None:
    """The messages of a state `{"messages": [...]}`, of a list, or of one message; None when it is none of these.

    `value` may be JSON text. A batch, a list of one list of messages, counts as that list.
    """
    found = _items(value)
    if found is None:
        return None
    told: list[Value] = [message for item in found if (message := _message(item)) is not None]
    return told or None


def tool_message(value: Value) -> ToolMessage | None:
    """The tool message that a tool's output is, or, for a command to the graph, the last that it adds; else None."""
    body = at.as_object(value)
    if body is None:
        return None
    for item in reversed(_added(body)):
        kind, fields = _opened(item)
        if kind in {"tool", "function"}:
            return _tool_message(fields)
    return None


def _added(body: Mapping[str, Value]) -> Sequence[Value]:
    update = at.as_mapping(body.get("update"))
    found = at.as_list((update if update is not None else body).get("messages"))
    return found if found is not None else (body,)


def _tool_message(fields: Mapping[str, Value]) -> ToolMessage:
    status = fields.get("status")
    return ToolMessage(
        at.text(fields, "tool_call_id"),
        result_text(fields.get("content")),
        status == "error" if isinstance(status, str) else None,
    )


def _items(value: Value) -> Sequence[Value] | None:
    """The serialised messages, unwrapped from state and batch."""
    if isinstance(value, str):
        value = at.parse_json(value)
    for _ in range(_MAX_NESTING):
        body = at.as_mapping(value)
        if body is not None:
            if "messages" not in body:
                return (body,)
            value = body["messages"]
        items = at.as_list(value)
        if items is None:
            return None
        if len(items) == 1 and at.is_list(items[0]) and not _is_pair(items[0]):
            value = items[0]
            continue
        return (items,) if _is_pair(items) else items
    return None


def _is_pair(items: Sequence[Value]) -> bool:
    return len(items) == 2 and all(isinstance(item, str) for item in items)


def _message(item: Value) -> Value:
    """One message in GenAI terms; None for what is none."""
    if isinstance(item, str):
        return {"role": "user", "content": item}
    pair = at.as_list(item)
    if pair is not None:
        return {"role": _role(str(pair[0])), "content": pair[1]} if _is_pair(pair) else None
    kind, fields = _opened(item)
    if kind is None or not {"content", "tool_calls"} & fields.keys():
        return None
    role = _role(kind)
    if role == "tool":
        answer = _tool_message(fields)
        return {"role": role, "tool_call_id": answer.call_id or "", "content": answer.text}
    return {"role": role, "content": fields.get("content"), "tool_calls": _calls(fields.get("tool_calls"))}


def _opened(item: Value) -> tuple[str | None, Mapping[str, Value]]:
    """What kind of message it is, and its fields."""
    body = at.as_mapping(item) or {}
    kwargs = at.as_mapping(body.get("kwargs"))
    if kwargs is not None:
        path = at.as_list(body.get("id")) or ()
        named = path[-1] if path and isinstance(path[-1], str) else ""
        return named.removesuffix("Chunk").removesuffix("Message").lower() or None, kwargs
    data = at.as_mapping(body.get("data"))
    kind = body.get("role") or body.get("type")
    return (kind if isinstance(kind, str) else None), (data if data is not None else body)


def _role(kind: str) -> str:
    return _ROLES.get(kind.lower(), kind.lower())


def _calls(value: Value) -> list[Value]:
    """LangChain's calls are `{name, args, id}`."""
    calls = (at.as_mapping(item) or {} for item in at.as_list(value) or ())
    return [{"id": call.get("id"), "name": call.get("name"), "arguments": call.get("args")} for call in calls]
