"""OpenInference: spans with `openinference.span.kind` and messages flattened into attributes.

Used directly for frameworks that no harness module claims, and by harness modules through `read`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, TypeAlias

from extractors import attributes as at
from extractors.conventions import genai
from extractors.conventions.openinference_messages import OUTPUT_MESSAGES, flattened, hides_anything, hides_text
from extractors.conventions.openinference_spans import KIND, retold
from extractors.coverage import CONTENT, Setting, Signal
from extractors.skill_signals import invocations
from extractors.spans import Session, Span
from extractors.trajectory import Step, ToolCall, Trajectory
from extractors.tree import Tree, in_time_order, span_anchor, tree_of

NAME = "openinference"

HIDE_NOTHING: Final = "OPENINFERENCE_HIDE_INPUTS=false OPENINFERENCE_HIDE_OUTPUTS=false"
SETTINGS: Final = (
    Setting(CONTENT, HIDE_NOTHING, "the default; there is one such variable for messages, texts and tools each"),
    Setting((Signal.HARNESS_VERSION,), None),
)

SCOPE: Final = "openinference.instrumentation."
FRAMEWORKS: Final = frozenset({"langchain", "openai_agents", "smolagents", "claude_agent_sdk"})
"""Instrumentations of agent frameworks that have a module of their own."""

Retell: TypeAlias = Callable[[Span, Tree], Span]
"""One span in GenAI terms, seen in the tree of the spans as received."""


def recognizes(session: Session) -> bool:
    """Whether any span says its OpenInference kind."""
    return any(KIND in span.attributes for span in session.spans)


def extract(session: Session) -> Trajectory:
    """What the agent did, by the convention alone."""
    return read(session, genai.Habits(NAME))


def framework(session: Session) -> str | None:
    """The agent framework that began the session, of those with a module of their own; None for others.

    One may run inside another's tool: then the outer one, which begins first, is the harness.
    """
    if not any(scope.startswith(SCOPE) for scope in session.scopes):
        return None
    ours = (span for span in session.spans if is_ours(span))
    names = (span.scope.name.removeprefix(SCOPE) for span in in_time_order(ours))
    return next((name for name in names if name in FRAMEWORKS), None)


def is_ours(span: Span) -> bool:
    """Whether an OpenInference instrumentation recorded the span."""
    return span.scope.name.startswith(SCOPE)


def read(session: Session, habits: genai.Habits, retell: Retell = retold) -> Trajectory:
    """What the agent did, the spans retold as the framework needs."""
    tree = tree_of(session.spans)
    spans = tuple(retell(span, tree) for span in session.spans)
    trajectory = genai.read(replace(session, spans=spans), habits)
    versions = replace(trajectory.versions, harness_version=None)  # a scope's version is the instrumentation's
    steps = tuple(_without_hidden(trajectory.steps, session.spans))
    notes = (*trajectory.notes, *_notes(session.spans))
    return replace(trajectory, versions=versions, steps=steps, notes=notes)


def _without_hidden(steps: Iterable[Step], spans: Iterable[Span]) -> Iterable[Step]:
    """Hidden text is not recorded, though calls beside it are."""
    hidden = {span_anchor(span) for span in spans if _hides_output(span)}
    return (replace(step, text=None) if step.anchor in hidden else step for step in steps)


def _hides_output(span: Span) -> bool:
    found = flattened(span.attributes, OUTPUT_MESSAGES) if hides_anything(span.attributes) else None
    return any(hides_text(fields) for fields in found or ())


def _notes(spans: Iterable[Span]) -> Iterable[str]:
    lost = sum(span.dropped_attributes > 0 for span in spans if KIND in span.attributes)
    if lost:
        yield f"{lost} spans lost attributes to the agent's attribute limit, parts of messages perhaps among them"


def with_calls(trajectory: Trajectory, calls: Iterable[ToolCall]) -> Trajectory:
    """The trajectory with these calls instead, and the attempts to load skills that they are."""
    calls = tuple(calls)
    return genai.with_loads(replace(trajectory, tool_calls=calls), invocations(calls))


def first_metadata(spans: Iterable[Span], *path: str) -> str | None:
    """The first text at this path in the spans' `metadata` JSON."""
    for span in spans:
        value = at.json_value(span.attributes, "metadata")
        for key in path:
            value = (at.as_mapping(value) or {}).get(key)
        if isinstance(value, str):
            return value
    return None
