"""Gemini CLI (seen: 0.61.0).

- Scope `gemini-cli`, on spans and records; `service.version` is the version of Node.
- No root spans: each model request (`llm_call`) and each batch of tool calls (`schedule_tool_calls`) is a trace.
- A request is told up to five times (span, four records), a call up to four (two spans, a record, later histories).
- A skill is loaded by the tool `activate_skill`; the catalog is in the system prompt, whatever the settings.
- A call refused before it ran has no span of its own; its record has an error type and no decision. A command that
  failed counts as success for the CLI.
- Content in spans is cut at 10,000 characters, in the middle of the JSON; records have it whole.
- With `logPrompts: false` not even the skill's name is told. The resource has the command line, prompt included, all
  the same: it is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from extractors import attributes as attrs
from extractors.conventions.genai import definitions_hash
from extractors.coverage import CONTENT, Setting, Signal
from extractors.gemini_cli.calls import calls
from extractors.gemini_cli.content import was_cut
from extractors.gemini_cli.requests import Request, failures, requests, step, with_prompts
from extractors.gemini_cli.skills import Offer, invocations, offer
from extractors.gemini_cli.telemetry import DETAILS, SCOPE, Telemetry, is_ours, telemetry
from extractors.skill_signals import with_refusals
from extractors.skills import SkillInvocation
from extractors.spans import Session
from extractors.trajectory import ROOT_AGENT, Agent, Step, ToolCall, Trajectory, Versions

NAME: Final = "gemini_cli"

SETTINGS: Final = (
    Setting(
        (*CONTENT, Signal.TOKENS),
        '{"telemetry": {"enabled": true, "traces": true, "logPrompts": true}}',
        "in ~/.gemini/settings.json; logPrompts is the default, traces adds content and tokens to spans",
    ),
    Setting((Signal.HARNESS_VERSION,), None),
)


def recognizes(session: Session) -> bool:
    """By scope, which nobody else sets."""
    return SCOPE in session.scopes


def extract(session: Session) -> Trajectory:
    """Spans and records of the session as one trajectory."""
    found = telemetry(session)
    asked = requests(found)
    found = with_prompts(found, asked)
    made = with_refusals(calls(found, asked))
    steps = tuple(_step(found, request) for request in asked if not request.side)
    attempts = invocations(made)
    agents = _agents(found, steps, made, asked)
    own = offer(found, asked, ROOT_AGENT)
    answer = _answer(steps, len(found.prompts) - 1)
    anchors = [step.anchor for step in steps] + [prompt.anchor for prompt in found.prompts]
    return Trajectory(
        session_id=session.session_id,
        harness=NAME,
        prompts=found.prompts,
        offered_skills=own.skills,
        catalog_anchor=own.anchor,
        skill_invocations=attempts,
        steps=steps,
        tool_calls=made,
        tool_definitions=own.tools,
        answer=answer.text if answer is not None else None,
        answer_anchor=answer.anchor if answer is not None else None,
        agents=agents,
        failures=failures(asked),
        versions=_versions(session, found, steps, own, attempts),
        root_anchor=anchors[0] if anchors else None,
        notes=tuple(_notes(asked, made, attempts)),
    )


def _step(found: Telemetry, request: Request) -> Step:
    wanted = (call.call_id for content in request.outputs or () for call in content.calls)
    return step(request, found.turn_at(request.start_ns), tuple(call_id for call_id in wanted if call_id is not None))


def _answer(steps: Sequence[Step], last_turn: int) -> Step | None:
    """The main agent's last words of the last turn, unless it was still calling tools."""
    own = [step for step in steps if step.agent == ROOT_AGENT and step.error is None]
    final = own[-1] if own else None
    return final if final is not None and final.text and not final.call_ids and final.turn == last_turn else None


def _agents(
    found: Telemetry, steps: Iterable[Step], made: Iterable[ToolCall], asked: Sequence[Request]
) -> tuple[Agent, ...]:
    """The main agent first, then the others as they first appear."""
    ids = dict.fromkeys((ROOT_AGENT, *(step.agent for step in steps), *(call.agent for call in made)))
    return tuple(
        Agent(
            agent,
            agent.rpartition("/")[2] if agent != ROOT_AGENT else None,
            parent=ROOT_AGENT if agent != ROOT_AGENT else None,
            offered_skills=offer(found, asked, agent).skills,
        )
        for agent in ids
    )


def _versions(
    session: Session, found: Telemetry, steps: Sequence[Step], own: Offer, attempts: Iterable[SkillInvocation]
) -> Versions:
    resources = [span.resource.attributes for span in session.spans if is_ours(span)]
    resources += [record.resource.attributes for record in session.records if is_ours(record)]
    resource = resources[0] if resources else {}
    requested = {step.model_requested for step in steps if step.model_requested}
    # Routing and other requests of the CLI's own use other models, which are none of the agent's.
    named = {attrs.text(record.attributes, attrs.RESPONSE_MODEL) for record in found.named(DETAILS)}
    answered = (requested & named) | {step.model_answered for step in steps}
    return Versions(
        service=attrs.text(resource, attrs.SERVICE_NAME),
        service_version=attrs.text(resource, attrs.SERVICE_VERSION),
        models_requested=tuple(sorted(requested)),
        models_answered=tuple(sorted({name for name in answered if name})),
        system_prompt_hash=None if own.system_prompt is None else _hash(own.system_prompt),
        tool_definitions_hash=None if own.tools is None else definitions_hash(own.tools),
        skill_bodies={
            attempt.name: attempt.body_hash for attempt in attempts if attempt.name and attempt.body_hash is not None
        }
        or None,
    )


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _notes(asked: Iterable[Request], made: Iterable[ToolCall], attempts: Iterable[SkillInvocation]) -> Iterable[str]:
    side = sum(request.side for request in asked)
    if side:
        yield f"{side} requests that the CLI made for its own purposes are not among the steps"
    nameless = sum(attempt.name is None for attempt in attempts)
    if nameless:
        yield f"{nameless} skill calls have no name: set telemetry.logPrompts to record names"
    for call in made:
        if call.result is not None and was_cut(call.result):
            yield f"the result of call {call.call_id} ({call.name}) was recorded only in part"
        if call.arguments_text is not None:
            yield f"the arguments of call {call.call_id} ({call.name}) were recorded only in part"
