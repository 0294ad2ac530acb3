"""The spans of a GenAI session sorted by what they are: agents, model requests, tools; whose and in which run.

A *run* is one top-level agent span with all below it, or a graph of several agents, usually one turn of the
conversation; where no agent span was recorded, a trace is a run. Spans are told by `gen_ai.operation.name`, never by
their name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from extractors import attributes as at
from extractors.anchors import Anchor
from extractors.conventions.genai_content import (
    CHOICE,
    CONTENT_EVENTS,
    DETAILS,
    NOTHING,
    Content,
    content_of,
    from_events,
    log_events,
    records_by_span,
)
from extractors.spans import Attributes, LogRecord, Resource, Scope, Session, Span
from extractors.trajectory import ROOT_AGENT, Agent
from extractors.tree import Key, Tree, key_of, record_anchor, tree_of

AGENT: Final = "invoke_agent"
WORKFLOW: Final = "invoke_workflow"
ORCHESTRATIONS: Final = frozenset({WORKFLOW, "invoke_graph", "invoke_swarm"})
WORKFLOW_NAME: Final = "gen_ai.workflow.name"
TOOL: Final = "execute_tool"
INFERENCE: Final = frozenset({"chat", "generate_content", "text_completion"})
MCP_METHOD: Final = "mcp.method.name"
MCP_CALL: Final = "tools/call"


class Placed(NamedTuple):
    """A span in its place: the agent it belongs to, its run, and the span of the same kind around it, if any.

    `span` is None for log events whose span never arrived; they are placed like a model request.
    """

    anchor: Anchor
    agent: str
    run: Key
    start_ns: int
    end_ns: int
    attributes: Attributes
    resource: Resource
    scope: Scope
    span: Span | None = None
    records: tuple[LogRecord, ...] = ()
    around: Key | None = None
    content: Content = NOTHING


@dataclass(slots=True)
class Layout:
    """A session's spans by kind, each list in time order. `others` are the rest of the spans that carry content."""

    tree: Tree
    agents: dict[str, Agent] = field(default_factory=dict)
    agent_spans: list[Placed] = field(default_factory=list)
    exchanges: list[Placed] = field(default_factory=list)
    tools: list[Placed] = field(default_factory=list)
    others: list[Placed] = field(default_factory=list)
    top_agents: dict[Key, Placed] = field(default_factory=dict)
    """run → its top-level agent span"""


class _Met(NamedTuple):
    """A span on the walk through the tree, with what is asked of it again and again."""

    span: Span
    key: Key
    operation: str | None


class _Inherited(NamedTuple):
    """What a span's parent passes down: its agent, its run, the nearest tool span and the outermost request span
    around, within that agent."""

    agent: str = ROOT_AGENT
    run: Key | None = None
    tool: Key | None = None
    request: Key | None = None
    agent_name: str | None = None


_NOTHING_ABOVE: Final = _Inherited()


def operation(span: Span) -> str | None:
    """`gen_ai.operation.name`; an MCP tool call counts as `execute_tool` even where it was not set."""
    named = span.attributes.get(at.OPERATION_NAME)
    if isinstance(named, str):
        return named
    return TOOL if span.attributes.get(MCP_METHOD) == MCP_CALL else None


def layout_of(session: Session) -> Layout:
    """Sort a session's spans, and the log events whose span is missing."""
    tree = tree_of(session.spans)
    records = records_by_span(session.records)
    layout = Layout(tree)
    inherited: dict[Key, _Inherited] = {}
    orphans: list[tuple[_Met, _Inherited, _Inherited]] = []
    for span in tree.walk():
        met = _Met(span, (span.trace_id, span.span_id), operation(span))
        above = inherited.get((span.trace_id, span.parent_id), _NOTHING_ABOVE) if span.parent_id else _NOTHING_ABOVE
        here = _passed_down(layout, met, above)
        inherited[met.key] = here
        if here.run is None:
            orphans.append((met, above, here))
        else:
            _sort_in(layout, met, above, here.agent, here.run, records)
    runs = _runs_by_trace(layout)
    for met, above, here in orphans:
        run = _run_nearby(runs, met.span.trace_id, met.span.start_ns)
        _sort_in(layout, met, above, here.agent, run, records)
    layout.exchanges.extend(_spanless(layout, records, runs))
    for placed in (layout.agent_spans, layout.exchanges, layout.tools, layout.others):
        if len(placed) > 1:
            placed.sort(key=_time_order)
    _merge_nested_requests(layout)
    return layout


