"""How a call ended, as far as only its result tells.

A span is marked as failed when the tool said so in ADK's own way: an exception, or a result with an `error`. What a
callback put in the place of a result, and results with a `status` of error, leave it unmarked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors.conventions.genai_spans import TOOL, operation
from extractors.skill_signals import payload, skill_argument
from extractors.spans import Session, Span, Value
from extractors.trajectory import CallOutcome, ToolCall
from extractors.tree import span_anchor

TOOL_TYPE: Final = "gen_ai.tool.type"
LOADER: Final = "LoadSkillTool"
RESPONSE_SOURCE: Final = "adk.experimental.response.source"
INSTEAD_OF_TOOL: Final = "before_tool_callback"
NAMES_SKILLS_SINCE: Final = (2, 13)
"""Version from which loading tools are known to name the skill on their span; perhaps earlier ones do as well."""

_FAILED: Final = frozenset({"error", "failed", "failure"})
_MESSAGES: Final = ("error_message", "error", "message", "detail")


def settle_in(session: Session) -> Callable[[ToolCall], ToolCall]:
    """A function that gives a call of this session its final outcome."""
    spans = {span_anchor(span).ref: span for span in session.spans if operation(span) == TOOL}
    return lambda call: _settled(call, spans.get(call.anchor.ref))


def _settled(call: ToolCall, span: Span | None) -> ToolCall:
    if skill_argument(call.name) is None:
        return _failed(call)
    if call.outcome is CallOutcome.FAILED and not _raised(span):
        return replace(call, outcome=CallOutcome.REFUSED)
    if call.outcome is CallOutcome.OK and span is not None and _never_ran(call, span):
        return replace(call, outcome=CallOutcome.REFUSED, error=_said(call.result))
    return call


def _raised(span: Span | None) -> bool:
    return span is not None and any(event.name == "exception" for event in span.events)


def _never_ran(call: ToolCall, span: Span) -> bool:
    """Whether a callback answered in the place of ADK's own loading tool. That names the skill on its span before
    all else, and what it returns has instructions."""
    if span.attributes.get(TOOL_TYPE) != LOADER or at.SKILL_NAME in span.attributes:
        return False
    if span.attributes.get(RESPONSE_SOURCE) == INSTEAD_OF_TOOL or _version(span) >= NAMES_SKILLS_SINCE:
        return True
    answer = None if call.result is None else at.as_object(call.result)
    return answer is not None and "instructions" not in answer


def _version(span: Span) -> tuple[int, ...]:
    """ADK's version as numbers; () when it is not told."""
    return tuple(int(number) for number in span.scope.version.split(".")[:3] if number.isascii() and number.isdigit())


def _failed(call: ToolCall) -> ToolCall:
    """A call whose result is an object that says so is a failed one; its text is the error."""
    answer = at.as_object(call.result) if call.outcome is CallOutcome.OK and call.result is not None else None
    if answer is None or not _says_failed(answer):
        return call
    return replace(call, outcome=CallOutcome.FAILED, error=_said(call.result))


def _said(result: str | None) -> str | None:
    """What a result says to people: the message in it, else the text in it, else the result."""
    answer = at.as_object(result) if result is not None else None
    if result is None or answer is None:
        return result
    told = next((text for key in _MESSAGES if isinstance(text := answer.get(key), str) and text), None)
    return told if told is not None else payload(result, bare=result)


def _says_failed(answer: Mapping[str, Value]) -> bool:
    status, error = answer.get("status"), answer.get("error")
    return (isinstance(status, str) and status.lower() in _FAILED) or (isinstance(error, str) and bool(error.strip()))
