"""Tool calls: the span `tool` with its children, the records `tool_decision` and `tool_result`, and what recorded
bodies say are one call.

A call that fails validation (unknown tool or skill, bad arguments) leaves no span and no record: its turn is silent,
and only recorded bodies tell of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extractors import attributes as attrs
from extractors.anchors import Anchor
from extractors.claude_code.bodies import Bodies
from extractors.claude_code.parts import Parts, parts_of_calls
from extractors.claude_code.requests import Request, Requests
from extractors.claude_code.telemetry import Telemetry, content
from extractors.spans import Attributes, Span, StatusCode, Value
from extractors.trajectory import ROOT_AGENT, CallOutcome, ToolCall
from extractors.tree import record_anchor, span_anchor

NOT_RECORDED: Final = "(not recorded)"
"""Name of a tool when only the answer to its call was recorded."""

_MS_NS: Final = 1_000_000
_SHORTENED: Final = re.compile(r"…\[\d+ chars\]\Z")
_INPUT_MARK: Final = re.compile(r"\A\[TOOL INPUT: [^\]\n]*\]\n")
_REFUSED_SKILL: Final = re.compile(
    r"(?:Unknown skill: (?P<unknown>[^\n]+)"
    r"|Skill (?P<named>\S+) (?:cannot be used with Skill tool|is not in this session's skills))"
)
_UNKNOWN_TOOL: Final = re.compile(r"(?:Error: )?No such tool available: (\S+)")

_SPAN_ARGUMENTS: Final = {
    "full_command": "command",
    "file_path": "file_path",
    "skill_name": "skill",
    "subagent_type": "subagent_type",
}
"""Attribute → the tool's own argument. Records have more of them, in `tool_parameters`."""

_PARAMETERS: Final = {**_SPAN_ARGUMENTS, "description": "description", "timeout": "timeout"}


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, the request that asked for it (where that is known), its execution's span, and its place in
    time, which is known even where the call's own times are not."""

    call: ToolCall
    request_id: str | None
    execution: Span | None
    order_ns: int
    rejected_by: str | None = None


def calls(found: Telemetry, texts: Bodies, requests: Requests) -> tuple[Call, ...]:
    """Every call once, in time order."""
    made = [_call(found, parts, requests) for parts in parts_of_calls(found, texts)]
    return tuple(sorted(made, key=lambda call: (call.order_ns, call.call.call_id or "")))


def silent_turns(made: Sequence[Call], requests: Requests, found: Telemetry) -> tuple[Request, ...]:
    """Requests that asked for tools, though no call of theirs is known: all their calls failed validation.

    The last request of a turn is left out unless its prompt was finished: its calls may just not have arrived.
    """
    answered = {call.request_id for call in made}
    return tuple(
        request
        for request in requests.all
        if request.stop_reason == "tool_use" and request.id is not None and request.id not in answered
        if requests.went_on(request) or (request.turn >= 0 and found.turns[request.turn].ended)
    )


def _call(found: Telemetry, parts: Parts, requests: Requests) -> Call:
    facts = parts.facts
    outcome = _outcome(parts, facts)
    asked = _asked_by(found, parts, requests)
    start_ns, end_ns = _times(parts, facts)
    arguments, arguments_text = _arguments(parts, facts)
    name = _name(parts, facts)
    if name == NOT_RECORDED and parts.answer is not None:
        name, arguments = _told_by_error(parts.answer.text)
    answer = parts.answer.text if parts.answer is not None else None
    went_well = outcome is CallOutcome.OK
    call = ToolCall(
        name=name,
        anchor=_anchor(parts, asked),
        agent=_agent(found, parts, asked),
        outcome=outcome,
        call_id=parts.call_id,
        arguments=arguments,
        arguments_text=arguments_text,
        result=(_output(parts, name) if answer is None else answer) if went_well else None,
        error=None if went_well or outcome is CallOutcome.UNANSWERED else answer or _error(facts),
        start_ns=start_ns,
        end_ns=end_ns,
        turn=_turn(found, parts, asked),
    )
    rejected_by = attrs.text(facts, "source") or "?" if _rejected(parts) else None
    asked_ns = asked.end_ns if asked is not None else 0
    request_id = attrs.text(facts, "request_id") or (asked.id if asked is not None else None)
    return Call(call, request_id, parts.execution, start_ns or end_ns or asked_ns, rejected_by)


def _rejected(parts: Parts) -> bool:
    deciders = [part for part in (parts.decision, parts.permission) if part is not None]
    return any(attrs.text(part.attributes, "decision") == "reject" for part in deciders)


def _outcome(parts: Parts, facts: Attributes) -> CallOutcome:
    if _rejected(parts):
        return CallOutcome.REFUSED
    success = attrs.boolean(facts, "success")
    if success is not None:
        return CallOutcome.OK if success else CallOutcome.FAILED
    if parts.execution is not None and parts.execution.end_ns:
        return CallOutcome.FAILED if parts.execution.status is StatusCode.ERROR else CallOutcome.OK
    if parts.answer is None:
        return CallOutcome.UNANSWERED
    ran = parts.span or parts.decision
    return CallOutcome.OK if not parts.answer.failed else CallOutcome.FAILED if ran else CallOutcome.REFUSED


