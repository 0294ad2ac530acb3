"""Attribute names, and typed readers of raw attribute values.

Every reader takes attributes and a key and never raises: an absent key, a value of another type and unreadable
JSON all give None, "not recorded". Whoever must keep the damaged original asks for it with `as_text`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

import orjson
from typing_extensions import TypeIs

from extractors.repetition import read_once
from extractors.spans import Attributes, LogRecord, Span, Value

SESSION_ID: Final = "session.id"
SERVICE_NAME: Final = "service.name"
SERVICE_VERSION: Final = "service.version"
ERROR_TYPE: Final = "error.type"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
EVENT_NAME: Final = "event.name"

CONVERSATION_ID: Final = "gen_ai.conversation.id"
OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
SYSTEM: Final = "gen_ai.system"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_ID: Final = "gen_ai.agent.id"
AGENT_VERSION: Final = "gen_ai.agent.version"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
PROMPT_TOKENS: Final = "gen_ai.usage.prompt_tokens"
COMPLETION_TOKENS: Final = "gen_ai.usage.completion_tokens"

SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"

SKILL_NAME: Final = "gen_ai.skill.name"
SKILL_DESCRIPTION: Final = "gen_ai.skill.description"
SKILL_SOURCE_URI: Final = "gen_ai.skill.source.uri"
SKILL_RESOURCE_NAME: Final = "gen_ai.skill.resource.name"

MAX_DIGITS: Final = 19
"""Longest decimal text taken for a 64-bit integer."""


_ESCAPED_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
"""An escape in JSON: a pair of halves that are one character, a half alone (the group), or any other."""

_ARRAYS: Final = (list, tuple)
_NO_ARRAYS: Final = (str, dict, bytes)
_NO_OBJECTS: Final = (str, list, tuple, int, float, bytes)


def raw(attributes: Attributes, key: str) -> Value:
    """The value as received; None when absent."""
    return attributes.get(key)


def text(attributes: Attributes, key: str) -> str | None:
    """A string, perhaps empty; None for any other type."""
    value = attributes.get(key)
    return value if isinstance(value, str) else None


def texts(attributes: Attributes, key: str) -> tuple[str, ...] | None:
    """The strings of a list; a lone string counts as a list of one. None for any other type."""
    value = attributes.get(key)
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if is_list(value) else None


def integer(attributes: Attributes, key: str) -> int | None:
    """An int, a float without a fraction, or decimal digits as text (some harnesses write numbers as strings)."""
    value = attributes.get(key)
    if value is None or type(value) is int:
        return value  # nearly always
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str() if 0 < len(value) <= MAX_DIGITS and value.isascii() and value.removeprefix("-").isdigit():
            return int(value)
    return None


def number(attributes: Attributes, key: str) -> float | None:
    """A finite number, also as text."""
    value = attributes.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        result = float(value)
    except (ValueError, OverflowError):
        return None
    return result if math.isfinite(result) else None


def boolean(attributes: Attributes, key: str) -> bool | None:
    """A bool, or the words true and false in any case."""
    value = attributes.get(key)
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def json_value(attributes: Attributes, key: str) -> Value:
    """A structured value as it is, or the value of its JSON text; None when unreadable, absent or JSON's null."""
    value = attributes.get(key)
    return parse_json(value) if isinstance(value, str) else value


def json_object(attributes: Attributes, key: str) -> Mapping[str, Value] | None:
    """An object, given structured or as JSON text; None for anything else."""
    return as_mapping(json_value(attributes, key))


def json_list(attributes: Attributes, key: str) -> Sequence[Value] | None:
    """An array, given structured or as JSON text; None for anything else."""
    return as_list(json_value(attributes, key))


def as_text(value: Value) -> str | None:
    """A value as a person would read it: text as it is, anything else as compact JSON; None stays None."""
    return value if value is None or isinstance(value, str) else json_text(value)


def as_mapping(value: Value) -> Mapping[str, Value] | None:
    """The value if it is an object."""
    if isinstance(value, dict):  # the test for a Mapping is several times slower
        return value
    return None if value is None or isinstance(value, _NO_OBJECTS) or not isinstance(value, Mapping) else value


def as_list(value: Value) -> Sequence[Value] | None:
    """The value if it is an array (text and bytes are not)."""
    return value if is_list(value) else None


def is_list(value: Value) -> TypeIs[Sequence[Value]]:
    """Whether the value is an array."""
    if isinstance(value, _ARRAYS):
        return True
    return not (value is None or isinstance(value, _NO_ARRAYS)) and isinstance(value, Sequence)


def as_object(value: Value) -> Mapping[str, Value] | None:
    """An object, given structured or as JSON text: tool arguments come both ways."""
    return as_mapping(parse_json(value) if isinstance(value, str) else value)


@read_once
def parse_json(document: str) -> Value:
    """The value of a JSON text; None when it is cut, too deep or no JSON. Python's NaN and Infinity become text, half
    characters U+FFFD."""
    return parse_afresh(document)


def parse_afresh(document: str) -> Value:
    """`parse_json` of what is met but once, or remembered in another form: not worth remembering."""
    try:
        value: Value = orjson.loads(document)
    except ValueError:
        return _parse_lenient_json(document)
    return value


def _parse_lenient_json(document: str) -> Value:
    """JSON as the writers in Python and JavaScript make it: the former have constants of their own, the latter escape
    the half of an emoji that was left when a text was cut."""
    lacks_constants = "NaN" not in document and "Infinity" not in document
    if lacks_constants and _ESCAPED_HALF.search(document) is None:
        return None
    try:
        value: Value = json.loads(_ESCAPE.sub(_whole_character, document), parse_constant=str)
    except (ValueError, RecursionError):
        return None
    return value


def _whole_character(escape: re.Match[str]) -> str:
    return "\\ufffd" if escape[1] else escape[0]


def json_text(value: Value) -> str:
    """Compact JSON with sorted keys: equal values give equal text, so that it may be hashed."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        return _tolerant_json_text(value)


def _tolerant_json_text(value: Value) -> str:
    """For what JSON cannot hold: bytes as hex, huge integers, lone surrogates, nesting past orjson's limit."""
    try:
        return json.dumps(value, default=_plain, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return "(value that cannot be written as JSON)"


def _plain(value: object) -> object:
    match value:
        case bytes():
            return value.hex()
        case Mapping():
            return dict(value)
        case Sequence():
            return list(value)
    raise TypeError(type(value).__name__)


def service_name(item: Span | LogRecord) -> str | None:
    """`service.name` of the process that sent this."""
    return text(item.resource.attributes, SERVICE_NAME)
