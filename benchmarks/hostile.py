"""Sessions made to be slow to read: real shapes, in which every text is a pattern's worst case. Pure.

Agents write most of what extraction matches against, so time must grow with the size of a text and not with its
square. Growth is told as an exponent: 1 is linear, 2 is quadratic.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from extractors.attributes import as_list, as_mapping
from extractors.spans import Attributes, LogRecord, Session, Span, SpanEvent, Value

LONGER = 8
"""How many times longer the second text is."""

PATTERNS: Mapping[str, Callable[[int], str]] = {
    "opened and never closed": lambda size: "<available_skills><skill><name>" * (size // 31),
    "closed and never opened": lambda size: "</description></skill></available_skills>" * (size // 41),
    "quotes": lambda size: "cat '" + "\"'" * (size // 2),
    "substitutions": lambda size: "cat $(" * (size // 6),
    "command after command": lambda size: "cd x && " * (size // 8) + "cat SKILL.md",
    "backslashes": lambda size: "cat " + "\\" * size,
    "here documents": lambda size: "cat <<A\n" * (size // 8),
    "paths": lambda size: "cat " + "a/" * (size // 2) + "SKILL.md",
    "blanks": lambda size: "Skill" + " " * size + "not found",
    "line breaks": lambda size: "\n" * size + "x",
    "rules": lambda size: "---\nname: a\n" * (size // 12),
    "list entries": lambda size: "### Available skills\n" + "- a: b (file: c\n" * (size // 15),
    "line numbers": lambda size: "".join(f"{number:6}\t---\n" for number in range(size // 11)),
    "brackets": lambda size: "[" * size,
    "refusals": lambda size: "Skill 'a' not found. " * (size // 21),
    "fences": lambda size: "```\n" * (size // 4),
    "one word": lambda size: "a" * size,
}
"""What it is → a text of about so many characters."""


def hostile(session: Session, text: str) -> Session:
    """The session with `text` at the end of every text in its content: attributes, events, bodies, nested in JSON or
    not. Names and ids, which are short and without blanks, stay."""
    return replace(
        session,
        spans=tuple(_span(span, text) for span in session.spans),
        records=tuple(_record(record, text) for record in session.records),
    )


def _span(span: Span, text: str) -> Span:
    events = tuple(SpanEvent(event.name, event.time_ns, _each(event.attributes, text)) for event in span.events)
    return replace(span, attributes=_each(span.attributes, text), events=events)


def _record(record: LogRecord, text: str) -> LogRecord:
    return replace(record, attributes=_each(record.attributes, text), body=_value(record.body, text))


def _each(attributes: Attributes, text: str) -> dict[str, Value]:
    return {key: _value(value, text) for key, value in attributes.items()}


def _value(value: Value, text: str) -> Value:
    if isinstance(value, str):
        return _text(value, text)
    if (fields := as_mapping(value)) is not None:
        return _each(fields, text)
    items = as_list(value)
    return value if items is None else [_value(item, text) for item in items]


def _text(value: str, text: str) -> str:
    if value.startswith(("{", "[")):
        try:
            return json.dumps(_value(json.loads(value), text))
        except ValueError:
            return value + text
    return value + text if " " in value or "\n" in value else value


def size_of(session: Session) -> int:
    """Characters of the texts in a session."""
    items: Sequence[Span | LogRecord] = (*session.spans, *session.records)
    events = [event.attributes for span in session.spans for event in span.events]
    bodies: list[Value] = [record.body for record in session.records]
    return sum(_size(value) for value in (*(item.attributes for item in items), *events, *bodies))


def _size(value: Value) -> int:
    if isinstance(value, str):
        return len(value)
    if (fields := as_mapping(value)) is not None:
        return sum(_size(item) for item in fields.values())
    return sum(_size(item) for item in as_list(value) or ())


def exponent(short: tuple[int, float], long: tuple[int, float]) -> float:
    """How time grows with size, from two pairs of (characters, seconds)."""
    return math.log(long[1] / short[1]) / math.log(long[0] / short[0])
