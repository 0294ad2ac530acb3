"""Pydantic AI, in its instrumentation formats 1 to 6; its deferred capabilities are skills.

- Scope `pydantic-ai`; one trace per run: `invoke_agent` with `chat` and `execute_tool` side by side. Formats 1 and 2
  have other names for agents, tools, arguments and results; format 1 has messages as a JSON list of events.
- `pydantic_ai.all_messages` repeats earlier turns. This run begins at `pydantic_ai.new_message_index` or later: the
  index counts requests and responses, and a request may be told as several messages.
- On offer: a `<context>` in the instructions that lists `- id: description`. It lists loaded ones, too.
- `load_capability` only confirms. The text comes as a system message in the next request, in a `<context>` that
  names the capability; in realtime sessions it stands in the confirmation.
- A refusal is a retry: status ERROR, its words in the result. So is loading again what is active already.
- Arguments that are invalid, and unknown tools, have an `execute_tool` span with an error. A call that was not
  approved has none, only an answer.
- Output tools stand for the answer, which is `final_result` on the agent's span, text or JSON.
- With content capture off, parts stay and lose their text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors import skill_signals
from extractors.conventions import genai
from extractors.conventions.genai_spans import AGENT, TOOL, operation
from extractors.coverage import CONTENT, Setting
from extractors.messages import SYSTEM_ROLES, USER, messages
from extractors.skill_signals import with_body
from extractors.skills import LoadOutcome, Skill, SkillInvocation
from extractors.spans import Session, Span, SpanEvent, Value
from extractors.trajectory import Trajectory
from extractors.tree import key_of, span_anchor, tree_of

NAME = "pydantic_ai"

SETTINGS: Final = (Setting(CONTENT, "InstrumentationSettings(include_content=True)", "in the program; the default"),)

SCOPE: Final = "pydantic-ai"
ALL_MESSAGES: Final = "pydantic_ai.all_messages"
NEW_MESSAGES: Final = "pydantic_ai.new_message_index"
PARAMETERS: Final = "model_request_parameters"
FINAL_RESULT: Final = "final_result"
CATALOG: Final = "deferred_capabilities"

_CONTEXT: Final = re.compile(r'^<context id="capability:', re.MULTILINE)


def recognizes(session: Session) -> bool:
    """Whether Pydantic AI's own instrumentation recorded any of it."""
    return SCOPE in session.scopes and any(span.scope.name == SCOPE for span in session.spans)


def extract(session: Session) -> Trajectory:
    """What the agent did, with the texts of capabilities and the answer that an output tool gave."""
    session = replace(session, spans=tuple(map(_retold, session.spans)))
    habits = genai.Habits(NAME, spans_every_call=True, no_tools=_output_tools(session.spans), catalog=catalog)
    trajectory = _with_final_result(genai.read(session, habits), session)
    return genai.with_loads(trajectory, _with_bodies(trajectory, session))


def catalog(text: str) -> tuple[Skill, ...] | None:
    """The capabilities that instructions list; else a catalog in one of the shapes that harnesses share."""
    listed = next((body for name, body in _contexts(text) if name == CATALOG), None)
    if listed is None:
        return skill_signals.catalog(text)
    entries = (line[2:].partition(": ") for line in listed.splitlines() if line.startswith("- "))
    return tuple(Skill(name.strip(), description.strip() or None) for name, _, description in entries)


def _contexts(text: str) -> Iterator[tuple[str, str]]:
    """Name and text of every `<context>` of a capability."""
    for piece in _CONTEXT.split(text)[1:]:
        name, named, rest = piece.partition('">')
        body, closed, _ = rest.rpartition("</context>")
        if named and closed:
            yield name, body.strip("\n")


def _retold(span: Span) -> Span:
    """The span in terms of the convention; what it states in them already stays, but for wrapped results."""
    if span.scope.name != SCOPE:
        return span
    told = {**_identity(span), **_run_messages(span)}
    result = span.attributes.get(at.TOOL_CALL_RESULT, span.attributes.get("tool_response"))
    attributes = {**{key: value for key, value in told.items() if value is not None}, **span.attributes}
    if result is not None:
        attributes[at.TOOL_CALL_RESULT] = _returned(result)
    return replace(span, attributes=attributes, events=(*span.events, *_listed_events(span)))


