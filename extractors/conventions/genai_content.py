"""What a span or its log events say of one exchange with a model, wherever the emitter put it.

Content travels in span attributes, in span events or in log events, as whole message lists (since v1.37) or as
one event per message (before). Attributes win over span events, and those over log events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from extractors import attributes as at
from extractors.conventions.genai_indexed import (
    COMPLETION,
    PROMPT,
    indexed_functions,
    indexed_messages,
    is_indexed,
)
from extractors.messages import (
    SYSTEM_ROLES,
    Message,
    from_parts,
    history,
    message,
    messages,
    parts_of,
    text_of,
    tool_definitions,
)
from extractors.spans import Attributes, LogRecord, Span, Value
from extractors.trajectory import ToolDefinition

DETAILS: Final = "gen_ai.client.inference.operation.details"
EXCEPTION: Final = "gen_ai.client.operation.exception"
CHOICE: Final = "gen_ai.choice"
MESSAGE_ROLES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
OLD_PROMPT: Final = "gen_ai.content.prompt"
OLD_COMPLETION: Final = "gen_ai.content.completion"
PROMPT_JSON: Final = "gen_ai.prompt"
COMPLETION_JSON: Final = "gen_ai.completion"
CONTENT_EVENTS: Final = frozenset({DETAILS, CHOICE, OLD_PROMPT, OLD_COMPLETION, *MESSAGE_ROLES})

ASSISTANT: Final = "assistant"

_JSON: Final = (at.SYSTEM_INSTRUCTIONS, at.INPUT_MESSAGES, at.OUTPUT_MESSAGES, at.TOOL_DEFINITIONS)
_LISTS: Final = frozenset({at.INPUT_MESSAGES, at.OUTPUT_MESSAGES})
_OPENING: Final = ("[", "{")
_CONTENT_FIELDS: Final = frozenset({"content", "parts", "tool_calls", "id", "toolUse", "text"})

RESULTS_OF_CYCLE: Final = "tool.result"
"""On a `gen_ai.choice` event: what the tools that the choice asked for answered (Strands)."""


class Content(NamedTuple):
    """One exchange: the system prompt, what went in, what came out. None: not recorded. `unread`: the span's own
    attributes that could not be read (`unreadable`)."""

    system: str | None = None
    inputs: tuple[Message, ...] | None = None
    outputs: tuple[Message, ...] | None = None
    definitions: tuple[ToolDefinition, ...] | None = None
    unread: tuple[str, ...] = ()

    def or_else(self, other: Content) -> Content:
        """This content, completed from the other; of two definitions of a tool the fuller stays."""
        if other is NOTHING:
            return self
        return Content(
            self.system if self.system is not None else other.system,
            self.inputs if self.inputs is not None else other.inputs,
            self.outputs if self.outputs is not None else other.outputs,
            all_definitions((self.definitions, other.definitions)),
            self.unread,
        )


NOTHING: Final = Content()


class ContentEvent(NamedTuple):
    """A span event or a log event: its name, and its fields (attributes; for a log event also those of its body)."""

    name: str
    fields: Attributes


def content_of(span: Span, records: Sequence[LogRecord]) -> Content:
    """All that is recorded of a span's exchange. `records` are the log records tied to the span, in time order."""
    found = content_in(span.attributes).or_else(_before_lists(span.attributes))
    if span.events:
        found = found.or_else(from_events([ContentEvent(event.name, event.attributes) for event in span.events]))
    return found.or_else(from_events(log_events(records))) if records else found


def _before_lists(attributes: Attributes) -> Content:
    """Content in attributes as it was before message lists: a field each, or JSON text of all messages."""
    if is_indexed(attributes):
        inputs = messages(indexed_messages(attributes, PROMPT))
        outputs = messages(indexed_messages(attributes, COMPLETION), ASSISTANT)
        return Content(_system_text(inputs), inputs, outputs, tool_definitions(indexed_functions(attributes)))
    if PROMPT_JSON in attributes or COMPLETION_JSON in attributes:
        inputs = messages(attributes.get(PROMPT_JSON))
        return Content(_system_text(inputs), inputs, messages(attributes.get(COMPLETION_JSON), ASSISTANT))
    return NOTHING


def log_events(records: Iterable[LogRecord]) -> list[ContentEvent]:
    """Content events among log records, the fields of a structured body beside the attributes."""
    return [
        ContentEvent(record.event_name, {**record.attributes, **(at.as_object(record.body) or {})})
        for record in records
        if record.event_name in CONTENT_EVENTS
    ]


def content_in(attributes: Attributes) -> Content:
    """Message lists in attributes, structured or as JSON text."""
    instructions = attributes.get(at.SYSTEM_INSTRUCTIONS)
    inputs = messages(attributes.get(at.INPUT_MESSAGES))
    outputs = messages(attributes.get(at.OUTPUT_MESSAGES))
    definitions = tool_definitions(attributes.get(at.TOOL_DEFINITIONS))
    system = text_of(instructions) if instructions is not None else _system_text(inputs)
    # A text that could not be read as JSON is taken as it is.
    whole = inputs is not None and outputs is not None and definitions is not None and system != instructions
    return Content(system, inputs, outputs, definitions, () if whole else unreadable(attributes))


