"""The span of a turn stands for the agent that the session began with.

An agent that is handed the conversation is a sibling of the one it came from, in the same turn, and answers alone in
later turns. Read as the root agent's, the turn's span holds them all, and they are its sub-agents everywhere.
"""

from __future__ import annotations

from dataclasses import replace

from extractors import attributes as at
from extractors.conventions.genai_spans import AGENT, WORKFLOW, WORKFLOW_NAME, operation
from extractors.spans import Session, Span
from extractors.tree import Tree, key_of, tree_of


def with_turns_as_agent(session: Session) -> Session:
    """The session; every turn's span is one of the root agent."""
    tree = tree_of(session.spans)
    turns = [span for span in tree.roots() if _is_turn(span, tree)]
    main = next((name for span in tree.roots() if (name := _entered_at(span, tree)) is not None), None)
    if main is None:
        return session
    changed = {key_of(span) for span in turns}
    return replace(
        session,
        spans=tuple(
            replace(span, attributes={**span.attributes, at.OPERATION_NAME: AGENT, at.AGENT_NAME: main})
            if key_of(span) in changed
            else span
            for span in session.spans
        ),
    )


def _is_turn(span: Span, tree: Tree) -> bool:
    """`invoke_workflow`, or schema 1's `invocation`, which has no attributes at all."""
    if operation(span) == WORKFLOW:
        return True
    return not span.attributes and any(operation(below) == AGENT for below in tree.children(span))


def _entered_at(span: Span, tree: Tree) -> str | None:
    """The agent or workflow that a turn began with."""
    if operation(span) == AGENT:
        return at.text(span.attributes, at.AGENT_NAME)
    if not _is_turn(span, tree):
        return None
    named = at.text(span.attributes, WORKFLOW_NAME)
    agents = (below for below in tree.children(span) if operation(below) == AGENT)
    return named or next((name for below in agents if (name := at.text(below.attributes, at.AGENT_NAME))), None)
