"""Codex's own spans and records of a session, by kind; whose they are and which prompt they belong to.

Each prompt is a trace of its own. Records name the conversation, a few spans too; a sub-agent is a conversation of its
own. Where there is no trace, time tells.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from extractors import attributes as attrs
from extractors.spans import Attributes, LogRecord, Session, Span
from extractors.trajectory import ROOT_AGENT, Prompt
from extractors.tree import Tree, record_anchor, span_anchor, tree_of

PREFIX: Final = "codex."
LOG_SCOPE: Final = "codex_otel"
CONVERSATION: Final = "conversation.id"
REDACTED: Final = "[REDACTED]"

TURN: Final = "session_task.turn"
REQUEST: Final = "try_run_sampling_request"
MENTIONS: Final = "load_skill_prompts"
CODE_CELL: Final = "code_mode.grpc.execute"
CODE_CALLBACK: Final = "code_mode.grpc.callback"

_CRATE: Final = "codex_"
_RUST_KEYS: Final = ("target", "code.module.name", "code.namespace")


@dataclass(frozen=True, slots=True)
class Telemetry:
    """`spans` by name and `events` by event name without prefix, both in time order.

    `agents` maps a conversation to its agent. `turns` maps a trace to the indices of its prompts, in order.
    """

    spans: Mapping[str, tuple[Span, ...]]
    events: Mapping[str, tuple[LogRecord, ...]]
    tree: Tree
    prompts: tuple[Prompt, ...]
    turns: Mapping[str, tuple[int, ...]]
    agents: Mapping[str, str]
    conversations: Mapping[str, str]
    """trace → the one conversation that its spans name"""

    def of(self, name: str) -> tuple[Span, ...]:
        """Spans of one name."""
        return self.spans.get(name, ())

    def named(self, event: str) -> tuple[LogRecord, ...]:
        """Records of one event."""
        return self.events.get(event, ())

    def agent_of_record(self, record: LogRecord) -> str:
        """The agent whose conversation it is."""
        return self.agents.get(attrs.text(record.attributes, CONVERSATION) or "", ROOT_AGENT)

    def agent_of_span(self, span: Span) -> str:
        """As for records; a span that names no conversation belongs to that of the spans above, or of its trace."""
        for above in (span, *self.tree.ancestors(span)):
            own = attrs.text(above.attributes, CONVERSATION)
            if own:
                return self.agents.get(own, ROOT_AGENT)
        return self.agents.get(self.conversations.get(span.trace_id, ""), ROOT_AGENT)

    def turn_at(self, trace_id: str | None, time_ns: int) -> int:
        """Index of the latest prompt of the trace, or of the session, that had been given; -1 before the first.

        What precedes a trace's only prompt (a mentioned skill does) belongs to it all the same.
        """
        own = self.turns.get(trace_id or "")
        if own:
            begun = [turn for turn in own if self.prompts[turn].time_ns <= time_ns]
            return begun[-1] if begun else own[0]
        return bisect_right(self.prompts, time_ns, key=lambda prompt: prompt.time_ns) - 1

    def turn_after(self, record: LogRecord) -> int:
        """For what is recorded just before its prompt: the next prompt's index."""
        if self.turns.get(record.trace_id or ""):
            return self.turn_at(record.trace_id, time_of(record))
        following = self.turn_at(None, time_of(record)) + 1
        return following if following < len(self.prompts) else following - 1


def is_ours(item: Span | LogRecord) -> bool:
    """Whether Codex sent it: by the scope of its records, by the Rust module that made the span.

    The scope of spans is the name of the front end, which its maker chooses.
    """
    if item.scope.name.startswith(LOG_SCOPE):
        return True
    if not isinstance(item, Span):
        return False
    for key in _RUST_KEYS:
        module = item.attributes.get(key)
        if isinstance(module, str) and module.startswith(_CRATE):
            return True
    return item.scope.name.startswith(_CRATE)


def time_of(record: LogRecord) -> int:
    """Codex tells no time of its own on records, only when it observed."""
    return record.time_ns or record.observed_ns


def event_of(record: LogRecord) -> str:
    """The event's name; what OTLP has for it is a line of Codex' source."""
    return (attrs.text(record.attributes, attrs.EVENT_NAME) or record.event_name or "").removeprefix(PREFIX)