def _time_order(placed: Placed) -> tuple[int, str, str, str, int]:
    anchor = placed.anchor
    return placed.start_ns, anchor.signal, anchor.trace_id or "", anchor.span_id or "", anchor.record or 0


def _passed_down(layout: Layout, met: _Met, above: _Inherited) -> _Inherited:
    """What the children of this span inherit; registers the agent if the span starts one."""
    span, key, kind = met
    if kind == AGENT:
        return _agent_passed_down(layout, span, above)
    if kind == TOOL:
        return _Inherited(above.agent, above.run, key, None, above.agent_name)
    if kind in INFERENCE:
        return _Inherited(above.agent, above.run, above.tool, above.request or key, above.agent_name)
    if kind in ORCHESTRATIONS and above.run is None and _has_several_agents(layout.tree, span):
        return _orchestration_passed_down(layout, span)
    return above


def _has_several_agents(tree: Tree, span: Span) -> bool:
    """Whether agents of different names are next below it, steps of the orchestration passed over."""
    names: set[str | None] = set()
    seen = {key_of(span)}
    waiting = list(tree.children(span))
    while waiting:
        below = waiting.pop()
        if key_of(below) in seen:
            continue
        seen.add(key_of(below))
        kind = operation(below)
        if kind == AGENT:
            names.add(at.text(below.attributes, at.AGENT_NAME))
        elif kind not in ORCHESTRATIONS:
            waiting.extend(tree.children(below))
    return len(names) > 1


def _orchestration_passed_down(layout: Layout, span: Span) -> _Inherited:
    """A graph, swarm or workflow of several agents is what the person talks to; its agents are its sub-agents."""
    name = at.text(span.attributes, at.AGENT_NAME) or at.text(span.attributes, WORKFLOW_NAME)
    layout.agents.setdefault(ROOT_AGENT, Agent(ROOT_AGENT, name))
    return _Inherited(ROOT_AGENT, key_of(span))


def _agent_passed_down(layout: Layout, span: Span, above: _Inherited) -> _Inherited:
    name = at.text(span.attributes, at.AGENT_NAME)
    version = at.text(span.attributes, at.AGENT_VERSION)
    nested = above.run is not None or above.tool is not None or above.request is not None
    if not nested:
        identity = ROOT_AGENT
    elif above.tool is None and above.agent_name is not None and above.agent_name == name:
        identity = above.agent  # one agent, recorded by two instrumentations
    else:
        identity = f"{above.agent}/{name or 'agent'}"
    known = layout.agents.get(identity)
    if known is None:
        layout.agents[identity] = Agent(identity, name, version, above.agent if identity != ROOT_AGENT else None)
    run = above.run if above.run is not None else (key_of(span) if not nested else None)
    return _Inherited(identity, run, None, None, name)


def _sort_in(
    layout: Layout,
    met: _Met,
    above: _Inherited,
    agent: str,
    run: Key,
    records: Mapping[tuple[str | None, str | None], Sequence[LogRecord]],
) -> None:
    """Put a span into the list of its kind. `agent` is its own if it starts one, `run` the one that it is in."""
    span, key, kind = met
    own = tuple(records.get(key, ())) if records else ()
    if kind == AGENT or run == key:
        placed = _place(span, agent, run, own, None, content_of(span, own))
        layout.agent_spans.append(placed)
        if key == run:
            layout.top_agents[run] = placed
    elif kind == TOOL:
        layout.tools.append(_place(span, above.agent, run, own, above.tool, NOTHING))
    elif kind in INFERENCE:
        layout.exchanges.append(_place(span, above.agent, run, own, above.request, content_of(span, own)))
    elif _carries_content(span, own):
        layout.others.append(_place(span, above.agent, run, own, None, content_of(span, own)))


