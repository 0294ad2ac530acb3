"""Claude Code's own spans and records of a session, by kind; whose they are and which prompt they belong to.

Each prompt is a trace of its own, rooted in `claude_code.interaction`, which arrives last and may never arrive.
Records name the prompt by `prompt.id` and, when spans are on, the interaction by trace and span id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from extractors import attributes as attrs
from extractors.spans import Attributes, LogRecord, Session, Span
from extractors.trajectory import ROOT_AGENT, Prompt
from extractors.tree import Key, Tree, key_of, record_anchor, span_anchor, tree_of

SCOPE: Final = "com.anthropic.claude_code"
"""Beginning of the scope names; users do not set them, as they do `service.name`."""

PREFIX: Final = "claude_code."

REDACTED: Final = "<REDACTED>"

INTERACTION: Final = "interaction"
REQUEST: Final = "llm_request"
TOOL: Final = "tool"
EXECUTION: Final = "tool.execution"
PERMISSION: Final = "tool.blocked_on_user"


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt. `place` is its interaction span's key, whether or not that span arrived."""

    prompt: Prompt
    place: Key | None
    prompt_id: str | None
    command: str | None = None
    """the slash command that the CLI took the prompt for"""
    ended: bool = False
    """the interaction span arrived"""


@dataclass(frozen=True, slots=True)
class Telemetry:
    """`spans` by name without prefix in time order, `events` by event name in the order of their sequence."""

    spans: Mapping[str, tuple[Span, ...]]
    events: Mapping[str, tuple[LogRecord, ...]]
    tree: Tree
    turns: tuple[Turn, ...]
    places: Mapping[Key, int]
    prompt_ids: Mapping[str, int]
    spawned: Mapping[Key, str]
    """tool span → id of the agent that it started"""
    agent_of_request: Mapping[str, str]
    agent_of_call: Mapping[str, str]

    def of(self, kind: str) -> tuple[Span, ...]:
        """Spans of one kind."""
        return self.spans.get(kind, ())

    def named(self, *names: str) -> tuple[LogRecord, ...]:
        """Records of these events, in order."""
        found = [record for name in names for record in self.events.get(name, ())]
        return tuple(sorted(found, key=_place_in_log)) if len(names) > 1 else tuple(found)

    def agent_of_span(self, span: Span) -> str:
        """The agent at work: its own `agent_id`, else the one that the nearest tool call above started."""
        own = attrs.text(span.attributes, "agent_id")
        if own:
            return own
        above = self.tool_above(span)
        return self.spawned.get(key_of(above), ROOT_AGENT) if above is not None else ROOT_AGENT

    def tool_above(self, span: Span) -> Span | None:
        """The nearest tool call that this happened inside of."""
        return next((above for above in self.tree.ancestors(span) if kind_of(above) == TOOL), None)

    def agent_of_record(self, record: LogRecord) -> str:
        """As for spans. Older CLIs put no `agent_id` on records; then the request or call named there tells."""
        own = attrs.text(record.attributes, "agent_id")
        if own:
            return own
        request = self.agent_of_request.get(attrs.text(record.attributes, "request_id") or "")
        call = self.agent_of_call.get(attrs.text(record.attributes, "tool_use_id") or "")
        source = query_source(record.attributes) or ""
        return request or call or (source if source.startswith("agent:") else ROOT_AGENT)

    def turn_of_span(self, span: Span) -> int:
        """Index of the turn; -1 when its prompt was not recorded."""
        return self._turn_at(span.trace_id, (span, *self.tree.ancestors(span)), span.start_ns)

    def turn_of_record(self, record: LogRecord) -> int:
        """As for spans."""
        named = self.prompt_ids.get(attrs.text(record.attributes, "prompt.id") or "")
        if named is not None or record.trace_id is None:
            return -1 if named is None else named
        span = self.tree.spans.get((record.trace_id, record.span_id or ""))
        chain = (span, *self.tree.ancestors(span)) if span is not None else ()
        return self._turn_at(record.trace_id, chain, record.time_ns)

    def _turn_at(self, trace_id: str, chain: tuple[Span, ...], time_ns: int) -> int:
        for span in chain:
            for span_id in (span.span_id, span.parent_id):
                if span_id is not None and (trace_id, span_id) in self.places:
                    return self.places[trace_id, span_id]
        # A caller's trace may hold several prompts: the latest that had begun.
        begun = [
            index
            for index, turn in enumerate(self.turns)
            if turn.place is not None and turn.place[0] == trace_id and turn.prompt.time_ns <= time_ns
        ]
        return begun[-1] if begun else -1


def is_ours(item: Span | LogRecord) -> bool:
    """Whether Claude Code sent it."""
    return item.scope.name.startswith(SCOPE)


