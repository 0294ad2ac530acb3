"""The harnesses and conventions that can be read, and the one way from a `Session` to its `Trajectory`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from extractors.conventions import genai, openinference, traceloop
from extractors.coverage import Setting
from extractors.harnesses import (
    agent_framework,
    claude_agent_sdk,
    claude_code,
    codex,
    deepagents,
    gemini_cli,
    google_adk,
    langchain,
    langchain_traceloop,
    openai_agents,
    openhands,
    pydantic_ai,
    smolagents,
    strands,
)
from extractors.repetition import remembered
from extractors.skill_signals import untold_bodies
from extractors.spans import Attributes, Session, Span
from extractors.trajectory import Agent, Trajectory
from extractors.tree import tree_of

UNRECOGNISED = "unrecognised"
"""`Trajectory.harness` of a session in which nothing was understood."""

MAX_ATTRIBUTE = 1_000
"""Characters of a text in `Trajectory.attributes`. Longer ones are content: prompts, messages, definitions."""

_NUMBERS = (bool, int, float)


class Extractor(Protocol):
    """One harness or convention. The modules listed below are the implementations: plain functions, no state."""

    NAME: str

    def recognizes(self, session: Session) -> bool:
        """Whether this session was recorded by this harness."""

    def extract(self, session: Session) -> Trajectory:
        """What the agent did. Called only for a session it recognizes."""


HARNESSES: tuple[Extractor, ...] = (
    agent_framework,
    claude_agent_sdk,
    claude_code,
    codex,
    deepagents,
    gemini_cli,
    google_adk,
    langchain,
    langchain_traceloop,
    openai_agents,
    openhands,
    pydantic_ai,
    smolagents,
    strands,
)
"""Exactly one may recognize a session, so their order never decides."""

CONVENTIONS: tuple[Extractor, ...] = (openinference, traceloop, genai)
"""For what no harness claims, most specific first: here the first that recognizes the session wins."""


def extract(session: Session) -> Trajectory:
    """What the agent did. Never raises, whatever the session holds.

    What nothing recognizes gives `harness == UNRECOGNISED` and the scopes that sent it. So does an extractor that
    raises; a note then names the extractor and the exception. Tenant, scopes, attributes, the session's notes and,
    where the extractor left them out, start and end are filled in here, for all extractors alike.
    """
    return extract_with(session, HARNESSES, CONVENTIONS)


def extract_with(session: Session, harnesses: Sequence[Extractor], conventions: Sequence[Extractor] = ()) -> Trajectory:
    """The same with extractors of one's own."""
    with remembered():
        trajectory, notes = _first_reading(session, harnesses, conventions)
    started_ns, ended_ns = _extent(session)
    notes += untold_bodies(trajectory.skill_invocations, trajectory.tool_calls)
    return replace(
        trajectory,
        tenant=session.tenant,
        scopes=scopes(session),
        attributes=attributes(session, trajectory),
        agents=agents(trajectory),
        started_ns=trajectory.started_ns or started_ns,
        ended_ns=trajectory.ended_ns or ended_ns,
        notes=tuple(dict.fromkeys((*session.notes, *notes, *trajectory.notes))),
    )


def agents(trajectory: Trajectory) -> tuple[Agent, ...]:
    """The session's agents, also those of whom nothing arrived but what they did."""
    acting = dict.fromkeys(
        (
            *(step.agent for step in trajectory.steps),
            *(call.agent for call in trajectory.tool_calls),
            *(load.agent for load in trajectory.skill_invocations),
            *(failure.agent for failure in trajectory.failures),
        )
    )
    known = {agent.id for agent in trajectory.agents}
    return (*trajectory.agents, *(Agent(one) for one in acting if one not in known))


def recognizers(session: Session) -> tuple[str, ...]:
    """Names of all harnesses that claim the session; for tests and `inspect`."""
    return tuple(harness.NAME for harness in HARNESSES if harness.recognizes(session))


def settings_of(name: str) -> tuple[Setting, ...]:
    """What to set on a harness, or where a convention is used, to know more; () for a name nobody has."""
    modules = (module for module in (*HARNESSES, *CONVENTIONS) if name == module.NAME)
    return next((getattr(module, "SETTINGS", ()) for module in modules), ())


def scopes(session: Session) -> tuple[str, ...]:
    """Names of the instrumentation scopes in the session, sorted."""
    return tuple(sorted(session.scopes - {""}))


def attributes(session: Session, trajectory: Trajectory) -> Attributes:
    """The process's attributes and, over them, those of the first root span; for records alone, the first record's
    process. Only what a suite can match: short texts, numbers and truth values.
    """
    root = _root(session, trajectory)
    if root is not None:
        found = {**root.resource.attributes, **root.attributes}
    else:
        found = {**session.records[0].resource.attributes} if session.records else {}
    return {
        key: value
        for key, value in found.items()
        if (len(value) <= MAX_ATTRIBUTE if isinstance(value, str) else isinstance(value, _NUMBERS))
    }


def _root(session: Session, trajectory: Trajectory) -> Span | None:
    """The span that the trajectory is anchored to; without one, the first span without a recorded parent."""
    anchor = trajectory.root_anchor
    if anchor is not None and anchor.signal == "span":
        for span in session.spans:
            if span.span_id == anchor.span_id and span.trace_id == anchor.trace_id:
                return span
    return next(iter(tree_of(session.spans).roots() or session.spans), None)


def _first_reading(
    session: Session, harnesses: Sequence[Extractor], conventions: Sequence[Extractor]
) -> tuple[Trajectory, list[str]]:
    """The trajectory by the first extractor that recognizes the session, and remarks on what was odd.

    A harness that fails is not replaced by a convention: what it knows about refusals would be missing unseen.
    """
    notes: list[str] = []
    claims = [harness for harness in harnesses if _claims(harness, session, notes)]
    if len(claims) > 1:
        notes.append("also claimed by " + ", ".join(harness.NAME for harness in claims[1:]))
    chosen = next(iter(claims), None) or next((one for one in conventions if _claims(one, session, notes)), None)
    if chosen is None:
        return Trajectory(session.session_id, UNRECOGNISED), notes
    try:
        return chosen.extract(session), notes
    except Exception as error:  # noqa: BLE001 - a defect in one extractor must not stop the session's telemetry
        notes.append(_defect(chosen, error))
        return Trajectory(session.session_id, UNRECOGNISED), notes


def _claims(harness: Extractor, session: Session, notes: list[str]) -> bool:
    try:
        return harness.recognizes(session)
    except Exception as error:  # noqa: BLE001 - as above
        notes.append(_defect(harness, error))
        return False


def _defect(extractor: Extractor, error: Exception) -> str:
    return f"extractor {extractor.NAME} failed: {type(error).__name__}: {error}"


def _extent(session: Session) -> tuple[int, int]:
    """First start and last end in the session, 0 and 0 when nothing carries a time."""
    instants = [span.start_ns for span in session.spans] + [span.end_ns for span in session.spans]
    instants += [record.time_ns or record.observed_ns for record in session.records]
    known = [instant for instant in instants if instant > 0]
    return (min(known), max(known)) if known else (0, 0)