def _carries_content(span: Span, records: Sequence[LogRecord]) -> bool:
    named = {event.name for event in span.events} | {record.event_name for record in records}
    return not CONTENT_EVENTS.isdisjoint(named) or at.INPUT_MESSAGES in span.attributes


def _place(
    span: Span, agent: str, run: Key, records: tuple[LogRecord, ...], around: Key | None, content: Content
) -> Placed:
    return Placed(
        Anchor("span", span.trace_id, span.span_id),
        agent,
        run,
        span.start_ns,
        span.end_ns,
        span.attributes,
        span.resource,
        span.scope,
        span,
        records,
        around,
        content,
    )


def _runs_by_trace(layout: Layout) -> Mapping[str, list[tuple[int, Key]]]:
    """trace id → starts and keys of its runs, in time order."""
    runs: dict[str, list[tuple[int, Key]]] = {}
    for run, placed in layout.top_agents.items():
        runs.setdefault(run[0], []).append((placed.start_ns, run))
    return {trace: sorted(found) for trace, found in runs.items()}


def _run_nearby(runs: Mapping[str, list[tuple[int, Key]]], trace_id: str, start_ns: int) -> Key:
    """For what is outside every agent span: the run of its trace that had begun last, else the trace itself."""
    known = runs.get(trace_id, [])
    begun = bisect_right(known, start_ns, key=lambda run: run[0])
    return known[max(begun - 1, 0)][1] if known else (trace_id, "")


def _spanless(
    layout: Layout,
    records: Mapping[tuple[str | None, str | None], Sequence[LogRecord]],
    runs: Mapping[str, list[tuple[int, Key]]],
) -> Iterable[Placed]:
    """Model requests known from log events alone, their span unsampled, lost or never made."""
    for key, group in records.items():
        if key in layout.tree.spans:
            continue
        for part in _one_request_each([record for record in group if record.event_name in CONTENT_EVENTS]):
            yield _place_records(part, runs)


def _one_request_each(records: Sequence[LogRecord]) -> Iterable[tuple[LogRecord, ...]]:
    """Records of one request: each details event is one; message events go up to and with their choices."""
    waiting: list[LogRecord] = []
    for record in records:
        if record.event_name == DETAILS:
            yield (record,)
            continue
        if waiting and waiting[-1].event_name == CHOICE and record.event_name != CHOICE:
            yield tuple(waiting)
            waiting = []
        waiting.append(record)
    if waiting:
        yield tuple(waiting)


def _place_records(records: tuple[LogRecord, ...], runs: Mapping[str, list[tuple[int, Key]]]) -> Placed:
    first, last = records[0], records[-1]
    start_ns = first.time_ns or first.observed_ns
    attributes = {key: value for record in records for key, value in record.attributes.items()}
    return Placed(
        record_anchor(last),
        ROOT_AGENT,
        _run_nearby(runs, first.trace_id or "", start_ns),
        start_ns,
        last.time_ns or last.observed_ns,
        attributes,
        last.resource,
        last.scope,
        records=records,
        content=from_events(log_events(records)),
    )


def _merge_nested_requests(layout: Layout) -> None:
    """One model request may be recorded by a framework and, inside, by the provider's SDK: keep the outer span,
    complete its attributes and content from the inner ones."""
    inner: dict[Key, list[Placed]] = {}
    for placed in layout.exchanges:
        if placed.around is not None:
            inner.setdefault(placed.around, []).append(placed)
    if not inner:
        return
    outermost = [placed for placed in layout.exchanges if placed.around is None]
    layout.exchanges = [_completed(placed, inner) for placed in outermost]


def _completed(outer: Placed, inner: Mapping[Key, Sequence[Placed]]) -> Placed:
    if outer.span is None:
        return outer
    for placed in inner.get(key_of(outer.span), ()):
        outer = outer._replace(
            attributes={**placed.attributes, **outer.attributes},
            records=(*outer.records, *placed.records),
            content=outer.content.or_else(placed.content),
        )
    return outer
