"""What the agent did, in the same shape for every harness. None always means "not recorded", never "none"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from extractors.anchors import Anchor
from extractors.skills import Skill, SkillInvocation
from extractors.spans import Attributes, Value

ROOT_AGENT = "root"
"""`Agent.id` of the agent that the person talks to."""


class CallOutcome(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    FAILED = "failed"
    REFUSED = "refused"
    """never executed: denied by a rule, a hook, a person, or rejected before it ran"""
    UNANSWERED = "unanswered"
    """the call was seen and no outcome was recorded"""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool, counted once however often the telemetry repeats it.

    `arguments` is a mapping when they could be read as an object; `arguments_text` holds what was recorded when
    they could not (cut JSON, a bare string). Both None: not recorded. `result` and `error` are text as the model
    or the harness saw it. Times are None when only a message mentions the call. `turn` indexes
    `Trajectory.prompts`; -1 when the call belongs to no recorded turn.
    """

    name: str
    anchor: Anchor
    agent: str
    outcome: CallOutcome
    call_id: str | None = None
    arguments: Mapping[str, Value] | None = None
    arguments_text: str | None = None
    result: str | None = None
    error: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    turn: int = -1


@dataclass(frozen=True, slots=True)
class Step:
    """One model turn: a request to the model and what came back.

    `text` is the assistant's text (None: not recorded, "": the model said nothing but called tools).
    `call_ids` are the tool calls it asked for, in order, where they have ids.
    Token counts include cached tokens, as the GenAI conventions count them.
    """

    anchor: Anchor
    agent: str
    start_ns: int
    end_ns: int
    text: str | None = None
    call_ids: tuple[str, ...] = ()
    model_requested: str | None = None
    model_answered: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    error: str | None = None
    turn: int = -1


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the person asked, once per turn of the conversation. `text` is None when not recorded or redacted."""

    text: str | None
    anchor: Anchor
    time_ns: int


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent of the session. The root agent has `id == ROOT_AGENT`; `parent` is the id of the agent that
    started this one."""

    id: str
    name: str | None = None
    version: str | None = None
    parent: str | None = None
    offered_skills: tuple[Skill, ...] | None = None


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as the model was told about it. `schema` is the JSON Schema of its arguments."""

    name: str
    description: str | None = None
    schema: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that is not a tool call's: a model request that failed, an agent that raised."""

    kind: str
    message: str | None
    anchor: Anchor
    agent: str
    time_ns: int


@dataclass(frozen=True, slots=True)
class Versions:
    """What was running. Hashes are the first 16 hex digits of a SHA-256; several values are sorted."""

    service: str | None = None
    service_version: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    harness_version: str | None = None
    models_requested: tuple[str, ...] = ()
    models_answered: tuple[str, ...] = ()
    system_prompt_hash: str | None = None
    tool_definitions_hash: str | None = None
    skill_bodies: Mapping[str, str] | None = None
    """skill name → body hash, for every skill whose body was seen; None when no body was"""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One session's story. Everything is in time order; `harness` is a registry name, `"unrecognised"` when
    nothing in it was understood, in which case `scopes` says what sent it.

    `offered_skills` is the root agent's catalog (of a mere workflow, that of the agent to which it handed the task):
    None = not recorded, () = recorded as empty. `answer` is the root agent's last text to the person. `notes` are
    remarks for people about gaps and damage. `attributes` are the resource's and, over them, the first root span's, for
    suites to match on: short texts, numbers, truth values.
    """

    session_id: str
    harness: str
    prompts: tuple[Prompt, ...] = ()
    offered_skills: tuple[Skill, ...] | None = None
    catalog_anchor: Anchor | None = None
    skill_invocations: tuple[SkillInvocation, ...] = ()
    steps: tuple[Step, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_definitions: tuple[ToolDefinition, ...] | None = None
    answer: str | None = None
    answer_anchor: Anchor | None = None
    agents: tuple[Agent, ...] = ()
    failures: tuple[Failure, ...] = ()
    versions: Versions = Versions()
    root_anchor: Anchor | None = None
    started_ns: int = 0
    ended_ns: int = 0
    tenant: str = ""
    scopes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    attributes: Attributes = field(default_factory=dict)

    @property
    def task(self) -> str | None:
        """The person's prompts as one text, blank line between; None when no prompt's text was recorded."""
        texts = [prompt.text for prompt in self.prompts if prompt.text]
        return "\n\n".join(texts) if texts else None
