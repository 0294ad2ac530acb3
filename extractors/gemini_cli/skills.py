"""Skills of Gemini CLI: the catalog in the system prompt, and what `activate_skill` gave the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extractors import attributes as attrs
from extractors import skill_signals
from extractors.anchors import Anchor
from extractors.gemini_cli.content import value_of, was_cut
from extractors.gemini_cli.requests import Request
from extractors.gemini_cli.telemetry import TOOL, Telemetry
from extractors.messages import text_of, tool_definitions
from extractors.skills import LoadedBy, LoadOutcome, Skill, SkillInvocation
from extractors.spans import Attributes, Value
from extractors.trajectory import ToolCall, ToolDefinition
from extractors.tree import span_anchor

ACTIVATE: Final = "activate_skill"

_OPEN: Final = "<instructions>"
_CLOSE: Final = "</instructions>"
_AVAILABLE: Final = re.compile(r"\(Available: ((?:'[^'\n]*'(?:, )?)+)\)")


@dataclass(frozen=True, slots=True)
class Offer:
    """What one agent was told: its system prompt, its tools, and the skills on offer with the place that says so.

    None where it was not recorded; () for skills where prompt or tools were recorded and offer none.
    """

    system_prompt: str | None = None
    tools: tuple[ToolDefinition, ...] | None = None
    skills: tuple[Skill, ...] | None = None
    anchor: Anchor | None = None


def offer(found: Telemetry, made: Iterable[Request], agent: str) -> Offer:
    """What this agent's requests say; the skills of all of them."""
    own = [request for request in made if request.agent == agent and not request.side]
    prompts: dict[str, Request] = {}
    tools: tuple[ToolDefinition, ...] | None = None
    for request in own:
        facts = request.facts
        prompt = _system_prompt(facts)
        if prompt is not None:
            prompts.setdefault(prompt, request)
        tools = tools if tools is not None else _tools(facts)
    offered = [(skills, request.anchor) for text, request in prompts.items() if (skills := _listed(text)) is not None]
    if not offered and tools is not None:
        named = next((_allowed(tool) for tool in tools if tool.name == ACTIVATE), None)
        offered = [(named or (), own[0].anchor)] if named or prompts else []
    if not offered and prompts:
        offered = [((), next(iter(prompts.values())).anchor)]
    if not offered:
        offered = list(_described(found, agent))
    names: dict[str, Skill] = {}
    for skills, _ in offered:
        for skill in skills:
            names.setdefault(skill.name, skill)
    told = tuple(names.values()) if offered else None
    return Offer(next(iter(prompts), None), tools, told, offered[0][1] if offered else None)


def _system_prompt(facts: Attributes) -> str | None:
    value = value_of(facts, attrs.SYSTEM_INSTRUCTIONS)
    if value is None:
        return attrs.text(facts, attrs.SYSTEM_INSTRUCTIONS) or None
    return text_of(value)


def _listed(prompt: str) -> tuple[Skill, ...] | None:
    return skill_signals.catalog(prompt)


def _tools(facts: Attributes) -> tuple[ToolDefinition, ...] | None:
    groups = attrs.as_list(value_of(facts, attrs.TOOL_DEFINITIONS))
    if groups is None:
        return None
    told: list[Value] = []
    for group in groups:
        for one in attrs.as_list((attrs.as_mapping(group) or {}).get("functionDeclarations")) or ():
            body = attrs.as_mapping(one) or {}
            told.append({**body, "parameters": body.get("parametersJsonSchema", body.get("parameters"))})
    return tool_definitions(told)


def _allowed(tool: ToolDefinition) -> tuple[Skill, ...]:
    """The names that the tool's schema allows; where it has none, those in its description."""
    properties = attrs.as_mapping((tool.schema or {}).get("properties")) or {}
    names = attrs.as_list((attrs.as_mapping(properties.get("name")) or {}).get("enum")) or ()
    return tuple(Skill(name) for name in names if isinstance(name, str)) or _named_in(tool.description)


def _named_in(description: str | None) -> tuple[Skill, ...]:
    found = _AVAILABLE.search(description) if description else None
    return () if found is None else tuple(Skill(name) for name in re.findall(r"'([^'\n]*)'", found[1]))


def _described(found: Telemetry, agent: str) -> Iterable[tuple[tuple[Skill, ...], Anchor]]:
    """From the description on the spans of `activate_skill` itself."""
    for span in found.of(TOOL):
        if attrs.text(span.attributes, attrs.TOOL_NAME) == ACTIVATE and found.agent_of_span(span) == agent:
            skills = _named_in(attrs.text(span.attributes, "gen_ai.tool.description"))
            if skills:
                yield skills, span_anchor(span)


def invocations(calls: Sequence[ToolCall]) -> tuple[SkillInvocation, ...]:
    """Every attempt to load a skill, the instructions without the CLI's markup around them."""
    results = {call.anchor.ref + (call.call_id or ""): call.result for call in calls}
    return tuple(_read(attempt, results) for attempt in skill_signals.invocations(calls))


def _read(attempt: SkillInvocation, results: Mapping[str, str | None]) -> SkillInvocation:
    result = results.get(attempt.anchor.ref + (attempt.call_id or ""))
    if attempt.outcome is not LoadOutcome.LOADED or result is None:
        return attempt
    if attempt.loaded_by is LoadedBy.TOOL and _OPEN in result:
        attempt = skill_signals.with_body(attempt, _instructions(result))
    # The version of a text of which only the beginning is known is not known.
    return replace(attempt, body_hash=None) if was_cut(result) else attempt


def _instructions(result: str) -> str:
    """What stands between the tags; the skill's own text may mention them, so the outermost count."""
    text = result.partition(_OPEN)[2]
    inner, closed, _ = text.rpartition(_CLOSE)
    return (inner if closed else text).strip()
