"""Ids for tool calls that the model gave none.

ADK gives such a call an id of its own, which stands on its `execute_tool` span only: it is taken out before anything
goes to the model, and schema 2 then tells the call's tool and place in its message (`quote_0`) instead, anew in every
message. Here calls, spans and results are joined by what is left: agent, tool and order.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from extractors import attributes as at
from extractors.conventions.genai_content import DETAILS
from extractors.conventions.genai_spans import AGENT, INFERENCE, TOOL, operation
from extractors.messages import ASSISTANT_ROLES
from extractors.spans import Attributes, Session, Span, Value
from extractors.tree import Key, Tree, key_of, owning_agents, tree_of

NO_ID: Final = "<not specified>"

_Place: TypeAlias = tuple[int, int]
"""Index of a message, index of a part in it."""

_Ids: TypeAlias = Mapping[_Place, str | None]
"""Where to put which id; None where the id says nothing and goes."""

_Part: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class _Change:
    """What to change in the messages that one request tells, wherever it tells them."""

    inputs: _Ids
    outputs: _Ids

    def of(self, attributes: Attributes) -> Attributes:
        changed = dict(attributes)
        for key, ids in ((at.INPUT_MESSAGES, self.inputs), (at.OUTPUT_MESSAGES, self.outputs)):
            told = at.json_list(attributes, key) if ids else None
            if told is not None:
                changed[key] = _with_ids(told, ids)
        return changed


@dataclass(slots=True)
class _Run:
    """One run of an agent, its requests gone through in time order.

    `made_up` are the ids that stood for a tool and a place so far; `unanswered` maps the tools that the last request
    called without an id → the ids given to those calls, in order.
    """

    requests: list[Span] = field(default_factory=list)
    tools: list[Span] = field(default_factory=list)
    made_up: set[str] = field(default_factory=set)
    unanswered: dict[str, deque[str]] = field(default_factory=dict)


def with_call_ids(session: Session) -> Session:
    """The same session; a call that has no id of its own has that of its span, or else one made of its request."""
    spans = tuple(_without_placeholder(span) for span in session.spans)
    tree = tree_of(spans)
    told: defaultdict[Key, list[Attributes]] = defaultdict(list)
    for record in session.records:
        if record.event_name == DETAILS:
            told[record.trace_id or "", record.span_id or ""].append(record.attributes)
    changes: dict[Key, _Change] = {}
    for run in _runs(tree):
        for request, executed in _rounds(run):
            parts = tuple(_parts_of(tree, request))
            carriers = [span.attributes for span in parts]
            carriers += [attributes for span in parts for attributes in told.get(key_of(span), ())]
            change = _change(run, request, carriers, executed)
            changes.update({key_of(span): change for span in parts if change.inputs or change.outputs})
    if not changes:
        return replace(session, spans=spans)
    return replace(
        session,
        spans=tuple(
            replace(span, attributes=changes[key_of(span)].of(span.attributes)) if key_of(span) in changes else span
            for span in spans
        ),
        records=tuple(
            replace(record, attributes=changes[key].of(record.attributes))
            if record.event_name == DETAILS and (key := (record.trace_id or "", record.span_id or "")) in changes
            else record
            for record in session.records
        ),
    )


def _without_placeholder(span: Span) -> Span:
    if span.attributes.get(at.TOOL_CALL_ID) != NO_ID:
        return span
    return replace(span, attributes={key: value for key, value in span.attributes.items() if key != at.TOOL_CALL_ID})


def _runs(tree: Tree) -> list[_Run]:
    """Requests and tool spans by the agent span above them; by trace where none arrived."""
    owners = owning_agents(tree, lambda span: operation(span) == AGENT)
    runs: defaultdict[Key, _Run] = defaultdict(_Run)
    for span in tree.spans.values():  # in time order
        owner = owners.get(key_of(span))
        run = runs[(span.trace_id, "") if owner is None else key_of(owner)]
        parent = tree.parent(span)
        if operation(span) == TOOL:
            run.tools.append(span)
        elif operation(span) in INFERENCE and (parent is None or operation(parent) not in INFERENCE):
            run.requests.append(span)
    return list(runs.values())


def _parts_of(tree: Tree, request: Span) -> Iterator[Span]:
    """A request and the spans of the same request inside it."""
    waiting = deque([request])
    while waiting:
        span = waiting.popleft()
        yield span
        waiting.extend(below for below in tree.children(span) if operation(below) in INFERENCE)


def _rounds(run: _Run) -> Iterator[tuple[Span, Mapping[str, deque[Span]]]]:
    """Each request with the tool spans that began before the next one, by tool."""
    waiting = deque(run.tools)
    for index, request in enumerate(run.requests):
        last = index + 1 == len(run.requests)
        executed: defaultdict[str, deque[Span]] = defaultdict(deque)
        while waiting and (last or waiting[0].start_ns < run.requests[index + 1].start_ns):
            span = waiting.popleft()
            if span.start_ns >= request.start_ns:
                executed[at.text(span.attributes, at.TOOL_NAME) or ""].append(span)
        yield request, executed


def _change(run: _Run, request: Span, carriers: Sequence[Attributes], executed: Mapping[str, deque[Span]]) -> _Change:
    answered = _results(run, _first_list(carriers, at.INPUT_MESSAGES)) if run.made_up else {}
    asked: dict[_Place, str | None] = {}
    run.unanswered = {}
    for place, part in _parts(_first_list(carriers, at.OUTPUT_MESSAGES), "tool_call"):
        name = at.text(part, "name") or ""
        made_up = f"{name}_{place[1]}"
        if part.get("id") not in (None, "", made_up):
            continue
        spans = executed.get(name)
        own = at.text(spans.popleft().attributes, at.TOOL_CALL_ID) if spans else None
        identity = own or f"{request.span_id}/{place[0]}/{made_up}"
        asked[place] = identity
        run.made_up.add(made_up)
        run.unanswered.setdefault(name, deque()).append(identity)
    return _Change(answered, asked)


def _results(run: _Run, inputs: Sequence[Value]) -> _Ids:
    """Ids for the results that came since the model's last message; older calls and results lose theirs."""
    last = max((at_message for at_message, message in enumerate(inputs) if _by_model(message)), default=-1)
    found: dict[_Place, str | None] = {}
    for place, part in _parts(inputs, "tool_call"):
        if part.get("id") == f"{at.text(part, 'name') or ''}_{place[1]}":
            found[place] = None
    for place, part in _parts(inputs, "tool_call_response"):
        told = at.text(part, "id")
        if told and told not in run.made_up and not _is_made_up(run, told, place[1]):
            continue
        name = at.text(part, "name") or (told or "").rpartition("_")[0]
        waiting = run.unanswered.get(name) if place[0] > last else None
        found[place] = waiting.popleft() if waiting else None
    return found


