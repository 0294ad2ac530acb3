"""Content of Gemini CLI's telemetry: the Gemini API's own messages, told whole in records and cut in spans."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extractors import attributes as attrs
from extractors.messages import USER, Part, RequestedCall, ToolResult, part
from extractors.spans import Attributes, Value
from extractors.truncated import salvaged

_CUT: Final = re.compile(r"\.\.\.\[TRUNCATED: original length \d{1,19}\]\Z")
_CONTEXT: Final = "<session_context>"
"""How the CLI's own text before the first prompt begins."""


@dataclass(frozen=True, slots=True)
class Content:
    """One message. `parts` leave out thoughts."""

    role: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its text. A streamed answer comes in pieces that belong together without anything between."""
        return "".join(piece for piece in self.parts if isinstance(piece, str))

    @property
    def calls(self) -> tuple[RequestedCall, ...]:
        """The tool calls that it asks for."""
        return tuple(piece for piece in self.parts if isinstance(piece, RequestedCall))


def value_of(attributes: Attributes, *keys: str) -> Value:
    """The JSON value of the first of these that holds any; of one that was cut, what stands before the cut."""
    return next((value for key in keys if (value := _value(attributes.get(key))) is not None), None)


def was_cut(text: str) -> bool:
    """Whether the CLI shortened this text."""
    return _CUT.search(text) is not None


def _value(recorded: Value) -> Value:
    if not isinstance(recorded, str) or not recorded:
        return recorded
    value = attrs.parse_json(recorded)
    if value is not None or recorded.strip() == "null":
        return value
    cut = _CUT.search(recorded)
    return salvaged(recorded) if cut is None else salvaged(recorded[: cut.start()], cut[0])


def exchange(value: Value) -> tuple[Content, ...] | None:
    """The messages of a request (a list of contents) or of an answer (contents, or responses with candidates, one per
    piece of a stream); None when there are none."""
    if attrs.as_mapping(value) is not None:
        value = [value]
    items = attrs.as_list(value)
    if items is None:
        return None
    return tuple(_content(body) for item in items if (body := attrs.as_mapping(item)) is not None)


def _content(body: Mapping[str, Value]) -> Content:
    for candidate in attrs.as_list(body.get("candidates")) or ():
        body = attrs.as_mapping((attrs.as_mapping(candidate) or {}).get("content")) or {}
        break
    parts = (part(piece) for piece in attrs.as_list(body.get("parts")) or ())
    role = body.get("role")
    return Content(role if isinstance(role, str) else USER, tuple(piece for piece in parts if piece is not None))


def prompts(contents: Sequence[Content]) -> list[str]:
    """What the person said in a request's history, in order."""
    said = (_prompt(content) for content in contents if content.role == USER)
    return [text for text in said if text]


def _prompt(content: Content) -> str:
    if any(isinstance(piece, ToolResult) for piece in content.parts):
        return ""
    return "\n".join(piece for piece in content.parts if isinstance(piece, str) and not piece.startswith(_CONTEXT))


def results(value: Value) -> Iterator[tuple[str, str, Value]]:
    """Id, tool and response of every tool's answer in a list of contents."""
    for item in attrs.as_list(value) or ():
        for piece in attrs.as_list((attrs.as_mapping(item) or {}).get("parts")) or ():
            answer = attrs.as_mapping((attrs.as_mapping(piece) or {}).get("functionResponse"))
            if answer is not None:
                call_id, name = answer.get("id"), answer.get("name")
                if isinstance(call_id, str) and isinstance(name, str):
                    yield plain_id(call_id, name), name, answer.get("response")


def plain_id(call_id: str, tool: str) -> str:
    """A call's id as histories have it: everywhere else the tool's name stands before it once more."""
    return call_id.removeprefix(f"{tool}__")


def answer_text(response: Value) -> tuple[str | None, str | None]:
    """Result and error in a tool's response: its `output` or its `error`, else the whole as JSON."""
    body = attrs.as_mapping(response)
    if body is None:
        return attrs.as_text(response), None
    error, output = body.get("error"), body.get("output")
    if isinstance(error, str):
        return (output if isinstance(output, str) else None), error
    return (output if isinstance(output, str) else attrs.json_text(body) if body else None), None
