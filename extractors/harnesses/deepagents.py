"""LangChain's deepagents, through the OpenInference instrumentation for LangChain.

- As `langchain`, and `metadata` says `deepagents` in `ls_integration` and `lc_versions`.
- Skills on offer: a Markdown list in the system message of every request; structured, with paths, in the output of the
  node `SkillsMiddleware.before_agent` of the first turn.
- There is no tool for skills: the model reads `<source>/<name>/SKILL.md` with `read_file`. A read that fails is a
  refusal; it is an ordinary result in a span with status OK, the tool message inside has status `error`.
- The text comes under a line `@@ lines 1-13 of 13 @@`.
- The tool `task` runs a sub-agent, whose graph is below the tool's span.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors.conventions import genai
from extractors.conventions.openinference import HIDE_NOTHING, framework, read
from extractors.conventions.openinference_spans import OUTPUT, shown
from extractors.coverage import CONTENT, Setting
from extractors.harnesses import langchain
from extractors.skills import Skill
from extractors.spans import Session, Span, Value
from extractors.trajectory import ROOT_AGENT, Trajectory
from extractors.tree import in_time_order, span_anchor, tree_of

NAME = "deepagents"

SETTINGS: Final = (Setting(CONTENT, HIDE_NOTHING, "the default"),)

SKILLS: Final = "skills_metadata"
HABITS = genai.Habits(NAME, spans_every_call=True)


def recognizes(session: Session) -> bool:
    """Whether LangChain began the session, the graph built by deepagents."""
    return framework(session) == langchain.NAME and langchain.is_deepagents(session)


def extract(session: Session) -> Trajectory:
    """What the agent did, the catalog taken from the graph's state where requests do not show it."""
    trajectory = langchain.with_version(read(session, HABITS, langchain.retell), session, NAME)
    loaded = _loading_node(session.spans) if trajectory.offered_skills is None else None
    if loaded is None:
        return trajectory
    offered = tuple(_skills(loaded))
    agents = tuple(
        replace(agent, offered_skills=offered) if agent.id == ROOT_AGENT else agent for agent in trajectory.agents
    )
    return replace(trajectory, offered_skills=offered, catalog_anchor=span_anchor(loaded), agents=agents)


def _loading_node(spans: Iterable[Span]) -> Span | None:
    """The first span directly below a graph without a parent that put skills into the state."""
    tree = tree_of(tuple(spans))
    nodes = (span for root in tree.roots() for span in (root, *tree.children(root)))
    return next((span for span in in_time_order(nodes) if _listed(span) is not None), None)


def _listed(span: Span) -> Iterable[Value] | None:
    output = shown(span, OUTPUT)
    if output is None or SKILLS not in output:
        return None
    return at.as_list((at.as_object(output) or {}).get(SKILLS))


def _skills(span: Span) -> Iterable[Skill]:
    for item in _listed(span) or ():
        fields: Mapping[str, Value] = at.as_mapping(item) or {}
        name = at.text(fields, "name")
        if name:
            yield Skill(name, at.text(fields, "description"), at.text(fields, "path"))
