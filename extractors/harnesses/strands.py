"""Strands Agents, with or without its `AgentSkills` plugin.

- Scope `strands.telemetry.tracer` (Python) or `strands-agents` (TypeScript); one trace per turn of the person.
- `invoke_agent` holds one `execute_event_loop_cycle` per round, that holds one `chat` and its `execute_tool` spans.
- Three modes: per-message span events with Bedrock blocks (default), details span events, span attributes.
- The catalog is XML in the system prompt of `chat` spans; `invoke_agent` of the first turn does not have it yet.
- A refused skill is an ordinary, successful tool result, told apart by its wording only.
- A call that a hook cancels gets no `execute_tool` span: only the messages tell of it, in the newer modes even
  without a status.
- Tool schemas are told on `execute_tool` spans; `invoke_agent` lists names, or definitions in the attribute mode.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors.conventions import genai
from extractors.conventions.genai_content import all_definitions
from extractors.coverage import Setting, Signal
from extractors.spans import Session, Span
from extractors.trajectory import ToolDefinition, Trajectory

NAME = "strands"

SETTINGS: Final = (
    Setting(
        (Signal.DEFINITIONS,),
        "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental,gen_ai_tool_definitions",
        "schemas of all tools; by default only names, and the schemas of tools that ran",
    ),
    Setting((Signal.HARNESS_VERSION,), None),
)

SCOPES = frozenset({"strands.telemetry.tracer", "strands-agents"})
AGENT_TOOLS = "gen_ai.agent.tools"
TOOL_DESCRIPTION = "gen_ai.tool.description"
TOOL_SCHEMA = "gen_ai.tool.json_schema"

HABITS = genai.Habits(NAME, spans_every_call=True)


def recognizes(session: Session) -> bool:
    """Whether Strands' own tracer recorded any of it."""
    return not SCOPES.isdisjoint(session.scopes) and any(span.scope.name in SCOPES for span in session.spans)


def extract(session: Session) -> Trajectory:
    """What the agent did, the tool definitions completed from what the spans of its tools say."""
    trajectory = genai.read(session, HABITS)
    if trajectory.tool_definitions is not None:
        return trajectory
    named = _named(session.spans)
    if named is None:
        return trajectory
    # Which tools ran differs from session to session, so that only the names may make the version.
    versions = replace(trajectory.versions, tool_definitions_hash=genai.definitions_hash(named))
    definitions = all_definitions((named, _ran(session.spans, {definition.name for definition in named})))
    return replace(trajectory, tool_definitions=definitions, versions=versions)


def _named(spans: Iterable[Span]) -> tuple[ToolDefinition, ...] | None:
    """The names that the first agent span lists; None when none does."""
    lists = (at.json_list(span.attributes, AGENT_TOOLS) for span in spans)
    names = next((found for found in lists if found is not None), None)
    return None if names is None else tuple(ToolDefinition(name) for name in names if isinstance(name, str))


def _ran(spans: Iterable[Span], offered: Container[str]) -> tuple[ToolDefinition, ...]:
    """Descriptions and schemas as the spans of executed tools tell them."""
    return tuple(_definition(span) for span in spans if (at.text(span.attributes, at.TOOL_NAME) or "") in offered)


def _definition(span: Span) -> ToolDefinition:
    return ToolDefinition(
        at.text(span.attributes, at.TOOL_NAME) or "",
        at.text(span.attributes, TOOL_DESCRIPTION),
        at.json_object(span.attributes, TOOL_SCHEMA),
    )
