"""Tool calls of a GenAI session, each counted once.

One call may show as the model's request, as a request repeated in every later history, as an `execute_tool`
span, as that of an MCP client or server inside it, and as a result in later histories. The call id joins them;
without one, the span tree and the tool's name do.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from extractors import attributes as at
from extractors.conventions.genai_answers import enter_answers
from extractors.conventions.genai_content import CHOICE, DETAILS, ContentEvent, content_in, log_events
from extractors.conventions.genai_drafts import Draft, Execution, Ledger
from extractors.conventions.genai_failures import failure_text
from extractors.conventions.genai_spans import MCP_METHOD, Layout, Placed
from extractors.conventions.genai_turns import Turns, since_prompt
from extractors.messages import Message, RequestedCall, result_text
from extractors.skills import Skill
from extractors.spans import StatusCode, Value
from extractors.trajectory import CallOutcome, ToolCall
from extractors.tree import key_of

_T = TypeVar("_T")

TOOL_MESSAGE = "gen_ai.tool.message"
TOOL_STATUS = "gen_ai.tool.status"
STOPPED: Final = {"refused": CallOutcome.REFUSED, "unanswered": CallOutcome.UNANSWERED}
"""Tool statuses by which harness modules say how a call ended that its span alone would call answered or failed."""

_NOT_OK: Final = frozenset({CallOutcome.REFUSED, CallOutcome.FAILED})

LOOKED_AT: Final = 32
"""Requests without an id among which a span looks for its own arguments."""
COMMAND_KEYS = frozenset({"process.executable.name", "process.executable.path", "process.exit.code"})
"""Attributes of the command refinement of `execute_tool`."""


def tool_calls(
    layout: Layout, turns: Turns, spans_every_call: bool, no_tools: Container[str] = ()
) -> tuple[ToolCall, ...]:
    """Every call of the session in time order.

    `spans_every_call`: this harness makes an `execute_tool` span for whatever it runs, so that a call that was
    answered without one was refused before it ran. `no_tools`: names of tools to pass over.
    """
    ledger = Ledger()
    _enter_requests(ledger, layout, no_tools)
    for execution in map(_execution, layout.tools):
        if execution.name not in no_tools:
            _enter_execution(ledger, execution)
    enter_answers(ledger, layout)
    # When each began: its span's start, else the end of the request that asked for it; then as asked.
    return tuple(_settled(draft, turns, spans_every_call) for draft in sorted(ledger.drafts, key=_began_ns))


def _enter_requests(ledger: Ledger, layout: Layout, no_tools: Container[str]) -> None:
    """What the models asked for; then what only a history tells of this turn, or the agent's own messages, where
    no request told what the model said."""
    for placed in layout.exchanges:
        for request in _calls(placed.content.outputs or (), no_tools):
            ledger.add(Draft(request.name, request.call_id, placed, request))
    answered = {(placed.run, placed.agent) for placed in layout.exchanges if placed.content.outputs is not None}
    silent = [placed for placed in layout.agent_spans if (placed.run, placed.agent) not in answered]
    for placed in (*layout.exchanges, *silent):
        told = (*since_prompt(placed.content.inputs or ()), *(placed.content.outputs or ()))
        for message in told:
            for request in message.calls:
                unknown = request.call_id is not None and request.call_id not in ledger.by_id
                if unknown and request.name not in no_tools:
                    ledger.add(Draft(request.name, request.call_id, placed, request))


def _calls(found: Iterable[Message], no_tools: Container[str] = ()) -> Iterable[RequestedCall]:
    return (call for message in found for call in message.calls if call.name not in no_tools)


def _enter_execution(ledger: Ledger, execution: Execution) -> None:
    """Give the span to the call it belongs to; to a call of its own when there is none."""
    draft = _wrapping(ledger, execution) or _asked_by_id(ledger, execution) or _asked_by_name(ledger, execution)
    if draft is None:
        draft = ledger.add(Draft(execution.name, execution.call_id))
    elif draft.call_id is None and execution.call_id is not None:
        draft.call_id = execution.call_id
        ledger.by_id.setdefault(execution.call_id, []).append(draft)
    draft.executions.append(execution)
    if execution.placed.span is not None:
        ledger.by_span[key_of(execution.placed.span)] = draft


def _wrapping(ledger: Ledger, execution: Execution) -> Draft | None:
    """The call of the tool span around this one, when both record the same call: an MCP request, or the same
    tool without a different id."""
    outer = ledger.by_span.get(execution.placed.around) if execution.placed.around is not None else None
    if outer is None:
        return None
    other_id = execution.call_id is not None and outer.call_id is not None and execution.call_id != outer.call_id
    same_tool = execution.name == outer.name or MCP_METHOD in execution.placed.attributes
    return outer if same_tool and not other_id else None


def _asked_by_id(ledger: Ledger, execution: Execution) -> Draft | None:
    """The last call with this id before the span began: some models number their calls anew in every answer."""
    known = ledger.by_id.get(execution.call_id) if execution.call_id is not None else None
    if known is None:
        return None
    own = [draft for draft in known if draft.agent == execution.placed.agent] or known
    before = [draft for draft in own if draft.since_ns <= execution.placed.start_ns]
    return before[-1] if before else own[0]


def _asked_by_name(ledger: Ledger, execution: Execution) -> Draft | None:
    """The first unanswered request of the same tool, for spans or requests without an id; of several that wait at
    once, the first with the same arguments."""
    waiting = ledger.waiting.get((execution.placed.agent, execution.name))
    while waiting and waiting[0].executions:
        waiting.popleft()
    if not waiting:
        return None
    free = list(islice((draft for draft in waiting if _may_be(draft, execution)), LOOKED_AT))
    own = at.as_object(execution.arguments) if len(free) > 1 else None
    same = (draft for draft in free if draft.request and own and at.as_object(draft.request.arguments) == own)
    return next(same, None) or next(iter(free), None)


def _may_be(draft: Draft, execution: Execution) -> bool:
    without_id = draft.call_id is None or execution.call_id is None
    return without_id and not draft.executions and draft.since_ns <= execution.placed.start_ns


def _execution(placed: Placed) -> Execution:
    """Read an `execute_tool` span: attributes first, then its content events."""
    arguments = placed.attributes.get(at.TOOL_CALL_ARGUMENTS)
    recorded = placed.attributes.get(at.TOOL_CALL_RESULT)
    result = result_text(recorded) if recorded is not None else None
    failed = _failed(placed)
    if arguments is None or result is None:
        for event in _told(placed):
            arguments = arguments if arguments is not None else _event_arguments(event)
            result = result if result is not None else _event_result(event)
    return Execution(
        placed,
        at.text(placed.attributes, at.TOOL_NAME) or _name_in_span(placed),
        at.text(placed.attributes, at.TOOL_CALL_ID) or None,
        arguments,
        result,
        failed,
        failure_text(placed) if failed else None,
    )


def _told(placed: Placed) -> list[ContentEvent]:
    events = [] if placed.span is None else [ContentEvent(one.name, one.attributes) for one in placed.span.events]
    return [ContentEvent(DETAILS, placed.attributes), *events, *log_events(placed.records)]


def _event_arguments(event: ContentEvent) -> Value:
    if event.name == TOOL_MESSAGE:
        return event.fields.get("content")
    calls = list(_calls(content_in(event.fields).inputs or ())) if event.name == DETAILS else []
    return calls[0].arguments if calls else None


def _event_result(event: ContentEvent) -> str | None:
    if event.name == CHOICE:
        return result_text(event.fields.get("message"))
    outputs = content_in(event.fields).outputs or () if event.name == DETAILS else ()
    return next((answer.text for message in outputs for answer in message.results), None)


def _name_in_span(placed: Placed) -> str:
    name = placed.span.name if placed.span is not None else ""
    return name.removeprefix("execute_tool ").strip() or "unknown"


def _failed(placed: Placed) -> bool:
    span = placed.span
    by_status = span is not None and span.status is StatusCode.ERROR
    by_attribute = at.ERROR_TYPE in placed.attributes or placed.attributes.get(TOOL_STATUS) == "error"
    return by_status or by_attribute


def _settled(draft: Draft, turns: Turns, spans_every_call: bool) -> ToolCall:
    """The finished call; its outermost span is the one it is anchored to."""
    spans = draft.executions
    if len(spans) > 1:
        spans = sorted(spans, key=lambda one: (one.placed.start_ns, -one.placed.end_ns))
    place = spans[0].placed if spans else draft.asked
    if place is None:
        raise AssertionError("a draft is made from a request or from a span")
    given = [one.arguments for one in spans]
    if draft.request is not None:
        given.append(draft.request.arguments)
    readable = _first_object(given)
    outcome = _outcome(draft, spans_every_call)
    result, error = _texts(draft, spans, outcome)
    return ToolCall(
        draft.name,
        place.anchor,
        draft.agent,
        outcome,
        draft.call_id,
        readable,
        None if readable is not None else at.as_text(_first(given)),
        result,
        error,
        place.start_ns if spans else None,
        place.end_ns if spans else None,
        turns.index(draft.asked or place),
    )


def _outcome(draft: Draft, spans_every_call: bool) -> CallOutcome:
    says_failed = draft.answer.failed if draft.answer is not None else None
    if draft.executions:
        told = draft.executions[-1].placed.attributes.get(TOOL_STATUS)
        if isinstance(told, str) and told in STOPPED:
            return STOPPED[told]
        failed = says_failed or True in [one.failed for one in draft.executions]
        return CallOutcome.FAILED if failed else CallOutcome.OK
    if draft.answer is None:
        return CallOutcome.UNANSWERED
    of_span = draft.asked is not None and draft.asked.span is not None  # log events alone tell of no tool's span
    if spans_every_call and of_span and says_failed is not False:
        return CallOutcome.REFUSED
    return CallOutcome.FAILED if says_failed else CallOutcome.OK


def _texts(draft: Draft, spans: Sequence[Execution], outcome: CallOutcome) -> tuple[str | None, str | None]:
    """Result and error. What the model read in place of a result is the error of a call that never ran."""
    answered = draft.answer.text if draft.answer is not None else None
    if not spans:
        return (None, answered) if outcome in _NOT_OK else (answered, None)
    result = _first([one.result for one in spans])
    if result is None:
        result = answered
    error = _first([one.error for one in spans])
    if outcome is CallOutcome.FAILED and error is None:
        return result, answered or result
    return result, error


def _first(values: Iterable[_T | None]) -> _T | None:
    """The first that was recorded."""
    for value in values:  # a loop: this is asked several times of every call, and a generator costs more
        if value is not None:
            return value
    return None


def _first_object(values: Iterable[Value]) -> Mapping[str, Value] | None:
    """The first that can be read as an object."""
    for value in values:
        found = at.as_object(value) if value is not None else None
        if found is not None:
            return found
    return None


def _began_ns(draft: Draft) -> int:
    spans = draft.executions
    if spans:
        return spans[0].placed.start_ns if len(spans) == 1 else min([one.placed.start_ns for one in spans])
    return draft.asked.end_ns if draft.asked is not None else 0


def declared_skills(layout: Layout) -> Mapping[str, Skill | None]:
    """`Anchor.ref` of a tool span → the skill that its `gen_ai.skill.*` attributes name; None when they say that it
    read a resource of the skill or ran a command."""
    return {placed.anchor.ref: _declared(placed) for placed in layout.tools if at.SKILL_NAME in placed.attributes}


def _declared(placed: Placed) -> Skill | None:
    attributes = placed.attributes
    if not COMMAND_KEYS.isdisjoint(attributes) or at.SKILL_RESOURCE_NAME in attributes:
        return None
    return Skill(
        at.text(attributes, at.SKILL_NAME) or "",
        at.text(attributes, at.SKILL_DESCRIPTION),
        at.text(attributes, at.SKILL_SOURCE_URI),
    )