def sent_any(session: Session) -> bool:
    """Whether Claude Code sent any of it."""
    return any(scope.startswith(SCOPE) for scope in session.scopes)


def telemetry(session: Session) -> Telemetry:
    """Arrange the session. What other programs sent under the same session id is left aside."""
    spans = [span for span in session.spans if is_ours(span)]
    records = sorted((record for record in session.records if is_ours(record)), key=_place_in_log)
    tree = tree_of(spans)
    by_kind: defaultdict[str, list[Span]] = defaultdict(list)
    for span in tree.spans.values():
        by_kind[kind_of(span)].append(span)
    by_event: defaultdict[str, list[LogRecord]] = defaultdict(list)
    for record in records:
        by_event[(record.event_name or "").removeprefix(PREFIX)].append(record)
    turns = _turns(by_kind[INTERACTION], by_event["user_prompt"])
    return _with_agents(
        Telemetry(
            spans={kind: tuple(found) for kind, found in by_kind.items() if found},
            events={name: tuple(found) for name, found in by_event.items()},
            tree=tree,
            turns=turns,
            places={turn.place: index for index, turn in enumerate(turns) if turn.place},
            prompt_ids={turn.prompt_id: index for index, turn in enumerate(turns) if turn.prompt_id},
            spawned={},
            agent_of_request={},
            agent_of_call={},
        )
    )


def kind_of(span: Span) -> str:
    """The span's name without `claude_code.`."""
    return span.name.removeprefix(PREFIX)


def content(attributes: Attributes, *keys: str) -> str | None:
    """The first of these texts that was recorded and not withheld."""
    found = (attrs.text(attributes, key) for key in keys)
    return next((text for text in found if text is not None and text != REDACTED), None)


def query_source(attributes: Attributes) -> str | None:
    """What a model request was for: `sdk`, `repl_main_thread`, `agent:...`; spans may write it with dots."""
    source = attrs.text(attributes, "query_source") or attrs.text(attributes, "query_source_safe")
    return source.replace(".", ":") if source else None


def _place_in_log(record: LogRecord) -> tuple[int, int, int]:
    """Record times are whole milliseconds; within one, `event.sequence` counts. It restarts in a resumed process."""
    return record.time_ns, attrs.integer(record.attributes, "event.sequence") or 0, record.position


def _turns(interactions: Iterable[Span], prompts: Iterable[LogRecord]) -> tuple[Turn, ...]:
    recorded = list(prompts)
    logged: dict[Key, LogRecord] = {
        (record.trace_id, record.span_id): record for record in recorded if record.trace_id and record.span_id
    }
    found: list[Turn] = []
    for span in interactions:
        record = logged.get(key_of(span))
        text = content(span.attributes, "user_prompt")
        if text is None and record is not None:
            text = content(record.attributes, "prompt_text", "prompt")
        prompt = Prompt(text, span_anchor(span), span.start_ns)
        found.append(_turn(prompt, key_of(span), record, ended=True))
    seen = {turn.place for turn in found}
    for record in recorded:
        place = (record.trace_id, record.span_id) if record.trace_id and record.span_id else None
        if place is None or place not in seen:
            seen.add(place)
            prompt = Prompt(content(record.attributes, "prompt_text", "prompt"), record_anchor(record), record.time_ns)
            found.append(_turn(prompt, place, record, ended=False))
    return tuple(sorted(found, key=lambda turn: turn.prompt.time_ns))


def _turn(prompt: Prompt, place: Key | None, record: LogRecord | None, *, ended: bool) -> Turn:
    if record is None:
        return Turn(prompt, place, None, ended=ended)
    prompt_id = attrs.text(record.attributes, "prompt.id")
    return Turn(prompt, place, prompt_id, attrs.text(record.attributes, "command_name"), ended)


def _with_agents(found: Telemetry) -> Telemetry:
    """With the agents that tool calls started. Without an `agent_id` below, the call's id names the agent."""
    inside = [(span, above) for span in (*found.of(REQUEST), *found.of(TOOL)) if (above := found.tool_above(span))]
    spawned: dict[Key, str] = {}
    for span, above in inside:
        own = attrs.text(span.attributes, "agent_id")
        if own:
            spawned.setdefault(key_of(above), own)
    for _, above in inside:
        spawned.setdefault(key_of(above), f"agent of {attrs.text(above.attributes, 'tool_use_id') or above.span_id}")
    found = replace(found, spawned=spawned)
    return replace(
        found,
        agent_of_request={
            request: found.agent_of_span(span)
            for span in found.of(REQUEST)
            if (request := attrs.text(span.attributes, "request_id"))
        },
        agent_of_call={
            call: found.agent_of_span(span)
            for span in found.of(TOOL)
            if (call := attrs.text(span.attributes, "tool_use_id"))
        },
    )
