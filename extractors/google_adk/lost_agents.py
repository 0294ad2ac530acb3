"""Agents and turns whose span never arrived: the process was killed, or the session closed while a turn still ran.

Spans are sent when they end, so requests and tools come before the agent around them, and agents before their turn.
What arrived names its agent and the id of the span around it, which is enough to stand in for that span.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from extractors import attributes as at
from extractors.conventions.genai_spans import AGENT, INFERENCE, TOOL, WORKFLOW, operation
from extractors.spans import Attributes, Session, Span, StatusCode
from extractors.tree import Key, Tree, tree_of


def with_lost_agents(session: Session) -> Session:
    """The session, completed by a span for every agent and turn that is known only from what happened in it.

    An agent whose own place is not known either counts as one of the turn that its trace lost, else as started by
    the first such agent of the trace. Where an agent of that name did arrive in the trace, none is added.
    """
    tree = tree_of(session.spans)
    orphans: defaultdict[Key, list[Span]] = defaultdict(list)
    for span in tree.roots():
        if span.parent_id is not None:
            orphans[span.trace_id, span.parent_id].append(span)
    if not orphans:
        return session
    arrived = {(span.trace_id, _name(span)) for span in session.spans if operation(span) == AGENT}
    turns = {key[0]: turn for key, group in orphans.items() if (turn := _turn_above(key, group)) is not None}
    agents = [agent for key, group in orphans.items() if (agent := _agent_above(key, group, tree)) is not None]
    lost = [agent for agent in agents if (agent.trace_id, _name(agent)) not in arrived]
    return replace(session, spans=(*session.spans, *turns.values(), *_placed(lost, turns)))


def _name(agent: Span) -> str | None:
    return at.text(agent.attributes, at.AGENT_NAME)


def _turn_above(key: Key, below: Sequence[Span]) -> Span | None:
    """A span for the turn that these agents belong to; None when none of them is an agent."""
    if not any(operation(span) == AGENT for span in below):
        return None
    return _stand_in(key, below[0], below, WORKFLOW, {at.OPERATION_NAME: WORKFLOW})


def _agent_above(key: Key, below: Sequence[Span], tree: Tree) -> Span | None:
    """A span for the agent that these requests and tools belong to; None when they name none."""
    doing = [span for span in below if operation(span) in INFERENCE or operation(span) == TOOL]
    inside = (one for span in doing for one in (span, *tree.children(span)) if operation(one) != AGENT)
    name = next((name for span in inside if (name := _name(span))), None)
    if name is None:
        return None
    return _stand_in(key, doing[0], below, f"{AGENT} {name}", {at.OPERATION_NAME: AGENT, at.AGENT_NAME: name})


def _stand_in(key: Key, model: Span, below: Iterable[Span], name: str, attributes: Attributes) -> Span:
    return replace(
        model,
        span_id=key[1],
        parent_id=None,
        name=name,
        start_ns=min(span.start_ns for span in below),
        end_ns=max(span.end_ns for span in below),
        attributes=attributes,
        events=(),
        links=(),
        status=StatusCode.UNSET,
        status_message="",
    )


def _placed(agents: Iterable[Span], turns: Mapping[str, Span]) -> Iterator[Span]:
    above = {trace_id: turn.span_id for trace_id, turn in turns.items()}
    for agent in sorted(agents, key=lambda span: (span.start_ns, span.span_id)):
        parent = above.setdefault(agent.trace_id, agent.span_id)
        yield agent if parent == agent.span_id else replace(agent, parent_id=parent)