def _is_made_up(run: _Run, told: str, index: int) -> bool:
    """A result may stand at another place in its message than its call in the model's."""
    name, _, place = told.rpartition("_")
    return place == str(index) and any(known.rpartition("_")[0] == name for known in run.made_up)


def _by_model(message: Value) -> bool:
    return (at.as_mapping(message) or {}).get("role") in ASSISTANT_ROLES


def _first_list(carriers: Sequence[Attributes], key: str) -> Sequence[Value]:
    return next((found for attributes in carriers if (found := at.json_list(attributes, key)) is not None), ())


def _parts(messages: Sequence[Value], kind: str) -> Iterator[tuple[_Place, _Part]]:
    for at_message, message in enumerate(messages):
        for at_part, part in enumerate(at.as_list((at.as_mapping(message) or {}).get("parts")) or ()):
            body = at.as_mapping(part)
            if body is not None and body.get("type") == kind:
                yield (at_message, at_part), body


def _with_ids(messages: Sequence[Value], ids: _Ids) -> list[Value]:
    """The messages with these ids. Another telling of the same request may have fewer messages."""
    changed = list(messages)
    for at_message in {place[0] for place in ids if place[0] < len(messages)}:
        body = at.as_mapping(messages[at_message]) or {}
        parts = list(at.as_list(body.get("parts")) or ())
        for at_part, part in enumerate(parts):
            if (at_message, at_part) in ids:
                parts[at_part] = {**(at.as_mapping(part) or {}), "id": ids[at_message, at_part]}
        changed[at_message] = {**body, "parts": parts}
    return changed
