"""What Traceloop's `traceloop.entity.input` and `.output` hold, made into messages, arguments and results.

LangChain's callbacks wrap values: `{"inputs", "input_str", "tags", ...}`, `{"outputs"}`, `{"output"}`; messages in them
are LangChain's. Decorated functions have `{"args", "kwargs"}` as input and their return value as output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from extractors import attributes as at
from extractors.conventions.openinference_spans import assistant_message, python_object, user_message
from extractors.langchain_messages import messages_in, tool_message
from extractors.spans import Value

_FUNCTION: Final = frozenset({"args", "kwargs"})
_MESSAGES: Final = frozenset({"messages", "role", "type", "lc"})
"""Keys of a state with messages, and of one message."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What a tool gave back; None where not recorded or not said."""

    value: Value = None
    call_id: str | None = None
    failed: bool | None = None


def arguments_of(value: Value) -> Value:
    """A tool's arguments: an object where there is one, else the text that was recorded."""
    body = at.as_object(value)
    if body is None:
        return (python_object(value) or value) if isinstance(value, str) else value
    if "input_str" in body or "inputs" in body:
        inputs = at.as_mapping(body.get("inputs"))
        return inputs if inputs is not None else arguments_of(body.get("input_str"))
    if body.keys() <= _FUNCTION and not body.get("args"):
        return body.get("kwargs") or {}
    return body


def returned(value: Value) -> Returned:
    """A tool's result, out of its wrappings."""
    body = at.as_object(value)
    inner = body["output"] if body is not None and "output" in body else value
    answer = tool_message(inner)
    if answer is not None:
        return Returned(answer.text, answer.call_id, answer.failed)
    parsed = at.parse_json(inner) if isinstance(inner, str) else None
    return Returned(parsed if isinstance(parsed, str) else inner)


def asked(value: Value) -> list[Value] | None:
    """What an agent was asked, as messages; None when its input holds neither messages nor one text."""
    body = at.as_object(value)
    if body is None:
        return None
    inputs = body.get("inputs") if "inputs" in body else _argument(body)
    return _told(inputs, user_message)


def answered(value: Value) -> list[Value] | None:
    """What an agent said and did in this turn, as messages; None when its output tells neither messages nor a text.

    A graph's state repeats the turns before.
    """
    body = at.as_object(value)
    if body is not None and "outputs" in body:
        output = body["outputs"]
    else:
        output = at.parse_json(value) if isinstance(value, str) else value
    told = _told(output, assistant_message)
    if told is None:
        return None
    last = max((n for n, message in enumerate(told) if _role(message) == "user"), default=-1)
    return told[last + 1 :]


def _told(value: Value, message: Callable[[str], Value]) -> list[Value] | None:
    """The messages of a state, or the one text that there is as a message."""
    body = at.as_mapping(value)
    if at.is_list(value) or (body is not None and not body.keys().isdisjoint(_MESSAGES)):
        return messages_in(value)
    texts = [text for text in body.values() if isinstance(text, str)] if body is not None else [value]
    only = texts[0] if len(texts) == 1 else None
    return [message(only)] if isinstance(only, str) and only else None


def _argument(body: Mapping[str, Value]) -> Value:
    """The one argument of a decorated function."""
    positional, named = at.as_list(body.get("args")) or (), at.as_mapping(body.get("kwargs")) or {}
    given = [*positional, *named.values()]
    return given[0] if len(given) == 1 else None


def _role(message: Value) -> str | None:
    return at.text(at.as_mapping(message) or {}, "role")
