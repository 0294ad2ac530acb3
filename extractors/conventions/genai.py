"""OpenTelemetry GenAI conventions, all versions: message lists and per-message events, in spans or in log events.

Used directly for emitters that no harness module claims, and by harness modules through `read`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extractors import attributes as at
from extractors.anchors import Anchor
from extractors.conventions.genai_calls import declared_skills, tool_calls
from extractors.conventions.genai_catalogs import Offer, Reader, offers
from extractors.conventions.genai_content import CONTENT_EVENTS, Content, all_definitions, unreadable
from extractors.conventions.genai_failures import failure_text, failures, has_failed
from extractors.conventions.genai_spans import Layout, Placed, layout_of, operation
from extractors.conventions.genai_turns import Turns, turns_of
from extractors.coverage import CONTENT, Setting, Signal
from extractors.messages import ASSISTANT_ROLES, Message
from extractors.skill_signals import catalog, invocations, with_refusals
from extractors.skills import SkillInvocation
from extractors.spans import Session, Value
from extractors.trajectory import (
    ROOT_AGENT,
    Agent,
    CallOutcome,
    Step,
    ToolCall,
    ToolDefinition,
    Trajectory,
    Versions,
)
from extractors.tree import span_anchor

NAME = "genai"

SETTINGS: Final = (
    Setting(
        CONTENT,
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT",
        "true with instrumentations before v1.37 of the conventions",
    ),
    Setting(
        (Signal.SYSTEM_PROMPT, Signal.DEFINITIONS),
        "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental",
        "the current form of the conventions",
    ),
    Setting((Signal.TOKENS, Signal.HARNESS_VERSION), None, "where the emitter leaves them out"),
)
CREATION = "create_agent"


def _as_it_is(call: ToolCall) -> ToolCall:
    return call


@dataclass(frozen=True, slots=True)
class Habits:
    """What a harness does beyond the convention.

    `spans_every_call`: it makes an `execute_tool` span for every call it runs, so that an answered call without
    one was refused before it ran. `no_tools`: names of tools, in spans and requests, that stand for no call.
    `settle`: the harness's last word on a call, before skills are read from it.
    `catalog`: the skills that a text offers; None when it holds no catalog.
    """

    harness: str = NAME
    spans_every_call: bool = False
    no_tools: frozenset[str] = frozenset({"(merged tools)"})
    settle: Callable[[ToolCall], ToolCall] = _as_it_is
    catalog: Reader = catalog


PLAIN = Habits()


def recognizes(session: Session) -> bool:
    """Whether any span names a GenAI operation or any log event carries GenAI content."""
    return any(operation(span) is not None for span in session.spans) or any(
        record.event_name in CONTENT_EVENTS for record in session.records
    )


def extract(session: Session) -> Trajectory:
    """What the agent did, by the convention alone."""
    return read(session, PLAIN)


def read(session: Session, habits: Habits) -> Trajectory:
    """What the agent did, by the convention and the habits of its harness."""
    layout = layout_of(session)
    turns = turns_of(layout)
    found = with_refusals(tool_calls(layout, turns, habits.spans_every_call, habits.no_tools))
    calls = tuple(habits.settle(call) for call in found)
    steps = tuple(_step(placed, turns) for placed in layout.exchanges)
    loads = invocations(calls, declared_skills(layout))
    offered = offers(_agent_ids(layout, calls), layout, turns, calls, habits.catalog)
    root_offer = offered.get(ROOT_AGENT, Offer())
    definitions = all_definitions(
        placed.content.definitions for placed in (*layout.exchanges, *layout.agent_spans) if placed.agent == ROOT_AGENT
    )
    answer, answer_anchor = _answer(layout, steps)
    return Trajectory(
        session.session_id,
        habits.harness,
        tuple(turns.prompts),
        root_offer.skills,
        root_offer.anchor,
        loads,
        steps,
        calls,
        definitions,
        answer,
        answer_anchor,
        tuple(_agent(agent, layout, offer) for agent, offer in offered.items()),
        failures(layout),
        _versions(layout, definitions, loads),
        _root_anchor(layout, session),
        notes=tuple(_notes(layout, calls, habits)),
    )


def _step(placed: Placed, turns: Turns) -> Step:
    outputs = placed.content.outputs
    attributes = placed.attributes
    reasons = [message.finish_reason for message in outputs or () if message.finish_reason]
    call_ids = [call.call_id for message in outputs or () for call in message.calls if call.call_id is not None]
    return Step(
        placed.anchor,
        placed.agent,
        placed.start_ns,
        placed.end_ns,
        _said(outputs),
        tuple(call_ids),
        at.text(attributes, at.REQUEST_MODEL),
        at.text(attributes, at.RESPONSE_MODEL),
        next(iter((*_finish_reasons(attributes.get(at.FINISH_REASONS)), *reasons)), None),
        _first_integer(placed, at.INPUT_TOKENS, at.PROMPT_TOKENS),
        _first_integer(placed, at.OUTPUT_TOKENS, at.COMPLETION_TOKENS),
        (failure_text(placed) or "error") if has_failed(placed) else None,
        turns.index(placed),
    )


def _said(outputs: Sequence[Message] | None) -> str | None:
    """The text of an answer, "" when it has none; None when it was not recorded."""
    texts = [message.text for message in outputs or () if message.text]
    hidden = outputs is None or (not texts and any(message.hidden for message in outputs))
    return None if hidden else "\n".join(texts)


def _finish_reasons(value: Value) -> Sequence[str]:
    """A list of texts, or JSON text of one."""
    items = at.as_list(at.parse_json(value) if isinstance(value, str) and value.startswith("[") else value)
    if items is None:
        return (value,) if isinstance(value, str) and value else ()
    return [item for item in items if isinstance(item, str) and item]


def _first_integer(placed: Placed, *keys: str) -> int | None:
    for key in keys:  # a loop, as a generator costs more than it asks
        found = at.integer(placed.attributes, key)
        if found is not None:
            return found
    return None


def _agent_ids(layout: Layout, calls: Iterable[ToolCall]) -> tuple[str, ...]:
    """Every agent of the session, the root first, the others in order of appearance."""
    seen = (*layout.agents, *(placed.agent for placed in layout.exchanges), *(call.agent for call in calls))
    if not seen:
        return ()
    return tuple(dict.fromkeys((ROOT_AGENT, *seen)))


def _agent(agent: str, layout: Layout, offer: Offer) -> Agent:
    """The agent as its span describes it; requests inside no agent span name it, too."""
    known = layout.agents.get(agent)
    name = known.name if known is not None else None
    if name is None:
        own = [placed for placed in (*layout.exchanges, *layout.tools) if placed.agent == agent]
        name = next((name for placed in own if (name := at.text(placed.attributes, at.AGENT_NAME))), None)
    if known is None:
        return Agent(agent, name, offered_skills=offer.skills)
    return Agent(agent, name, known.version, known.parent, offer.skills)


def _answer(layout: Layout, steps: Sequence[Step]) -> tuple[str | None, Anchor | None]:
    """The root agent's last text that asks for no tool; else, of a run that ended, its last text at all.

    Where the requests do not tell, the agent span's own output messages do. A run that is not over, or was killed, has
    said at most what it was about to do.
    """
    asking = {
        placed.anchor for placed in layout.exchanges if any(message.calls for message in placed.content.outputs or ())
    }
    own = [step for step in steps if step.agent == ROOT_AGENT and step.text]
    final = [(step.end_ns, step.text, step.anchor) for step in own if step.anchor not in asking]
    said_by_steps = max((end_ns for end_ns, _, _ in final), default=0)
    ended = [placed for placed in layout.agent_spans if placed.agent == ROOT_AGENT]
    final += [
        (placed.end_ns, text, placed.anchor)
        for placed in ended
        if placed.start_ns > said_by_steps and (text := _last_said(placed))
    ]
    if not final:
        runs = {placed.run for placed in ended}
        over = {placed.anchor for placed in layout.exchanges if placed.run in runs}
        final = [(step.end_ns, step.text, step.anchor) for step in own if step.anchor in over]
        final = final or _delegated(steps, asking)
    if not final:
        return None, None
    _, text, anchor = max(final, key=lambda item: (item[0], item[2].ref))
    return text, anchor


def _delegated(steps: Sequence[Step], asking: Container[Anchor]) -> list[tuple[int, str | None, Anchor]]:
    """When the root agent only delegates, what its agents said is what the person got."""
    if any(step.agent == ROOT_AGENT for step in steps):
        return []
    return [(step.end_ns, step.text, step.anchor) for step in steps if step.text and step.anchor not in asking]


def _last_said(placed: Placed) -> str | None:
    said = [message for message in placed.content.outputs or () if message.role in ASSISTANT_ROLES]
    return said[-1].text.strip() if said and not said[-1].calls else None


def _versions(
    layout: Layout, definitions: tuple[ToolDefinition, ...] | None, loads: Iterable[SkillInvocation]
) -> Versions:
    own = [placed for placed in (*layout.agent_spans, *layout.exchanges) if placed.agent == ROOT_AGENT]
    # A session may be no more than calls, as when the model is not instrumented: rules by service are about it, too.
    sent = own or [placed for placed in (*layout.tools, *layout.others) if placed.agent == ROOT_AGENT]
    root = _agent(ROOT_AGENT, layout, Offer())
    requests = [placed.attributes for placed in layout.exchanges]
    system = next((placed.content.system for placed in (*layout.exchanges, *own) if _tells_system(placed)), None)
    return Versions(
        _first_text(at.text(placed.resource.attributes, at.SERVICE_NAME) for placed in sent),
        _first_text(at.text(placed.resource.attributes, at.SERVICE_VERSION) for placed in sent),
        root.name,
        root.version,
        _first_text(placed.scope.version for placed in own),
        _sorted_texts(at.text(attributes, at.REQUEST_MODEL) for attributes in requests),
        _sorted_texts(at.text(attributes, at.RESPONSE_MODEL) for attributes in requests),
        None if system is None else _hash(system),
        None if definitions is None else definitions_hash(definitions),
        _bodies(loads),
    )


def _bodies(loads: Iterable[SkillInvocation]) -> dict[str, str] | None:
    found = {load.name: load.body_hash for load in loads if load.name and load.body_hash is not None}
    return found or None


def with_loads(trajectory: Trajectory, loads: Iterable[SkillInvocation]) -> Trajectory:
    """The trajectory with these attempts to load skills instead, the versions of the skills by their bodies."""
    loads = tuple(loads)
    versions = replace(trajectory.versions, skill_bodies=_bodies(loads))
    return replace(trajectory, skill_invocations=loads, versions=versions)


def _tells_system(placed: Placed) -> bool:
    return placed.agent == ROOT_AGENT and placed.content.system is not None


def _first_text(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value), None)


def _sorted_texts(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value}))


def definitions_hash(definitions: Sequence[ToolDefinition]) -> str:
    """16 hex digits of the SHA-256 of the definitions, whatever their order."""
    ordered = sorted(definitions, key=lambda definition: definition.name)
    return _hash(at.json_text([[one.name, one.description, one.schema] for one in ordered]))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _root_anchor(layout: Layout, session: Session) -> Anchor | None:
    """The root span of the first run; for log events alone, the first of them."""
    places = [*layout.top_agents.values(), *layout.exchanges, *layout.tools]
    spans = [placed.span for placed in places if placed.span is not None]
    if spans:
        return span_anchor(layout.tree.top(min(spans, key=lambda span: (span.start_ns, span.span_id))))
    if session.spans:
        return span_anchor(layout.tree.roots()[0]) if layout.tree.roots() else span_anchor(session.spans[0])
    return layout.exchanges[0].anchor if layout.exchanges else None


def _notes(layout: Layout, calls: Iterable[ToolCall], habits: Habits) -> Iterable[str]:
    """Remarks on content that could not be read, that was never sent, and on refusals that were inferred."""
    placed = (*layout.agent_spans, *layout.exchanges)
    for key, count in sorted(Counter(key for one in placed for key in _unread(one)).items()):
        yield f"{count} x {key}: not readable as JSON, probably cut by an attribute length limit"
    if not placed and any(operation(span) == CREATION for span in layout.tree.spans.values()):
        yield "an agent was created, nothing was asked of it here"
    contents = [one.content for one in placed]
    if contents and not any(_tells_content(one) for one in contents):
        yield "no message content was recorded: content capture is probably off in the agent"
    inferred = [call for call in calls if call.outcome is CallOutcome.REFUSED and call.start_ns is None]
    if habits.spans_every_call and inferred:
        names = ", ".join(call.name for call in inferred)
        yield f"taken as refused, since answered without an execute_tool span: {names}"


def _unread(placed: Placed) -> Sequence[str]:
    """Keys of what cannot be read; asked anew where attributes of several spans or records were put together."""
    own = placed.span is not None and placed.attributes is placed.span.attributes
    return placed.content.unread if own else unreadable(placed.attributes)


def _tells_content(content: Content) -> bool:
    if content.inputs is None and content.outputs is None:
        return False
    hides = False
    for message in (*(content.inputs or ()), *(content.outputs or ())):
        if message.text:
            return True
        hides = hides or message.hidden
    return not hides
