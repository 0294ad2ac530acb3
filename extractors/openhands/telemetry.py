"""OpenHands' spans told in the words of the GenAI conventions: runs are agents, LLM spans requests, actions tools."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from extractors import attributes as at
from extractors.conventions.genai_calls import TOOL_STATUS
from extractors.conventions.genai_spans import AGENT, TOOL
from extractors.messages import RequestedCall, message
from extractors.openhands.results import Ending, Result, ending_of_message, recorded_result, text_in
from extractors.spans import Attributes, Session, Span, Value
from extractors.tree import in_time_order

SCOPE: Final = "lmnr.tracer"
"""Laminar's tracer: other programs use it, too."""

PATH: Final = "lmnr.span.path"
KIND: Final = "lmnr.span.type"
INPUT: Final = "lmnr.span.input"
METADATA: Final = "lmnr.association.properties.metadata."
CALL_ID: Final = f"{METADATA}tool_call_id"
SUB_AGENT: Final = f"{METADATA}subagent_type"

MESSAGE: Final = "conversation.send_message"
RUNS: Final = frozenset({"conversation.run", "conversation.arun"})
TURNS: Final = frozenset({"agent.step", "agent.astep"})
OWN_NAMES: Final = frozenset({MESSAGE, "acp_agent.step", "acp_agent.astep"}) | RUNS | TURNS
INVOKE_SKILL: Final = "invoke_skill"

_REQUESTS: Final = ("llm.", "litellm.")
_INSIDE_TOOL: Final = "MCPToolExecutor.call_tool"
_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CLOCK: Final = re.compile(r"<CURRENT_DATETIME>[^<]*</CURRENT_DATETIME>")


Requested: TypeAlias = Mapping[str, Sequence[tuple[int, RequestedCall]]]
"""Call id → the calls as the model asked for them, with the request's start: only they know the tool's name and what
exactly was asked."""


def is_ours(span: Span) -> bool:
    """Whether OpenHands recorded this span: by the names of its own functions in the span's path."""
    return span.scope.name == SCOPE and not OWN_NAMES.isdisjoint(path(span))


def path(span: Span) -> tuple[str, ...]:
    """Names of the spans from the root to this one; where not recorded, its own name alone."""
    return at.texts(span.attributes, PATH) or (span.name,)


def as_genai(session: Session) -> Session:
    """The same session with the attributes of the convention on runs, requests and tools."""
    requested = _requested(session.spans)
    return replace(session, spans=tuple(_told(span, requested) for span in session.spans))


def is_request(span: Span) -> bool:
    """Whether this is a request of the agent itself. Condensers, titles, hooks and tools ask models, too."""
    if span.attributes.get(KIND) != "LLM":
        return False
    names = path(span)
    last = max((index for index, name in enumerate(names) if name in TURNS), default=None)
    return len(names) == 1 or (last is not None and all(name.startswith(_REQUESTS) for name in names[last + 1 :]))


def is_tool(span: Span) -> bool:
    """Whether this is a tool call: an action executed, rejected or found invalid."""
    if span.attributes.get(KIND) != "TOOL" or span.name == _INSIDE_TOOL:
        return False
    return CALL_ID in span.attributes or not TURNS.isdisjoint(path(span)[-2:-1])


def _requested(spans: Iterable[Span]) -> Requested:
    found: defaultdict[str, list[tuple[int, RequestedCall]]] = defaultdict(list)
    for span in in_time_order(span for span in spans if is_request(span)):
        for body in at.json_list(span.attributes, at.OUTPUT_MESSAGES) or ():
            for call in message(at.as_mapping(body) or {}, "assistant").calls:
                if call.call_id is not None:
                    found[call.call_id].append((span.start_ns, call))
    return found


def _asked(span: Span, requested: Requested) -> RequestedCall | None:
    """The call that the span executes: the latest of its id before it, for some models count their calls anew."""
    known = requested.get(at.text(span.attributes, CALL_ID) or "")
    if not known:
        return None
    return known[max(bisect_right(known, span.start_ns, key=lambda asked: asked[0]) - 1, 0)][1]


def _told(span: Span, requested: Requested) -> Span:
    told: Mapping[str, Value] = {}
    if span.name in RUNS:
        told = {at.OPERATION_NAME: AGENT, at.AGENT_NAME: at.text(span.attributes, SUB_AGENT)}
    elif is_request(span):
        told = {at.OPERATION_NAME: "chat", **_content(span.attributes)}
    elif is_tool(span):
        told = _tool(span, requested)
    return replace(span, attributes={**span.attributes, **told}) if told else span


def _content(attributes: Attributes) -> dict[str, Value]:
    """History without what OpenHands wraps around failed results; the system prompt without its clock."""
    history = at.json_list(attributes, at.INPUT_MESSAGES)
    if history is None:
        return {}
    found: dict[str, Value] = {at.INPUT_MESSAGES: [_history_message(one) for one in history]}
    system = next((body for one in history if (body := at.as_mapping(one) or {}).get("role") == "system"), None)
    if system is not None:
        found[at.SYSTEM_INSTRUCTIONS] = _CLOCK.sub("", message(system, "system").text).rstrip()
    return found


def _history_message(value: Value) -> Value:
    body = at.as_mapping(value)
    if body is None or body.get("role") != "tool":
        return value
    text = text_in(body.get("content"))
    result = ending_of_message(text) if text is not None else Result(None, Ending.UNKNOWN)
    part = {"type": "tool_result", "tool_use_id": body.get("tool_call_id"), "content": result.text}
    return {"role": "tool", "parts": [{**part, "is_error": result.ending in {Ending.FAILED, Ending.REJECTED}}]}


def _tool(span: Span, requested: Requested) -> dict[str, Value]:
    call_id = at.text(span.attributes, CALL_ID)
    call = _asked(span, requested)
    name = call.name if call is not None else tool_of(span.name)
    result = recorded_result(span.attributes, loads_skill=name == INVOKE_SKILL)
    told: dict[str, Value] = {
        at.OPERATION_NAME: TOOL,
        at.TOOL_NAME: name,
        at.TOOL_CALL_ID: call_id,
        at.TOOL_CALL_ARGUMENTS: call.arguments if call is not None else _action(span.attributes),
        at.TOOL_CALL_RESULT: result.text,
    }
    if result.ending in {Ending.FAILED, Ending.REJECTED}:
        refused = result.ending is Ending.REJECTED or name == INVOKE_SKILL
        told |= {
            TOOL_STATUS: "refused" if refused else "error",
            at.ERROR_TYPE: "tool_error",
            at.EXCEPTION_MESSAGE: result.text,
        }
    return {key: value for key, value in told.items() if value is not None}


def tool_of(action: str) -> str:
    """The tool that an action class belongs to: `QuoteRateAction` → `quote_rate`."""
    return _WORD.sub("_", action.removesuffix("Action")).lower()


def _action(attributes: Attributes) -> Value:
    """The arguments as executed; arguments left at their default None were not given."""
    action = at.as_mapping((at.json_object(attributes, INPUT) or {}).get("action"))
    if action is None:
        return None
    return {key: value for key, value in action.items() if key != "kind" and value is not None}