def _identity(span: Span) -> dict[str, Value]:
    """What formats 1 and 2 leave unsaid, or say under other names."""
    attributes = span.attributes
    if at.TOOL_NAME in attributes:
        return {at.OPERATION_NAME: TOOL, at.TOOL_CALL_ARGUMENTS: attributes.get("tool_arguments")}
    if "agent_name" in attributes:
        return {at.OPERATION_NAME: AGENT, at.AGENT_NAME: attributes["agent_name"]}
    return {}


def _run_messages(span: Span) -> dict[str, Value]:
    """What a run was asked and what came of it. A run that was not asked, but continues another, tells only that."""
    told = at.json_list(span.attributes, ALL_MESSAGES)
    if told is None:
        return {}
    found = messages(told) or ()
    asked = max((n for n, one in enumerate(found) if one.role == USER and (one.text or one.hidden)), default=-1)
    is_new = asked >= (at.integer(span.attributes, NEW_MESSAGES) or 0)
    return {at.INPUT_MESSAGES: told[: asked + 1] if is_new else None, at.OUTPUT_MESSAGES: told[asked + 1 :]}


def _returned(result: Value) -> Value:
    """What the model read of a tool's return that carries more than that."""
    wrapped = at.as_object(result) or {}
    return wrapped["return_value"] if wrapped.get("kind") == "tool-return" and "return_value" in wrapped else result


def _listed_events(span: Span) -> Iterator[SpanEvent]:
    """Format 1: what would be span events, as a JSON list in an attribute."""
    for item in at.json_list(span.attributes, "events") or ():
        fields = at.as_mapping(item) or {}
        name = at.text(fields, at.EVENT_NAME)
        if name is not None:
            yield SpanEvent(name, span.start_ns, fields)


def _output_tools(spans: Iterable[Span]) -> frozenset[str]:
    """Names of the tools by which the model gives its answer; the usual name where requests do not list them."""
    documents = {text for span in spans if (text := at.text(span.attributes, PARAMETERS)) is not None}
    parameters = [found for text in sorted(documents) if (found := at.as_object(text)) is not None]
    if not parameters:
        return frozenset({FINAL_RESULT})
    tools = (at.as_mapping(tool) or {} for found in parameters for tool in at.as_list(found.get("output_tools")) or ())
    return frozenset(name for tool in tools if (name := at.text(tool, "name")) is not None)


def _with_final_result(trajectory: Trajectory, session: Session) -> Trajectory:
    """The result of the last run of the root agent is the answer, unless the run only waits for approvals."""
    tree = tree_of(session.spans)
    agents = [span for span in session.spans if operation(span) == AGENT]
    runs = [span for span in agents if not any(operation(above) == AGENT for above in tree.ancestors(span))]
    last = max(runs, key=lambda span: (span.start_ns, key_of(span)), default=None)
    result = at.text(last.attributes, FINAL_RESULT) if last is not None else None
    if last is None or not result or result == trajectory.answer or _is_deferred(result):
        return trajectory
    return replace(trajectory, answer=result, answer_anchor=span_anchor(last))


def _is_deferred(result: str) -> bool:
    return {"calls", "approvals"} <= (at.as_object(result) or {}).keys() if result.startswith("{") else False


def _with_bodies(trajectory: Trajectory, session: Session) -> Iterator[SkillInvocation]:
    """The attempts with the texts that the next request of the same agent carried."""
    waiting = [load for load in trajectory.skill_invocations if _lacks_body(load)]
    told = _texts(trajectory, session) if waiting else {}
    began = {call.anchor.ref: call.start_ns for call in trajectory.tool_calls}
    for load in trajectory.skill_invocations:
        found = told.get((load.agent, load.name or ""), []) if _lacks_body(load) else []
        at_ns = began.get(load.anchor.ref) or 0
        later = found[bisect_left(found, at_ns, key=lambda item: item[0]) :]
        yield with_body(load, later[0][1]) if later else load


def _lacks_body(load: SkillInvocation) -> bool:
    return load.outcome is LoadOutcome.LOADED and load.body is None


def _texts(trajectory: Trajectory, session: Session) -> Mapping[tuple[str, str], list[tuple[int, str]]]:
    """(agent, capability) → starts of requests and the text each carried, in time order."""
    spans = {span_anchor(span): span for span in session.spans}
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for step in trajectory.steps:
        span = spans.get(step.anchor)
        inputs = messages(span.attributes.get(at.INPUT_MESSAGES)) if span is not None else None
        for message in inputs or ():
            for name, body in _contexts(message.text) if message.role in SYSTEM_ROLES else ():
                found.setdefault((step.agent, name), []).append((step.start_ns, body))
    return found
