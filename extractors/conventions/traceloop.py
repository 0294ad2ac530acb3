"""Traceloop (OpenLLMetry): spans with `traceloop.span.kind`, and model requests with `llm.request.type`.

Used directly for what no harness module claims, and by harness modules through `read`. Newer versions say most of it
in GenAI terms, too. Content is in message lists or, before, in one attribute per field (`genai_indexed`).
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors.conventions import genai
from extractors.conventions.genai_calls import TOOL_STATUS
from extractors.conventions.genai_indexed import is_indexed
from extractors.conventions.genai_spans import AGENT, TOOL, WORKFLOW, WORKFLOW_NAME, operation
from extractors.conventions.openinference_spans import recorded
from extractors.conventions.traceloop_entities import answered, arguments_of, asked, returned
from extractors.coverage import CONTENT, Setting, Signal
from extractors.spans import Session, Span, Value
from extractors.trajectory import Trajectory
from extractors.tree import Key, Tree, key_of, tree_of

NAME = "traceloop"

TRACE_CONTENT: Final = "TRACELOOP_TRACE_CONTENT=true"
SETTINGS: Final = (
    Setting(CONTENT, TRACE_CONTENT, "the default"),
    Setting((Signal.HARNESS_VERSION,), None),
)

KIND: Final = "traceloop.span.kind"
ENTITY: Final = "traceloop.entity.name"
INPUT: Final = "traceloop.entity.input"
OUTPUT: Final = "traceloop.entity.output"
REQUEST_TYPE: Final = "llm.request.type"
GRAPH_AGENT: Final = "traceloop.association.properties.lc_agent_name"

_REQUESTS: Final = {"chat": "chat", "completion": "text_completion"}
_INTERRUPTS: Final = frozenset({"GraphInterrupt", "NodeInterrupt"})
"""Exceptions by which LangGraph leaves a tool to ask a person."""


def recognizes(session: Session) -> bool:
    """Whether any span says its Traceloop kind or is a model request as Traceloop writes them."""
    return any(KIND in span.attributes or _is_request(span) for span in session.spans)


def extract(session: Session) -> Trajectory:
    """What the agent did, by the convention alone."""
    return read(session, genai.Habits(NAME))


def read(session: Session, habits: genai.Habits) -> Trajectory:
    """What the agent did, the spans retold in GenAI terms."""
    tree = tree_of(session.spans)
    around = _around_agents(tree)
    spans = tuple(retold(span, tree, around) for span in session.spans)
    trajectory = genai.read(replace(session, spans=spans), habits)
    # a scope's version is the instrumentation's
    return replace(trajectory, versions=replace(trajectory.versions, harness_version=None))


def retold(span: Span, tree: Tree, around: Container[Key]) -> Span:
    """The span in GenAI terms. `around`: keys of the spans that have agents below them."""
    match at.text(span.attributes, KIND):
        case "tool":
            return _with(span, {at.OPERATION_NAME: TOOL, at.TOOL_NAME: _entity(span)}, _call(span))
        case "workflow" if at.OPERATION_NAME not in span.attributes and key_of(span) in around:
            return _with(span, {at.OPERATION_NAME: WORKFLOW, WORKFLOW_NAME: _entity(span), **_exchange(span)})
        case "workflow" | "agent":
            return _with(
                span, {at.OPERATION_NAME: AGENT, at.AGENT_NAME: _entity(span), **_exchange(span)}, _alias(span, tree)
            )
    if _is_request(span):
        kind = _REQUESTS.get(at.text(span.attributes, REQUEST_TYPE) or "chat")
        return _with(span, {at.OPERATION_NAME: kind, at.AGENT_NAME: span.attributes.get(GRAPH_AGENT)})
    return _with(span, {at.AGENT_NAME: span.attributes.get(GRAPH_AGENT)})


def _with(span: Span, defaults: dict[str, Value], told: dict[str, Value] | None = None) -> Span:
    """The span with these attributes where it has none of its own, and those whatever it has."""
    attributes = {**recorded(defaults), **span.attributes, **recorded(told or {})}
    return span if attributes == span.attributes else replace(span, attributes=attributes)


def _is_request(span: Span) -> bool:
    if operation(span) is not None or KIND in span.attributes:
        return False
    kind = at.text(span.attributes, REQUEST_TYPE)
    return kind in _REQUESTS if kind is not None else is_indexed(span.attributes)


def _entity(span: Span) -> str:
    return at.text(span.attributes, ENTITY) or span.name.rpartition(".")[0] or span.name


def _call(span: Span) -> dict[str, Value]:
    """Arguments and result of a tool, out of the wrappings that stand in its GenAI attributes, too."""
    result = returned(_recorded_as(span, OUTPUT, at.TOOL_CALL_RESULT))
    told: dict[str, Value] = {
        at.TOOL_CALL_ARGUMENTS: arguments_of(_recorded_as(span, INPUT, at.TOOL_CALL_ARGUMENTS)),
        at.TOOL_CALL_RESULT: result.value,
        at.TOOL_CALL_ID: result.call_id,
        TOOL_STATUS: "error" if result.failed else None,
    }
    if at.text(span.attributes, at.ERROR_TYPE) in _INTERRUPTS:
        told[TOOL_STATUS] = "unanswered"
    return told


def _recorded_as(span: Span, *keys: str) -> Value:
    return next((value for key in keys if (value := span.attributes.get(key)) is not None), None)


def _exchange(span: Span) -> dict[str, Value]:
    """What an agent was asked and what it answered."""
    return {
        at.INPUT_MESSAGES: asked(span.attributes.get(INPUT)),
        at.OUTPUT_MESSAGES: answered(span.attributes.get(OUTPUT)),
    }


def _alias(span: Span, tree: Tree) -> dict[str, Value]:
    """A graph's invocation is told twice, as the graph and as its workflow: one agent, of the outer one's name."""
    outer = tree.parent(span)
    wraps = outer is not None and operation(outer) == AGENT and KIND not in outer.attributes
    return {at.AGENT_NAME: at.text(outer.attributes, at.AGENT_NAME)} if outer is not None and wraps else {}


def _around_agents(tree: Tree) -> Container[Key]:
    found: set[Key] = set()
    for span in tree.spans.values():
        if at.text(span.attributes, KIND) == "agent" or operation(span) == AGENT:
            for above in tree.ancestors(span):
                if key_of(above) in found:
                    break
                found.add(key_of(above))
    return found
