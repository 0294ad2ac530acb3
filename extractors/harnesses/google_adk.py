"""Google ADK for Python (seen: 2.13.0), telemetry schemas 1 and 2.

- Scope `gcp.vertex.agent` for spans and log events, its version is ADK's. One trace per turn of the person.
- Schema 2 is the GenAI convention: `invoke_workflow` > `invoke_agent` > `generate_content` and `execute_tool`. Content
  is off by default; it comes in span attributes, in details log events, or in both.
- Schema 1 has `invocation` > `invoke_agent` > `call_llm` > `generate_content`; content is on the `call_llm` span.
- Without content in spans, results stand only in the next request's history.
- Most models give calls no id; then histories do not tell them apart (see `call_ids`).
- `(merged tools)` is no call: ADK makes such a span after every parallel batch.
- Skills: `gen_ai.skill.*` on `execute_tool` spans whatever the content setting. A refusal is `error.type` with a code,
  or what a callback answered in the place of the tool.
- The catalog is in the system prompt (EAGER), or the result of `list_skills` (LAZY): not recorded if never called.
- An agent that got the conversation by transfer is a sibling of the one it came from, and keeps the conversation in
  later turns. Agents used as tools nest under the call and have a conversation id of their own.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors import skill_signals
from extractors.conventions import genai
from extractors.conventions.genai_spans import TOOL, operation
from extractors.coverage import CONTENT, Setting, Signal
from extractors.google_adk.call_ids import with_call_ids
from extractors.google_adk.legacy import modern
from extractors.google_adk.lost_agents import with_lost_agents
from extractors.google_adk.outcomes import settle_in
from extractors.google_adk.streams import with_whole_answers
from extractors.google_adk.turns import with_turns_as_agent
from extractors.skills import Skill
from extractors.spans import Session
from extractors.trajectory import Trajectory
from extractors.tree import Key, key_of, tree_of

NAME: Final = "google_adk"

SETTINGS: Final = (
    Setting(
        CONTENT,
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT",
        "with EVENT_ONLY the results of a run's last calls are not recorded",
    ),
    Setting((Signal.CATALOG,), None, "when skills are listed on demand and the agent asked for no list"),
)
SCOPE: Final = "gcp.vertex.agent"


def catalog(text: str) -> tuple[Skill, ...] | None:
    """The skills that a prompt, `list_skills` or `search_skills` offers; the last returns a list of objects."""
    document = at.as_mapping(at.parse_json(text)) if text.startswith("{") else None
    listed = at.as_list(document.get("result")) if document is not None else None
    if listed is None:
        return skill_signals.catalog(text)
    found = [(at.text(body, "name"), body) for one in listed if (body := at.as_mapping(one)) is not None]
    return tuple(Skill(name, at.text(body, "description")) for name, body in found if name)


HABITS: Final = genai.Habits(NAME, catalog=catalog)


def recognizes(session: Session) -> bool:
    """Whether ADK's own tracer or logger recorded any of it."""
    return SCOPE in session.scopes


def extract(session: Session) -> Trajectory:
    """What the agent did, both schemas read as the GenAI convention."""
    arrived = modern(session)
    whole = with_lost_agents(arrived)
    lost = {span.trace_id for span in whole.spans[len(arrived.spans) :]}
    told = with_whole_answers(with_call_ids(with_turns_as_agent(whole)))
    return _with_answer(genai.read(told, replace(HABITS, settle=settle_in(told))), told, lost)


def _with_answer(trajectory: Trajectory, session: Session, lost: Container[str | None]) -> Trajectory:
    """The last text that asks for no tool, of any agent that talks to the person: all but those used as tools.

    `lost` are the traces in which an agent never ended: what it said before a tool call there is no answer.
    """
    inside_tools: set[Key] = set()
    tree = tree_of(session.spans)
    for span in tree.walk():
        above = tree.parent(span)
        if above is not None and (operation(above) == TOOL or key_of(above) in inside_tools):
            inside_tools.add(key_of(span))
    said = [
        step
        for step in trajectory.steps
        if step.text
        and not step.call_ids
        and (step.anchor.trace_id or "", step.anchor.span_id or "") not in inside_tools
    ]
    if not said:
        asking = {step.anchor for step in trajectory.steps if step.call_ids}
        anchor = trajectory.answer_anchor
        if anchor is not None and anchor in asking and anchor.trace_id in lost:
            return replace(trajectory, answer=None, answer_anchor=None)
        return trajectory
    last = max(said, key=lambda step: (step.end_ns, step.anchor.ref))
    return replace(trajectory, answer=last.text, answer_anchor=last.anchor)
