"""OpenAI Codex CLI and its other front ends (seen: 0.148.0 and 0.171.0).

- Content is in records (scope `codex_otel.log_only`) only; spans have names, ids, durations and lengths.
- One trace per prompt; one conversation per session, also when it is resumed; a sub-agent is one of its own.
- A skill is loaded by reading its SKILL.md with a command, or by a mention (`$name`), which puts it into the prompt.
  The event `codex.skill_invocation` (not in old versions) comes before a read is allowed, misses reads that begin with
  `cd`, and is there for scripts of a skill, too: calls tell what happened.
- Which skills were on offer is in no signal. An unknown skill is a file that is not there.
- `success` is true of commands that ran and failed: the exit code stands in the output. A command that was not allowed
  has no `tool_decision` and says so in its output.
- In code mode the tool `exec` runs a script, whose own calls are recorded, too.
- Outputs are cut at 2 KiB. What the model said is recorded of its final answers only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from extractors import attributes as attrs
from extractors.anchors import Anchor
from extractors.codex.calls import Call, calls
from extractors.codex.requests import failures, steps
from extractors.codex.skills import invocations, skill_versions
from extractors.codex.telemetry import CONVERSATION, Telemetry, is_ours, telemetry
from extractors.coverage import Setting, Signal
from extractors.skills import SkillInvocation
from extractors.spans import Session
from extractors.trajectory import ROOT_AGENT, Agent, Step, Trajectory, Versions
from extractors.tree import span_anchor

NAME: Final = "codex"

SETTINGS: Final = (
    Setting(
        (
            Signal.LOADS,
            Signal.REFUSALS,
            Signal.BODIES,
            Signal.ARGUMENTS,
            Signal.RESULTS,
            Signal.ERRORS,
        ),
        '[otel] exporter = { otlp-grpc = { endpoint = "http://localhost:4317" } }',
        "in config.toml: records, which have all content; outputs are cut at 2 KiB, longer skills with them",
    ),
    Setting((Signal.PROMPTS,), "[otel] log_user_prompt = true", "in config.toml"),
    Setting(
        (Signal.ANSWER, Signal.TEXTS),
        "[otel] log_agent_responses = true",
        "in config.toml; final answers only, and not in 0.148.0",
    ),
    Setting((Signal.CATALOG, Signal.SYSTEM_PROMPT, Signal.DEFINITIONS), None),
)


def recognizes(session: Session) -> bool:
    """By the records' scope and the spans' Rust modules, which users do not choose."""
    return any(is_ours(span) for span in session.spans) or any(is_ours(record) for record in session.records)


def extract(session: Session) -> Trajectory:
    """Spans and records of the session as one trajectory."""
    found = telemetry(session)
    made = calls(found)
    turns, answers = steps(found, made)
    attempts, remarks = invocations(found, made)
    answer = answers.get(ROOT_AGENT)
    if answer is not None and answer.turn != len(found.prompts) - 1:
        answer = None
    return Trajectory(
        session_id=session.session_id,
        harness=NAME,
        prompts=found.prompts,
        skill_invocations=attempts,
        steps=turns,
        tool_calls=tuple(call.call for call in made),
        answer=answer.text if answer is not None else None,
        answer_anchor=answer.anchor if answer is not None else None,
        agents=_agents(found, turns, made),
        failures=failures(found),
        versions=_versions(session, turns, attempts),
        root_anchor=_root_anchor(found, turns),
        notes=tuple(dict.fromkeys((*_notes(found, made), *remarks))),
    )


def _root_anchor(found: Telemetry, turns: Sequence[Step]) -> Anchor | None:
    """The root span of the first prompt's trace, where it arrived; else the first thing recorded."""
    anchors = [prompt.anchor for prompt in found.prompts] + [step.anchor for step in turns]
    traces = {anchor.trace_id for anchor in anchors[:1]}
    roots = [span for span in found.tree.roots() if span.trace_id in traces]
    return span_anchor(roots[0]) if roots else anchors[0] if anchors else None


def _agents(found: Telemetry, turns: Sequence[Step], made: Sequence[Call]) -> tuple[Agent, ...]:
    """The main agent first, then the others as they first appear. A session of a sub-agent alone has it for the main
    one, under its own name."""
    names = _names(found)
    ids = dict.fromkeys((ROOT_AGENT, *(step.agent for step in turns), *(call.call.agent for call in made)))
    return tuple(Agent(agent, names.get(agent), parent=ROOT_AGENT if agent != ROOT_AGENT else None) for agent in ids)


def _names(found: Telemetry) -> Mapping[str, str]:
    """Agent → its nickname; the main agent of a conversation with the person has none."""
    told: dict[str, str] = {}
    for record in found.named("tool_result"):
        name = attrs.text(record.attributes, "agent_name")
        if name and not name.startswith("/"):
            told.setdefault(found.agent_of_record(record), name)
    return told


def _versions(session: Session, turns: Sequence[Step], attempts: Iterable[SkillInvocation]) -> Versions:
    resources = [span.resource.attributes for span in session.spans if is_ours(span)]
    resources += [record.resource.attributes for record in session.records if is_ours(record)]
    resource = resources[0] if resources else {}
    recorded = (attrs.text(record.attributes, "app.version") for record in session.records if is_ours(record))
    service_version = attrs.text(resource, attrs.SERVICE_VERSION)
    return Versions(
        service=attrs.text(resource, attrs.SERVICE_NAME),
        service_version=service_version,
        harness_version=next((version for version in recorded if version), None) or service_version,
        models_requested=tuple(sorted({step.model_requested for step in turns if step.model_requested})),
        skill_bodies=skill_versions(attempts),
    )


def _notes(found: Telemetry, made: Iterable[Call]) -> Iterable[str]:
    if not found.prompts and not made and not any(found.events.values()):
        yield "only Codex' own housekeeping was recorded here, no conversation"
        return
    parents = {
        parent
        for record in found.named("agent_response")
        if (parent := attrs.text(record.attributes, f"parent.{CONVERSATION}"))
    }
    for parent in sorted(parents - found.agents.keys()):
        yield f"this is the conversation of a sub-agent, started by conversation {parent}"
    if not any(found.events.values()):
        yield "no records were sent, so that no content is known: set otel.exporter in Codex' configuration"
    for call in made:
        if call.is_cut:
            yield f"the output of call {call.call.call_id} ({call.call.name}) was recorded only in part"
        if call.call.arguments_text is not None and call.call.name not in {"exec", "apply_patch"}:
            yield f"the arguments of call {call.call.call_id} ({call.call.name}) cannot be read as JSON"