def text_of(attributes: Attributes, key: str) -> str | None:
    """A text that was recorded and not withheld."""
    text = attrs.text(attributes, key)
    return None if text == REDACTED else text


def telemetry(session: Session) -> Telemetry:
    """Arrange the session. What other programs sent under the same session id is left aside."""
    tree = tree_of([span for span in session.spans if is_ours(span)])
    spans: defaultdict[str, list[Span]] = defaultdict(list)
    for span in tree.spans.values():
        spans[span.name].append(span)
    events: defaultdict[str, list[LogRecord]] = defaultdict(list)
    ours = [record for record in session.records if is_ours(record)]
    for record in sorted(ours, key=lambda record: (time_of(record), record.position)):
        events[event_of(record)].append(record)
    agents = _agents(session.session_id, tree, events)
    conversations = _conversations(tree)
    prompts, turns = _prompts(spans[TURN], events["user_prompt"], agents, conversations)
    return Telemetry(
        spans={name: tuple(group) for name, group in spans.items()},
        events={name: tuple(group) for name, group in events.items()},
        tree=tree,
        prompts=prompts,
        turns=turns,
        agents=agents,
        conversations=conversations,
    )


def _conversations(tree: Tree) -> Mapping[str, str]:
    named: defaultdict[str, set[str]] = defaultdict(set)
    for span in tree.spans.values():
        own = attrs.text(span.attributes, CONVERSATION)
        if own:
            named[span.trace_id].add(own)
    return {trace_id: next(iter(names)) for trace_id, names in named.items() if len(names) == 1}


def _agents(session_id: str, tree: Tree, events: Mapping[str, list[LogRecord]]) -> Mapping[str, str]:
    """Conversation → agent. The session is one conversation as a rule, and then its agent is the root.

    Of several, the one that gave the session its name, else the first to begin, is the root's.
    """
    first: dict[str, int] = {}
    names: dict[str, str] = {}
    for group in events.values():
        for record in group:
            own = attrs.text(record.attributes, CONVERSATION)
            if own:
                first[own] = min(first.get(own, time_of(record)), time_of(record))
                name = attrs.text(record.attributes, "agent_name")
                if name and not name.startswith("/"):
                    names.setdefault(own, name)
    for span in tree.spans.values():
        own = attrs.text(span.attributes, CONVERSATION)
        if own:
            first[own] = min(first.get(own, span.start_ns), span.start_ns)
    order = sorted(first, key=lambda conversation: (conversation != session_id, first[conversation], conversation))
    return {
        conversation: f"{ROOT_AGENT}/{names.get(conversation, conversation)}" if at else ROOT_AGENT
        for at, conversation in enumerate(order)
    }


def _prompts(
    spans: list[Span],
    records: list[LogRecord],
    agents: Mapping[str, str],
    conversations: Mapping[str, str],
) -> tuple[tuple[Prompt, ...], Mapping[str, tuple[int, ...]]]:
    """The person's prompts; in traces without such a record, the spans of turns stand for them."""
    told: list[tuple[Prompt, str | None]] = []
    for record in records:
        if agents.get(attrs.text(record.attributes, CONVERSATION) or "", ROOT_AGENT) == ROOT_AGENT:
            prompt = Prompt(text_of(record.attributes, "prompt"), record_anchor(record), time_of(record))
            told.append((prompt, record.trace_id))
    with_records = {trace_id for _, trace_id in told}
    # Records without ids tell all prompts: no span may add one.
    for span in spans if None not in with_records else ():
        own = agents.get(conversations.get(span.trace_id, ""), ROOT_AGENT) == ROOT_AGENT
        if own and span.trace_id not in with_records:
            told.append((Prompt(None, span_anchor(span), span.start_ns), span.trace_id))
    told.sort(key=lambda item: (item[0].time_ns, item[0].anchor.ref))
    turns: defaultdict[str, list[int]] = defaultdict(list)
    for index, (_, trace_id) in enumerate(told):
        if trace_id is not None:
            turns[trace_id].append(index)
    return tuple(prompt for prompt, _ in told), {trace_id: tuple(own) for trace_id, own in turns.items()}
