"""Tool calls: what came of each, from everything that was recorded of it.

A call that was refused before it ran has no span of its own, and its record has an error and no decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from extractors import attributes as attrs
from extractors.anchors import Anchor
from extractors.gemini_cli.content import answer_text
from extractors.gemini_cli.parts import Parts, parts_of_calls
from extractors.gemini_cli.requests import Request
from extractors.gemini_cli.telemetry import Telemetry
from extractors.spans import Value
from extractors.trajectory import ROOT_AGENT, CallOutcome, ToolCall
from extractors.tree import record_anchor, span_anchor

_MS_NS: Final = 1_000_000
_ACCEPTED: Final = frozenset({"accept", "auto_accept", "modify"})
_NEVER_RAN: Final = frozenset({"policy_violation", "tool_not_registered"})
_EXIT_CODE: Final = "Exit Code: "


def calls(found: Telemetry, made: Sequence[Request]) -> tuple[ToolCall, ...]:
    """Every call once, in time order."""
    return tuple(_call(found, parts) for parts in parts_of_calls(found, made))


def _call(found: Telemetry, parts: Parts) -> ToolCall:
    response = attrs.as_mapping((parts.finished or {}).get("response")) or {}
    result, error = _answer(parts, response)
    error = error or _recorded_error(parts)
    outcome = _outcome(parts, result, response)
    if outcome is CallOutcome.FAILED and error is None:
        error = result
    arguments = attrs.as_object(parts.arguments)
    start_ns, end_ns = _times(parts)
    return ToolCall(
        name=parts.name,
        anchor=_anchor(parts),
        agent=_agent(found, parts),
        outcome=outcome,
        call_id=parts.call_id,
        arguments=arguments,
        arguments_text=attrs.as_text(parts.arguments) if arguments is None else None,
        result=result if outcome is CallOutcome.OK else None,
        error=error if outcome in {CallOutcome.FAILED, CallOutcome.REFUSED} else None,
        start_ns=start_ns,
        end_ns=end_ns,
        turn=found.turn_at(parts.order_ns),
    )


def _answer(parts: Parts, response: Mapping[str, Value]) -> tuple[str | None, str | None]:
    """Result and error: as a later request told the model, which is whole; else as the span has it."""
    if parts.answered:
        return answer_text(parts.answer)
    for piece in attrs.as_list(response.get("responseParts")) or ():
        body = attrs.as_mapping((attrs.as_mapping(piece) or {}).get("functionResponse"))
        if body is not None and "response" in body:
            return answer_text(body["response"])
    return None, None


def _recorded_error(parts: Parts) -> str | None:
    if parts.record is None:
        return None
    told = (attrs.text(parts.record.attributes, key) for key in ("error", "error.message", "error_type", "error.type"))
    return next((text for text in told if text), None)


def _outcome(parts: Parts, result: str | None, response: Mapping[str, Value]) -> CallOutcome:
    """A call that never ran was refused: the record then has no decision, or one against it, and there is no span."""
    failed = _failed(parts)
    if failed is None:
        # Only the answer in a later request tells of it, or nothing at all.
        if not parts.answered:
            return CallOutcome.UNANSWERED
        failed = answer_text(parts.answer)[1] is not None
    if failed:
        return CallOutcome.REFUSED if _never_ran(parts, response) else CallOutcome.FAILED
    return CallOutcome.FAILED if _exit_failed(parts, result, response) else CallOutcome.OK


def _failed(parts: Parts) -> bool | None:
    success = attrs.boolean(parts.record.attributes, "success") if parts.record is not None else None
    if success is not None:
        return not success
    status = attrs.text(parts.finished or {}, "status")
    if status is not None:
        return status != "success"
    # Its own span ends only when the call has; without content there is no more to learn from it.
    return None if parts.span is None or parts.answered else False


def _never_ran(parts: Parts, response: Mapping[str, Value]) -> bool:
    attributes = parts.record.attributes if parts.record is not None else {}
    if attrs.text(attributes, "error_type") in _NEVER_RAN or attrs.text(response, "errorType") in _NEVER_RAN:
        return True
    if (parts.finished or {}).get("status") == "cancelled" or attrs.text(attributes, "decision") == "reject":
        return True
    if parts.record is not None:
        return attrs.text(attributes, "decision") not in _ACCEPTED
    return parts.batch is not None and parts.span is None and "outcome" not in (parts.finished or {})


def _exit_failed(parts: Parts, result: str | None, response: Mapping[str, Value]) -> bool:
    """Whether a command ran and failed, which the CLI counts as success."""
    told = attrs.json_object(parts.record.attributes, "metadata") if parts.record is not None else None
    told = told or attrs.as_mapping(response.get("data")) or {}
    if "exitCode" in told or "isError" in told:
        return told.get("isError") is True or attrs.integer(told, "exitCode") not in {None, 0}
    if parts.name != "run_shell_command" or result is None:
        return False
    # The CLI's own lines come after the command's output.
    last = [line for line in result.splitlines()[-4:] if line.startswith(_EXIT_CODE)]
    return bool(last) and last[-1].removeprefix(_EXIT_CODE).strip() not in {"0", "(none)"}


def _times(parts: Parts) -> tuple[int | None, int | None]:
    if parts.span is not None:
        return parts.span.start_ns, parts.span.end_ns
    if parts.record is not None:
        took_ns = (attrs.integer(parts.record.attributes, "duration_ms") or 0) * _MS_NS
        return parts.record.time_ns - took_ns, parts.record.time_ns
    return (parts.batch.start_ns, parts.batch.end_ns) if parts.batch is not None else (None, None)


def _agent(found: Telemetry, parts: Parts) -> str:
    if parts.asked is not None and parts.asked.agent != ROOT_AGENT:
        return parts.asked.agent
    span = parts.span or parts.batch
    if span is not None and (agent := found.agent_of_span(span)) != ROOT_AGENT:
        return agent
    return found.agent_of_record(parts.record) if parts.record is not None else ROOT_AGENT


def _anchor(parts: Parts) -> Anchor:
    span = parts.span or parts.batch
    if span is not None:
        return span_anchor(span)
    if parts.record is not None:
        return record_anchor(parts.record)
    return parts.asked.anchor if parts.asked is not None else Anchor("record", None, None)
