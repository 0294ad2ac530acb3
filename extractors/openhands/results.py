"""What a tool of OpenHands answered, and how the call ended.

An observation has text and `is_error`. What stands for a call that never ran, an invalid or a rejected one, is the
message that the model gets instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from extractors import attributes as at
from extractors.skill_refusals import is_refusal
from extractors.spans import Attributes, Value
from extractors.truncated import salvaged

OUTPUT: Final = "lmnr.span.output"

_ERROR_HEAD: Final = "[An error occurred during execution.]"
_REJECTED: Final = ("Action rejected:", "Error validating tool ", "Tool call cancelled ", "Tool '")
_FAILED: Final = ("Error executing tool ",)


class Ending(StrEnum):
    """How a call ended, as far as its result tells."""

    ANSWERED = "answered"
    FAILED = "failed"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Result:
    """The text of a result, None when it is not recorded or cannot be read, and how the call ended."""

    text: str | None
    ending: Ending


def text_in(content: Value) -> str | None:
    """The text of a result's content, whose parts say more than their text; images are left out."""
    parts = at.as_list(content)
    if parts is None:
        return content if isinstance(content, str) else None
    bodies = (at.as_mapping(part) or {} for part in parts)
    return "\n".join(text for body in bodies if isinstance(text := body.get("text"), str))


def recorded_result(attributes: Attributes, *, loads_skill: bool) -> Result:
    """What the span of a tool tells. `loads_skill`: the tool is made for that."""
    output = at.json_object(attributes, OUTPUT)
    if output is None:
        return _cut_result(at.text(attributes, OUTPUT) or "", loads_skill=loads_skill)
    text = text_in(output.get("content"))
    if output.get("role") == "tool":
        return Result(text, Ending.REJECTED)
    return Result(text, Ending.FAILED if output.get("is_error") is True else Ending.ANSWERED)


def _cut_result(recorded: str, *, loads_skill: bool) -> Result:
    """A refusal can be told from the beginning of an output that was cut; anything else is not recorded. What else a
    command prints may well begin with `error:` and end well."""
    output = at.as_mapping(salvaged(recorded))
    text = text_in(output.get("content")) if output is not None else None
    if text is not None and was_rejected(text):
        return Result(text, Ending.REJECTED)
    if text is not None and loads_skill and is_refusal(text):
        return Result(text, Ending.FAILED)
    return Result(None, Ending.UNKNOWN)


def ending_of_message(text: str) -> Result:
    """What a tool message in the history tells; the head that marks an error is no part of the result."""
    if text.startswith(_ERROR_HEAD):
        return Result(text.removeprefix(_ERROR_HEAD).lstrip("\n"), Ending.FAILED)
    if text.startswith(_REJECTED):
        return Result(text, Ending.REJECTED)
    return Result(text, Ending.FAILED if text.startswith(_FAILED) else Ending.ANSWERED)


def was_rejected(text: str | None) -> bool:
    """Whether this is what the model is told of a call that never ran."""
    return text is not None and text.startswith(_REJECTED)
