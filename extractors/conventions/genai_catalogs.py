"""Which skills each agent of a GenAI session was offered, and where that was told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from extractors.anchors import Anchor
from extractors.conventions.genai_spans import Layout, Placed
from extractors.conventions.genai_turns import Turns
from extractors.messages import USER
from extractors.skill_signals import lists_skills
from extractors.skills import Skill
from extractors.trajectory import ROOT_AGENT, ToolCall
from extractors.tree import Key

Reader: TypeAlias = Callable[[str], tuple[Skill, ...] | None]
"""The skills that a text offers; None when it holds no catalog."""

_Told: TypeAlias = list[tuple[str | None, Anchor]]


class Offer(NamedTuple):
    """An agent's catalog and the place that first named any of it; None when not recorded."""

    skills: tuple[Skill, ...] | None = None
    anchor: Anchor | None = None


def offers(
    agents: Iterable[str], layout: Layout, turns: Turns, calls: Sequence[ToolCall], read: Reader
) -> Mapping[str, Offer]:
    """Agent id → all skills that its prompts and listing tools offered, in the order of `agents`.

    A workflow talks to no model. Where one is the root, the agents to which it handed what the person asked stand for
    it here, each in its turn; a root that does anything itself keeps to its own catalog, be it recorded or not.
    """
    told = {agent: _told(agent, layout, calls) for agent in agents}
    found = {agent: _offer(texts, read) for agent, texts in told.items()}
    if ROOT_AGENT in found and found[ROOT_AGENT].skills is None and _only_delegates(layout):
        first = dict.fromkeys(agent for run in layout.top_agents if (agent := _entrusted(run, layout, turns)))
        found[ROOT_AGENT] = _offer([text for agent in first for text in told.get(agent, ())], read)
    return found


def _told(agent: str, layout: Layout, calls: Iterable[ToolCall]) -> _Told:
    """A harness may add the catalog to the prompt only after the agent span began: requests are asked first."""
    told: _Told = [
        (placed.content.system, placed.anchor)
        for placed in (*layout.exchanges, *layout.agent_spans)
        if placed.agent == agent
    ]
    told += [(call.result, call.anchor) for call in calls if call.agent == agent and lists_skills(call.name)]
    return told


def _offer(told: _Told, read: Reader) -> Offer:
    found = [(skills, anchor) for text, anchor in told if text and (skills := read(text)) is not None]
    if not found:
        return Offer()
    union = {skill.name: skill for skills, _ in reversed(found) for skill in reversed(skills)}
    anchor = next((anchor for skills, anchor in found if skills), found[0][1])
    return Offer(tuple(reversed(union.values())), anchor)


def _only_delegates(layout: Layout) -> bool:
    """Whether nothing at all was recorded of the root but that it ran: no request, no tool, no prompt of its own."""
    if any(placed.agent == ROOT_AGENT for placed in (*layout.exchanges, *layout.tools)):
        return False
    own = (placed.content for placed in layout.agent_spans if placed.agent == ROOT_AGENT)
    return all(content.system is None and content.definitions is None for content in own)


def _entrusted(run: Key, layout: Layout, turns: Turns) -> str | None:
    """The agent to which the root of a run handed the task: the first below it, when that was asked what the person
    asked. None when it was asked something else, and when several were asked at once."""
    below = [placed for placed in layout.agent_spans if placed.run == run and _parent(placed, layout) == ROOT_AGENT]
    if not below:
        return None
    first = below[0]
    requests = [placed for placed in layout.exchanges if placed.run == run and placed.agent == first.agent]
    # Whoever takes over does so once the first has been answered.
    answered_ns = requests[0].end_ns if requests else first.end_ns
    if any(placed.agent != first.agent and placed.start_ns < answered_ns for placed in below):
        return None
    return first.agent if _were_asked([first, *requests[:1]], _task(layout.top_agents[run], turns)) else None


def _parent(placed: Placed, layout: Layout) -> str | None:
    agent = layout.agents.get(placed.agent)
    return agent.parent if agent is not None else None


def _task(top: Placed, turns: Turns) -> str | None:
    turn = turns.index(top)
    return turns.prompts[turn].text if turn >= 0 else None


def _were_asked(places: Iterable[Placed], task: str | None) -> bool:
    """Whether this text is in what they were asked; where either was not recorded, nothing speaks against it."""
    asked = [one.text for placed in places for one in placed.content.inputs or () if one.role == USER and one.text]
    return not task or not asked or any(task in text for text in asked)
