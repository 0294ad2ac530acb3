"""Gemini CLI's own spans and records of a session, by kind; whose they are and which prompt they belong to.

Every request to the model and every batch of tool calls is a trace of its own, without a root for the turn: time
tells which prompt they belong to.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from extractors import attributes as attrs
from extractors.gemini_cli.content import value_of
from extractors.spans import LogRecord, Session, Span
from extractors.trajectory import ROOT_AGENT, Prompt
from extractors.tree import Tree, record_anchor, span_anchor, tree_of

SCOPE: Final = "gemini-cli"
PREFIX: Final = "gemini_cli."

REQUEST: Final = "llm_call"
BATCH: Final = "schedule_tool_calls"
TOOL: Final = "tool_call"
AGENT: Final = "agent_call"
DETAILS: Final = "gen_ai.client.inference.operation.details"

PROMPT_NAME: Final = "gen_ai.prompt.name"
_MS_NS: Final = 1_000_000
_TURN_MARK: Final = "########"
"""What interactive sessions put between the session's id and the number of the turn."""


@dataclass(frozen=True, slots=True)
class Telemetry:
    """`spans` by operation and `events` by event name without prefix, both in time order. `agents` maps the id of a
    sub-agent, as prompt ids name it, to its name."""

    spans: Mapping[str, tuple[Span, ...]]
    events: Mapping[str, tuple[LogRecord, ...]]
    tree: Tree
    agents: Mapping[str, str]
    prompts: tuple[Prompt, ...] = ()

    def of(self, operation: str) -> tuple[Span, ...]:
        """Spans of one operation."""
        return self.spans.get(operation, ())

    def named(self, event: str) -> tuple[LogRecord, ...]:
        """Records of one event."""
        return self.events.get(event, ())

    def turn_at(self, time_ns: int) -> int:
        """Index of the latest prompt that had been given; -1 before the first."""
        return bisect_right(self.prompts, time_ns, key=lambda prompt: prompt.time_ns) - 1

    def agent_of_span(self, span: Span) -> str:
        """The agent at work: that of the nearest `agent_call` above, else the one that the prompt's id names."""
        above = next((above for above in self.tree.ancestors(span) if operation(above) == AGENT), None)
        if above is not None:
            return f"{ROOT_AGENT}/{agent_name(above)}"
        prompt_id = attrs.text(span.attributes, PROMPT_NAME)
        return self._agent_of_prompt(prompt_id, attrs.text(span.attributes, attrs.CONVERSATION_ID), marked=False)

    def agent_of_record(self, record: LogRecord) -> str:
        """As for spans. A request's record says whether a sub-agent made it."""
        prompt_id = attrs.text(record.attributes, "prompt_id")
        session = attrs.text(record.attributes, attrs.SESSION_ID)
        marked = attrs.text(record.attributes, "role") == "subagent"
        named = self._agent_of_prompt(prompt_id, session, marked)
        span = self.tree.spans.get((record.trace_id or "", record.span_id or ""))
        return self.agent_of_span(span) if named == ROOT_AGENT and span is not None else named

    def _agent_of_prompt(self, prompt_id: str | None, session: str | None, marked: bool) -> str:
        if not prompt_id or prompt_id == session or prompt_id.startswith(f"{session}{_TURN_MARK}"):
            return f"{ROOT_AGENT}/(not named)" if marked else ROOT_AGENT
        agent = agent_id(prompt_id)
        if marked or agent in self.agents:
            return f"{ROOT_AGENT}/{self.agents.get(agent) or agent}"
        return ROOT_AGENT


def is_ours(item: Span | LogRecord) -> bool:
    """Whether Gemini CLI sent it."""
    return item.scope.name == SCOPE


def operation(span: Span) -> str:
    """What kind of span it is."""
    return attrs.text(span.attributes, attrs.OPERATION_NAME) or span.name


def agent_name(span: Span) -> str:
    """The sub-agent that an `agent_call` span runs."""
    name = attrs.text(span.attributes, attrs.AGENT_NAME)
    return name if name and name != SCOPE else "(not named)"


def agent_id(prompt_id: str) -> str:
    """A sub-agent's prompt ids are its own id and the number of its request."""
    return prompt_id.rpartition("#")[0] or prompt_id


def telemetry(session: Session) -> Telemetry:
    """Arrange the session. What other programs sent under the same session id is left aside."""
    tree = tree_of([span for span in session.spans if is_ours(span)])
    spans: defaultdict[str, list[Span]] = defaultdict(list)
    for span in tree.spans.values():
        spans[operation(span)].append(span)
    events: defaultdict[str, list[LogRecord]] = defaultdict(list)
    ours = [record for record in session.records if is_ours(record)]
    for record in sorted(ours, key=lambda record: (record.time_ns, record.position)):
        events[(record.event_name or "").removeprefix(PREFIX)].append(record)
    found = Telemetry(
        spans={name: tuple(group) for name, group in spans.items()},
        events={name: tuple(group) for name, group in events.items()},
        tree=tree,
        agents={
            started: name
            for record in events["agent.start"]
            if (started := attrs.text(record.attributes, "agent_id"))
            and (name := attrs.text(record.attributes, "agent_name"))
        },
    )
    return replace(found, prompts=_prompts(found))


def _prompts(found: Telemetry) -> tuple[Prompt, ...]:
    """From the records, else from the spans of interactive prompts; what requests tell is added by their reader."""
    recorded = [
        Prompt(attrs.text(record.attributes, "prompt"), record_anchor(record), record.time_ns)
        for record in found.named("user_prompt")
    ]
    if recorded:
        return tuple(recorded)
    spans = found.of("user_prompt")
    return tuple(Prompt(_prompt_of(span), span_anchor(span), span.start_ns) for span in spans)


def _prompt_of(span: Span) -> str | None:
    value = value_of(span.attributes, attrs.INPUT_MESSAGES)
    return value if isinstance(value, str) else None
