"""Claude Code, the CLI (seen: 2.1.197 and 2.1.332) and the Agent SDK, which starts the same CLI.

- Spans need a switch of their own, records another; each tells what the other lacks, and all of it is about the same
  requests and calls: `tool_use_id` and `request_id` join them. Records alone give a whole trajectory too.
- One trace per prompt. A resumed session is another process with the same `session.id`.
- What content there is depends on five more switches. `<REDACTED>` and the placeholder `custom_skill` mean that one
  was off: not recorded.
- A refusal is no error: `decision=reject` and no execution. A failed call's own span stays UNSET, its
  `tool.execution` child says so. A call that fails validation (a skill that does not exist, among others) leaves
  nothing but a silent turn: `stop_reason=tool_use` and no call.
- The skills on offer are seen only in recorded request bodies and in detailed tracing.
- Sub-agents (and skills that run as one) have an `agent_id` and nest under the call that started them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from extractors import attributes as attrs
from extractors.claude_code.bodies import Bodies, bodies
from extractors.claude_code.calls import Call, calls, silent_turns
from extractors.claude_code.requests import Request, Requests, failures, requests, step
from extractors.claude_code.skills import invocations, skill_versions
from extractors.claude_code.telemetry import REQUEST, TOOL, Telemetry, is_ours, sent_any, telemetry
from extractors.coverage import Setting, Signal
from extractors.skills import Skill, SkillInvocation
from extractors.spans import Session
from extractors.trajectory import ROOT_AGENT, Agent, Step, ToolDefinition, Trajectory, Versions
from extractors.tree import key_of

NAME: Final = "claude_code"

SETTINGS: Final = (
    Setting((Signal.PROMPTS,), "OTEL_LOG_USER_PROMPTS=1"),
    Setting((Signal.TEXTS, Signal.ANSWER), "OTEL_LOG_ASSISTANT_RESPONSES=1"),
    Setting(
        (Signal.LOADS, Signal.ARGUMENTS, Signal.ERRORS),
        "OTEL_LOG_TOOL_DETAILS=1",
        "names of skills, arguments, error texts",
    ),
    Setting(
        (Signal.RESULTS, Signal.BODIES),
        "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1 OTEL_TRACES_EXPORTER=otlp OTEL_LOG_TOOL_CONTENT=1",
        "outputs of commands, files and MCP tools, on spans",
    ),
    Setting(
        (
            Signal.CATALOG,
            Signal.LOADS,
            Signal.REFUSALS,
            Signal.BODIES,
            Signal.RESULTS,
            Signal.ERRORS,
            Signal.SYSTEM_PROMPT,
            Signal.DEFINITIONS,
        ),
        "OTEL_LOG_RAW_API_BODIES=1 CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH=1000000",
        "whole requests and answers, in records; also the only record of skills that do not exist",
    ),
    Setting(
        (Signal.CATALOG, Signal.REFUSALS, Signal.BODIES, Signal.SYSTEM_PROMPT),
        "ENABLE_BETA_TRACING_DETAILED=1 BETA_TRACING_ENDPOINT=http://localhost:4318",
        "on spans; replaces the exporters of traces and logs",
    ),
)


def recognizes(session: Session) -> bool:
    """By scope: `service.name` is the user's to choose."""
    return sent_any(session)


def extract(session: Session) -> Trajectory:
    """Spans and records of the session as one trajectory."""
    found = telemetry(session)
    texts = bodies(found)
    asked = requests(found, texts)
    made = calls(found, texts, asked)
    steps = _steps(asked, made, texts)
    silent = silent_turns(made, asked, found)
    attempts = invocations(found, made, silent, texts)
    answer = _answer(steps, len(found.turns) - 1)
    prompts = tuple(turn.prompt for turn in found.turns)
    anchors = [prompt.anchor for prompt in prompts] + [step.anchor for step in steps]
    return Trajectory(
        session_id=session.session_id,
        harness=NAME,
        prompts=prompts,
        offered_skills=_offered(texts, ROOT_AGENT),
        catalog_anchor=texts.catalog_anchors.get(ROOT_AGENT),
        skill_invocations=attempts,
        steps=steps,
        tool_calls=tuple(call.call for call in made),
        tool_definitions=texts.tools,
        answer=answer.text if answer is not None else None,
        answer_anchor=answer.anchor if answer is not None else None,
        agents=_agents(found, steps, texts, _version(session)),
        failures=failures(found, asked),
        versions=_versions(session, found, steps, texts, attempts),
        root_anchor=anchors[0] if anchors else None,
        notes=tuple(_notes(found, asked, made, silent, attempts, texts)),
    )


def _steps(asked: Requests, made: Sequence[Call], texts: Bodies) -> tuple[Step, ...]:
    call_ids: dict[str, list[str]] = {}
    for call in made:
        if call.request_id is not None and call.call.call_id is not None:
            call_ids.setdefault(call.request_id, []).append(call.call.call_id)
    return tuple(
        step(request, tuple(call_ids.get(request.id or "", ())), texts) for request in asked.all if not request.side
    )


