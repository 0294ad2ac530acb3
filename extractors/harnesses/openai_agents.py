"""OpenAI Agents SDK, through the OpenInference instrumentation.

- Scope `openinference.instrumentation.openai_agents`; one trace per run. The root is an AGENT without a name and
  stands for no agent; below a CHAIN come the agents, those that took over by handoff side by side.
- Only model requests and tools have content. A handoff is a TOOL span without `tool.name`; its input and output are
  names of agents. The name of the tool that the model called for it stands in the request alone.
- Tool spans have no call id. An error is in the status, as `Error running tool...: {'tool_name': ..., 'error': ...}`.
- Skills on offer: Markdown `### Available skills` in the instructions. `load_skill` puts the skill's files into the
  sandbox and answers with a JSON status and a path; the text is read next with `exec_command`. The two are one load.
- A skill that does not exist raises, and ends the run without an answer.
- A call of a tool that does not exist has no TOOL span; the status of its turn tells.
- A call that a person did not approve has no TOOL span, only an output in the next request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors.conventions import genai
from extractors.conventions.openinference import HIDE_NOTHING, framework, read, with_calls
from extractors.conventions.openinference_messages import output_messages
from extractors.conventions.openinference_spans import (
    AGENT_NAME,
    INPUT,
    OUTPUT,
    TOOL_NAME,
    kind_of,
    python_object,
    retold,
    shown,
    with_own_message,
)
from extractors.coverage import CONTENT, Setting, Signal
from extractors.messages import messages
from extractors.skill_signals import with_body
from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.spans import Session, Span, StatusCode, Value
from extractors.trajectory import CallOutcome, ToolCall, Trajectory
from extractors.tree import Tree, tree_of

NAME = "openai_agents"

SETTINGS: Final = (
    Setting(CONTENT, HIDE_NOTHING, "the default"),
    Setting((Signal.HARNESS_VERSION,), None),
)

SCOPE: Final = "openinference.instrumentation.openai_agents"
HABITS = genai.Habits(NAME, spans_every_call=True)

_NO_WORD: Final = re.compile(r"[^a-z0-9_]")


def recognizes(session: Session) -> bool:
    """Whether the SDK began the session."""
    return framework(session) == NAME


def extract(session: Session) -> Trajectory:
    """What the agents did, each staged skill joined with the reading of its file."""
    trajectory = read(session, HABITS, retell)
    tree = tree_of(session.spans)
    trajectory = with_calls(trajectory, (_completed(call, tree) for call in trajectory.tool_calls))
    return genai.with_loads(trajectory, _joined(trajectory.skill_invocations))


def retell(span: Span, tree: Tree) -> Span:
    """A span in GenAI terms."""
    if span.scope.name != SCOPE:
        return retold(span, tree)
    kind = kind_of(span)
    if kind == "AGENT" and AGENT_NAME not in span.attributes:
        return span
    if kind == "TOOL" and TOOL_NAME not in span.attributes:
        span = _handoff(span, tree)
    if span.status is StatusCode.ERROR:
        span = with_own_message(span, _inner_error(span.status_message))
    told = retold(span, tree)
    return _with_empty_arguments(told) if kind == "LLM" else told


def _with_empty_arguments(request: Span) -> Span:
    """Arguments that are not there are `{}`: the instrumentation leaves those out."""
    said = at.as_list(request.attributes.get(at.OUTPUT_MESSAGES))
    if said is None or request.dropped_attributes:
        return request
    return replace(request, attributes={**request.attributes, at.OUTPUT_MESSAGES: [_filled(one) for one in said]})


def _filled(message: Value) -> Value:
    fields = at.as_mapping(message) or {}
    parts = [at.as_mapping(part) or {} for part in at.as_list(fields.get("parts")) or ()]
    no_arguments: Mapping[str, Value] = {}
    return {
        **fields,
        "parts": [
            {**part, "arguments": no_arguments}
            if part.get("type") == "tool_call" and part.get("arguments") is None
            else part
            for part in parts
        ],
    }


def _completed(call: ToolCall, tree: Tree) -> ToolCall:
    """A call of a tool that does not exist has no span: the turn around its request says so."""
    request = tree.spans.get((call.anchor.trace_id or "", call.anchor.span_id or ""))
    turn = tree.parent(request) if request is not None else None
    if call.outcome is not CallOutcome.UNANSWERED or turn is None or turn.status is not StatusCode.ERROR:
        return call
    told = _details(turn.status_message)
    if told.get("tool_name") != call.name:
        return call
    return replace(call, outcome=CallOutcome.REFUSED, error=turn.status_message)


def _handoff(span: Span, tree: Tree) -> Span:
    """A handoff as a call of the tool that the model asked for; by default that is named after the agent."""
    agent = shown(span, OUTPUT) or span.name.removeprefix("handoff to ")
    usual = "transfer_to_" + _NO_WORD.sub("_", agent.lower())
    asked = set(_asked_beside(span, tree))
    name = next(iter(asked)) if usual not in asked and len(asked) == 1 else usual
    told = {key: value for key, value in span.attributes.items() if key != INPUT}
    return replace(span, attributes={**told, TOOL_NAME: name})


def _asked_beside(span: Span, tree: Tree) -> Iterable[str]:
    """Tools that the request of the same turn asked for and that no span beside it ran."""
    above = tree.parent(span)
    beside = tree.children(above) if above is not None else ()
    ran = {at.text(one.attributes, TOOL_NAME) for one in beside}
    for request in (one for one in beside if kind_of(one) == "LLM"):
        for message in messages(output_messages(request.attributes)) or ():
            yield from (call.name for call in message.calls if call.name not in ran)


def _inner_error(status: str) -> str | None:
    """The error in `<what happened>: {'error': ...}`; None when the status has another form."""
    error = _details(status).get("error")
    return error if isinstance(error, str) else None


def _details(status: str) -> Mapping[str, object]:
    _, found, details = status.partition(": {")
    return (python_object("{" + details) if found else None) or {}


def _joined(attempts: Sequence[SkillInvocation]) -> Iterable[SkillInvocation]:
    """A load that brought no text takes it from the first reading of the skill's file by the same agent after it."""
    staged: dict[tuple[str, str], int] = {}
    found: list[SkillInvocation] = []
    for attempt in attempts:
        key = (attempt.agent, attempt.name or "")
        if attempt.loaded_by is LoadedBy.FILE and key in staged:
            at_index = staged.pop(key)
            found[at_index] = replace(with_body(found[at_index], attempt.body), source=attempt.source)
            continue
        if attempt.outcome is LoadOutcome.LOADED and attempt.loaded_by is LoadedBy.TOOL and attempt.body is None:
            staged[key] = len(found)
        found.append(attempt)
    return found
