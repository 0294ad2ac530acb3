"""Microsoft Agent Framework, with or without its skills provider.

- Scope `agent_framework` (Python) or one ending in `Microsoft.Agents.AI` (.NET), on spans and log events. One trace
  per run of an agent.
- `invoke_agent` holds `chat` and `execute_tool` side by side; its input is this turn's message, its output all
  messages of the turn. A workflow has a span `workflow.run` and one for each executor above the agents'.
- Content comes twice: as span attributes and as one log event per message and request.
- The catalog is XML in the instructions. `load_skill` answers with the whole SKILL.md and lists of resources and
  scripts below it; a skill defined in code comes as elements, its text in `<instructions>`.
- Refusals are ordinary, successful results: `Error: Skill '...' not found.`
- Loading needs approval unless that is switched off. An approval splits a turn into two runs, two traces. A call that
  was not approved, or not known, has no `execute_tool` span, only an answer.
- A tool that raised has the error on its span; the model reads `Error: Function failed.`
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors.conventions import genai
from extractors.conventions.genai_spans import WORKFLOW, WORKFLOW_NAME
from extractors.coverage import CONTENT, Setting, Signal
from extractors.skill_signals import with_body
from extractors.skills import SkillInvocation
from extractors.spans import Session, Span
from extractors.trajectory import Trajectory

NAME = "agent_framework"

SETTINGS: Final = (
    Setting(CONTENT, "ENABLE_SENSITIVE_DATA=true"),
    Setting(
        (Signal.TIMES, Signal.TOKENS, Signal.MODELS, Signal.DEFINITIONS),
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "for all signals: log events alone do not have these",
    ),
)

PYTHON_SCOPE: Final = "agent_framework"
DOTNET_SCOPE: Final = "Microsoft.Agents.AI"
WORKFLOW_RUN: Final = "workflow.run"

HABITS = genai.Habits(NAME, spans_every_call=True)

_LISTING: Final = "<available_resources"
_LISTING_ENDS: Final = ("<available_scripts />", "<available_scripts/>", "</available_scripts>")
_OPEN, _CLOSE = "<instructions>\n", "\n</instructions>"


def recognizes(session: Session) -> bool:
    """Whether the framework's own instrumentation recorded any of it."""
    return any(map(_is_ours, session.scopes))


def _is_ours(scope: str) -> bool:
    return scope in {PYTHON_SCOPE, DOTNET_SCOPE} or scope.endswith(f".{DOTNET_SCOPE}")


def extract(session: Session) -> Trajectory:
    """What the agent did, the bodies of skills without the framework's listing."""
    trajectory = genai.read(replace(session, spans=tuple(map(_retold, session.spans))), HABITS)
    return genai.with_loads(trajectory, map(_as_written, trajectory.skill_invocations))


def _retold(span: Span) -> Span:
    """A workflow's span in terms of the convention; others as they are."""
    name = at.text(span.attributes, "workflow.name")
    if (
        span.name.partition(" ")[0] != WORKFLOW_RUN
        or at.OPERATION_NAME in span.attributes
        or not _is_ours(span.scope.name)
    ):
        return span
    return replace(span, attributes={at.OPERATION_NAME: WORKFLOW, WORKFLOW_NAME: name, **span.attributes})


def _as_written(load: SkillInvocation) -> SkillInvocation:
    return load if load.body is None else with_body(load, written(load.body))


def written(body: str) -> str:
    """What the skill's author wrote, of all that `load_skill` answers."""
    text, found, listing = body.rpartition(f"\n{_LISTING}")
    text = text.rstrip() if found and listing.rstrip().endswith(_LISTING_ENDS) else body
    head, opened, rest = text.partition(_OPEN)
    if opened and head.startswith("<name>") and rest.endswith(_CLOSE):
        return rest.removesuffix(_CLOSE)
    return text