def from_events(events: Sequence[ContentEvent]) -> Content:
    """Content of details events, which may hold one part each, else of per-message events, else of the oldest form."""
    if not events:
        return NOTHING
    lists = NOTHING
    for event in events:
        if event.name == DETAILS:
            lists = _joined(lists, content_in(event.fields))
    return lists.or_else(_per_message(events)).or_else(_oldest(events))


def _joined(first: Content, second: Content) -> Content:
    """Two parts of one exchange; message lists are strung together."""
    return Content(
        first.system if first.system is not None else second.system,
        _strung(first.inputs, second.inputs),
        _strung(first.outputs, second.outputs),
        all_definitions((first.definitions, second.definitions)),
    )


def _strung(first: tuple[Message, ...] | None, second: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    return (*(first or ()), *(second or ())) if first is not None or second is not None else None


def _per_message(events: Sequence[ContentEvent]) -> Content:
    """`gen_ai.<role>.message` and `gen_ai.choice`, in the order they were recorded. Events that say nothing but that
    there was a message (content capture is off) give nothing."""
    inputs = [_event_message(event) for event in events if event.name in MESSAGE_ROLES and _tells(event.fields)]
    outputs = [_event_message(event) for event in events if event.name == CHOICE and _tells_choice(event.fields)]
    results = [_cycle_results(event) for event in events if RESULTS_OF_CYCLE in event.fields]
    system = _system_text(inputs)
    if not inputs and not outputs:
        return Content()
    rest = [message for message in (*inputs, *results) if message.role not in SYSTEM_ROLES]
    return Content(system, tuple(rest) if inputs else None, tuple(outputs) if outputs else None)


def _tells(fields: Attributes) -> bool:
    return not _CONTENT_FIELDS.isdisjoint(fields)


def _tells_choice(fields: Attributes) -> bool:
    body = at.as_object(fields.get("message"))
    return _tells(fields) or (_tells(body) if body is not None else fields.get("message") is not None)


def _event_message(event: ContentEvent) -> Message:
    role = MESSAGE_ROLES.get(event.name, "assistant")
    if event.name != CHOICE:
        return message({**_only(event.fields, ("content", "tool_calls", "id", "role")), "role": role}, role)
    finish = at.text(event.fields, "finish_reason")
    body = at.as_object(event.fields.get("message"))
    if body is not None:
        found = message({**_only(event.fields, ("tool_calls",)), **body}, role)
        return Message(found.role, found.text, found.calls, found.results, found.finish_reason or finish)
    return from_parts(role, parts_of(event.fields.get("message")), finish)


def _only(fields: Attributes, keys: Iterable[str]) -> dict[str, Value]:
    return {key: fields[key] for key in keys if key in fields}


def _cycle_results(event: ContentEvent) -> Message:
    return from_parts("tool", parts_of(event.fields.get(RESULTS_OF_CYCLE)))


def _oldest(events: Sequence[ContentEvent]) -> Content:
    """Up to v1.27: JSON in `gen_ai.prompt` and `gen_ai.completion` of two span events."""
    prompt = next((messages(event.fields.get(PROMPT_JSON)) for event in events if event.name == OLD_PROMPT), None)
    done = [messages(event.fields.get(COMPLETION_JSON), ASSISTANT) for event in events if event.name == OLD_COMPLETION]
    outputs = next(iter(done), None)
    return Content(_system_text(prompt), prompt, outputs)


def _system_text(found: Iterable[Message] | None) -> str | None:
    if not found:
        return None
    texts = [item.text for item in found if item.role in SYSTEM_ROLES]
    return "\n".join(texts) if texts else None


def all_definitions(lists: Iterable[tuple[ToolDefinition, ...] | None]) -> tuple[ToolDefinition, ...] | None:
    """The union by tool name, in first-seen order, the fuller definition of each; None when no list was recorded."""
    recorded = [definitions for definitions in lists if definitions is not None]
    if not recorded:
        return None
    by_name: dict[str, ToolDefinition] = {}
    before: tuple[ToolDefinition, ...] | None = None
    for definitions in recorded:
        if definitions is before:  # every request repeats the tools, and equal texts are read once
            continue
        before = definitions
        for definition in definitions:
            known = by_name.get(definition.name)
            if known is None or _fullness(definition) > _fullness(known):
                by_name[definition.name] = definition
    return tuple(by_name.values())


def _fullness(definition: ToolDefinition) -> int:
    return 2 * (definition.schema is not None) + (definition.description is not None)


def unreadable(attributes: Attributes) -> tuple[str, ...]:
    """Keys whose message JSON is there but cannot be read; usually an attribute length limit cut it."""
    return tuple([key for key in _JSON if key in attributes and _is_cut(key, attributes[key])])


def _is_cut(key: str, value: Value) -> bool:
    if not isinstance(value, str) or not value.startswith(_OPENING):
        return False
    # Asked is what has read the text already: messages piece by piece, anything else as a whole.
    return (history(value) if key in _LISTS else at.parse_json(value)) is None


def records_by_span(records: Iterable[LogRecord]) -> Mapping[tuple[str | None, str | None], list[LogRecord]]:
    """(trace id, span id) → its log records, in the given order."""
    found: dict[tuple[str | None, str | None], list[LogRecord]] = {}
    for record in records:
        found.setdefault((record.trace_id, record.span_id), []).append(record)
    return found