def _name(parts: Parts, facts: Attributes) -> str:
    """MCP tools are `mcp__server__tool` to the model; records call them all `mcp_tool`."""
    name = (attrs.text(parts.span.attributes, "tool_name") if parts.span else None) or (
        parts.use.name if parts.use else attrs.text(facts, "tool_name")
    )
    if name == "mcp_tool":
        parameters = attrs.json_object(facts, "tool_parameters") or {}
        server, tool = attrs.text(parameters, "mcp_server_name"), attrs.text(parameters, "mcp_tool_name")
        return f"mcp__{server}__{tool}" if server and tool else name
    return name or NOT_RECORDED


def _told_by_error(error: str) -> tuple[str, Mapping[str, Value] | None]:
    """Tool and arguments as far as the wording of an error tells them."""
    skill = _REFUSED_SKILL.match(error)
    if skill is not None:
        return "Skill", {"skill": (skill["unknown"] or skill["named"]).strip()}
    tool = _UNKNOWN_TOOL.match(error)
    return (tool[1] if tool is not None else NOT_RECORDED), None


def _arguments(parts: Parts, facts: Attributes) -> tuple[Mapping[str, Value] | None, str | None]:
    """The arguments, and their text where it was cut beyond reading. Of the latter what attributes name is kept."""
    if parts.use is not None and parts.use.arguments is not None:
        return parts.use.arguments, None
    known = _named_arguments(facts)
    text = _INPUT_MARK.sub("", attrs.text(facts, "tool_input") or "") or None
    whole = attrs.as_object(text)
    if whole is None:
        return known or None, text
    if attrs.text(facts, "tool_name") == "Write" and (written := _output_text(parts, "content")) is not None:
        known["content"] = written
    longer = {key: known[key] for key, value in whole.items() if key in known and _is_shortened(value)}
    return {**whole, **longer}, None


def _named_arguments(facts: Attributes) -> dict[str, Value]:
    parameters = attrs.json_object(facts, "tool_parameters") or {}
    found = {argument: parameters[key] for key, argument in _PARAMETERS.items() if key in parameters}
    found |= {argument: facts[key] for key, argument in _SPAN_ARGUMENTS.items() if key in facts}
    return found


def _is_shortened(value: Value) -> bool:
    return isinstance(value, str) and _SHORTENED.search(value) is not None


def _output(parts: Parts, name: str) -> str | None:
    """From the event `tool.output`; what it holds for Write is the text written, which is no result."""
    keys = ("output", "diff") if name == "Write" else ("output", "content", "diff")
    found = (_output_text(parts, key) for key in keys)
    return next((text for text in found if text is not None), None)


def _output_text(parts: Parts, key: str) -> str | None:
    events = parts.span.events if parts.span is not None else ()
    return next((content(event.attributes, key) for event in events if event.name == "tool.output"), None)


def _error(facts: Attributes) -> str | None:
    return content(facts, "error") or attrs.text(facts, "error_class") or attrs.text(facts, "error_type")


def _times(parts: Parts, facts: Attributes) -> tuple[int | None, int | None]:
    """Start and end; without the span, from the records. The wait for a permission is part of the call."""
    if parts.span is not None:
        return parts.span.start_ns, parts.span.end_ns
    decided_ns = parts.decision.time_ns if parts.decision is not None else None
    if parts.result is None:
        return decided_ns, decided_ns if _rejected(parts) else None
    took_ns = (attrs.integer(facts, "duration_ms") or 0) * _MS_NS
    ended_ns = parts.result.time_ns
    return (ended_ns - took_ns if decided_ns is None else decided_ns), ended_ns


def _asked_by(found: Telemetry, parts: Parts, requests: Requests) -> Request | None:
    """The request that asked for the call: as named, else the one before its answer, else the last that had begun
    (tools start while the model's answer still streams in)."""
    named = attrs.text(parts.facts, "request_id") or (
        attrs.text(parts.use.record.attributes, "request_id") if parts.use else None
    )
    if named is not None:
        return requests.with_id(named)
    if parts.span is None and parts.decision is None and parts.result is None:
        if parts.answer is None:
            return None
        after = requests.with_id(parts.answer.request_id)
        return requests.last(after.agent, after.start_ns) if after is not None else None
    start_ns, end_ns = _times(parts, parts.facts)
    return requests.last(_agent(found, parts, None), (start_ns or end_ns or 0) + 1)


def _agent(found: Telemetry, parts: Parts, asked: Request | None) -> str:
    if parts.span is not None:
        return found.agent_of_span(parts.span)
    record = parts.decision or parts.result
    if record is not None:
        return found.agent_of_record(record)
    return asked.agent if asked is not None else ROOT_AGENT


def _turn(found: Telemetry, parts: Parts, asked: Request | None) -> int:
    if parts.span is not None:
        return found.turn_of_span(parts.span)
    record = parts.decision or parts.result
    if record is not None:
        return found.turn_of_record(record)
    return asked.turn if asked is not None else -1


def _anchor(parts: Parts, asked: Request | None) -> Anchor:
    if parts.span is not None:
        return span_anchor(parts.span)
    record = parts.decision or parts.result
    if record is not None:
        return record_anchor(record)
    if parts.execution is not None:
        return span_anchor(parts.execution)
    if asked is not None:
        return asked.anchor
    return record_anchor(parts.use.record) if parts.use is not None else Anchor("record", None, None)