def _answer(steps: Sequence[Step], last_turn: int) -> Step | None:
    """The main agent's last words of the last turn, unless it was still calling tools."""
    final = [
        step
        for step in steps
        if step.agent == ROOT_AGENT and step.text and step.turn == last_turn
        if step.finish_reason != "tool_use" and not step.call_ids
    ]
    return final[-1] if final else None


def _offered(texts: Bodies, agent: str) -> tuple[Skill, ...] | None:
    catalog = texts.catalogs.get(agent)
    return None if catalog is None else tuple(catalog.values())


def _agents(found: Telemetry, steps: Sequence[Step], texts: Bodies, version: str | None) -> tuple[Agent, ...]:
    """The main agent first, then the others as they first appear."""
    starters = {found.spawned[key_of(span)]: span for span in found.of(TOOL) if key_of(span) in found.spawned}
    names: dict[str, str] = {}
    for record in found.named("subagent_completed", "api_request"):
        name = attrs.text(record.attributes, "agent_type") or attrs.text(record.attributes, "agent.name")
        agent = found.agent_of_record(record)
        if name and agent != ROOT_AGENT:
            names.setdefault(agent, name)
    above_all = map(found.agent_of_span, starters.values())  # an agent in between may have no steps that arrived
    ids = dict.fromkeys((ROOT_AGENT, *(step.agent for step in steps), *starters, *above_all))
    agents = []
    for agent in ids:
        above = starters.get(agent)
        kind = above.attributes if above is not None else {}
        agents.append(
            Agent(
                id=agent,
                name=names.get(agent) or attrs.text(kind, "subagent_type") or attrs.text(kind, "skill_name"),
                version=version if agent == ROOT_AGENT else None,
                parent=found.agent_of_span(above) if above is not None else None,
                offered_skills=_offered(texts, agent),
            )
        )
    return tuple(agents)


def _version(session: Session) -> str | None:
    """The CLI's version: of the records' scope, else of the service (the tracing scope has one of its own)."""
    versions = [record.scope.version for record in session.records if is_ours(record) and record.scope.version]
    if versions:
        return versions[-1]
    services = [attrs.text(span.resource.attributes, attrs.SERVICE_VERSION) for span in session.spans if is_ours(span)]
    return services[-1] if services else None


def _versions(
    session: Session,
    found: Telemetry,
    steps: Sequence[Step],
    texts: Bodies,
    attempts: Sequence[SkillInvocation],
) -> Versions:
    resources = [span.resource.attributes for span in session.spans if is_ours(span)]
    resources += [record.resource.attributes for record in session.records if is_ours(record)]
    resource = resources[-1] if resources else {}
    requested = [span.attributes for span in found.of(REQUEST)]
    hashes = [value for each in requested if (value := attrs.text(each, "system_prompt_hash"))]
    listed = [value for each in requested if (value := attrs.text(each, "tools"))]
    prompt = texts.system_prompt or next(iter(hashes), None)
    tools = _canonical(texts.tools) if texts.tools is not None else next(iter(listed), None)
    return Versions(
        service=attrs.text(resource, attrs.SERVICE_NAME),
        service_version=attrs.text(resource, attrs.SERVICE_VERSION),
        harness_version=_version(session),
        models_requested=_distinct(step.model_requested for step in steps),
        models_answered=_distinct(step.model_answered for step in steps),
        system_prompt_hash=_hash(prompt),
        tool_definitions_hash=_hash(tools),
        skill_bodies=skill_versions(attempts),
    )


def _canonical(tools: Iterable[ToolDefinition]) -> str:
    rows = sorted(attrs.json_text([tool.name, tool.description, tool.schema]) for tool in tools)
    return "\n".join(rows)


def _hash(text: str | None) -> str | None:
    return None if text is None else sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value}))


def _notes(
    found: Telemetry,
    asked: Requests,
    made: Sequence[Call],
    silent: Sequence[Request],
    attempts: Sequence[SkillInvocation],
    texts: Bodies,
) -> Iterable[str]:
    for request in silent:
        yield (
            f"request {request.id} asked for a tool call that failed validation (an unknown skill or tool, or bad "
            "arguments); the telemetry does not say which"
        )
    for call in made:
        if call.rejected_by is not None:
            yield f"{_title(call)} was rejected before it ran, decided by {call.rejected_by}"
        if call.call.arguments_text is not None:
            yield f"the arguments of {_title(call)} were recorded only in part"
    nameless = sum(attempt.name is None and attempt.call_id is not None for attempt in attempts)
    if nameless:
        yield f"{nameless} skill calls have no name: set OTEL_LOG_TOOL_DETAILS=1 to record names"
    if texts.unlisted:
        yield "request bodies were recorded, but no listing of skills was found in them"
    side = sum(request.side for request in asked.all)
    if side:
        yield f"{side} requests that the CLI made for its own purposes are not among the steps"
    lost = sum(not turn.ended for turn in found.turns) if found.spans else 0
    if lost:
        yield f"{lost} prompts have no finished interaction span: the program was stopped, or its telemetry lost"


def _title(call: Call) -> str:
    return f"call {call.call.call_id} ({call.call.name})"
