"""smolagents, through the OpenInference instrumentation.

- Scope `openinference.instrumentation.smolagents`; one trace per run. AGENT `<name>.run` holds a CHAIN `Step N` per
  model turn, that holds one LLM span and the TOOL spans. Tools are named by `tool.name`; span names are classes.
- Arguments come as `{"args": [...], "kwargs": {...}}`; `tool.parameters` has the names in order.
- In requests, earlier calls and results are prose in messages of the roles `tool-call` and `tool-response`.
- The answer is the argument of the tool `final_answer` and the output of the AGENT span. In a code agent the model's
  own text is code.
- An agent that another one manages is called like a tool, yet has no TOOL span: its AGENT span is below the step.
- A call that was rejected before it ran (unknown tool, wrong arguments) has no span either; the step has the error.
- There are no skills: programs bring a tool `load_skill` and a catalog of their own, and refusals are exceptions.
- Only the framework's own model classes have LLM spans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors.conventions import genai
from extractors.conventions.openinference import HIDE_NOTHING, framework, read, with_calls
from extractors.conventions.openinference_spans import (
    INPUT,
    OUTPUT,
    TOOL_NAME,
    agent,
    exception_message,
    kind_of,
    retold,
    shown,
    tool_call,
    user_message,
    with_defaults,
)
from extractors.coverage import CONTENT, Setting, Signal
from extractors.messages import USER
from extractors.spans import Session, Span, StatusCode, Value
from extractors.trajectory import CallOutcome, ToolCall, Trajectory
from extractors.tree import Tree, in_time_order, span_anchor, tree_of

NAME = "smolagents"

SETTINGS: Final = (
    Setting(CONTENT, HIDE_NOTHING, "the default"),
    Setting((Signal.HARNESS_VERSION,), None),
)

SCOPE: Final = "openinference.instrumentation.smolagents"
HABITS = genai.Habits(NAME)
FINAL_ANSWER: Final = "final_answer"

_RUN: Final = ".run"
_TASK: Final = "New task:\n"
_PROSE_ROLES: Final = {"tool-call": "assistant", "tool-response": "tool"}


def recognizes(session: Session) -> bool:
    """Whether smolagents began the session."""
    return framework(session) == NAME


def extract(session: Session) -> Trajectory:
    """What the agents did; calls without a span of their own completed from the step around them."""
    trajectory = read(session, HABITS, retell)
    tree = tree_of(session.spans)
    trajectory = with_calls(trajectory, _completed(trajectory.tool_calls, tree))
    answered = _answered(session.spans, tree)
    answer = shown(answered, OUTPUT) if answered is not None else None
    anchor = span_anchor(answered) if answered is not None and answer is not None else None
    return replace(trajectory, answer=answer, answer_anchor=anchor)


def retell(span: Span, tree: Tree) -> Span:
    """A span in GenAI terms."""
    if span.scope.name != SCOPE:
        return retold(span, tree)
    match kind_of(span):
        case "AGENT":
            told = agent(span, span.name.removesuffix(_RUN))
            task = at.text(at.as_object(shown(span, INPUT)) or {}, "task") or shown(span, "smolagents.task")
            told[at.INPUT_MESSAGES] = [user_message(task)] if task else None
            return with_defaults(span, told)
        case "TOOL":
            told = tool_call(span)
            told[at.TOOL_CALL_ARGUMENTS] = _arguments(span)
            return with_defaults(span, told)
        case "LLM":
            retold_span = retold(span, tree)
            inputs = at.as_list(retold_span.attributes.get(at.INPUT_MESSAGES))
            told = {} if inputs is None else {at.INPUT_MESSAGES: [_plain(message) for message in inputs]}
            return replace(retold_span, attributes={**retold_span.attributes, **told})
    return span


def _plain(message: Value) -> Value:
    """An input message in usual roles, without the words that the framework puts before a task."""
    fields = at.as_mapping(message) or {}
    role = str(fields.get("role"))
    parts = [_without_preamble(part) if role == USER else part for part in at.as_list(fields.get("parts")) or ()]
    return {**fields, "role": _PROSE_ROLES.get(role, role), "parts": parts}


def _without_preamble(part: Value) -> Value:
    fields = at.as_mapping(part) or {}
    text = at.text(fields, "content")
    return part if text is None else {**fields, "content": text.removeprefix(_TASK)}


def _arguments(span: Span) -> Value:
    """Arguments by name, as far as names are known; what was recorded where it has another shape."""
    given = at.as_object(shown(span, INPUT))
    named = at.as_mapping((given or {}).get("kwargs"))
    if given is None or named is None:
        return shown(span, INPUT)
    unnamed = at.as_list(given.get("args")) or ()
    if not named and len(unnamed) == 1 and at.as_mapping(unnamed[0]) is not None:
        return unnamed[0]
    names = list(at.json_object(span.attributes, "tool.parameters") or {})
    names += [str(index) for index in range(len(names), len(unnamed))]
    return {**dict(zip(names, unnamed, strict=False)), **named}


def _completed(calls: Sequence[ToolCall], tree: Tree) -> Iterable[ToolCall]:
    """The calls; those that only a request tells of with what the step around that request tells of them."""
    silent = Counter(call.anchor for call in calls if call.outcome is CallOutcome.UNANSWERED)
    for call in calls:
        request = tree.spans.get((call.anchor.trace_id or "", call.anchor.span_id or ""))
        step = tree.parent(request) if request is not None else None
        if step is None or call.outcome is not CallOutcome.UNANSWERED:
            yield call
        else:
            yield _in_step(call, step, tree, only=silent[call.anchor] == 1)


def _in_step(call: ToolCall, step: Span, tree: Tree, *, only: bool) -> ToolCall:
    """A call without a span: of an agent that ran in the step, or rejected by the step's error."""
    beside = tree.children(step)
    run = next((span for span in beside if _is_run_of(span, call.name)), None)
    if run is not None:
        return replace(
            call, outcome=CallOutcome.OK, result=shown(run, OUTPUT), start_ns=run.start_ns, end_ns=run.end_ns
        )
    error = exception_message(step) or _recovered(step)
    of_another = any(span.status is StatusCode.ERROR for span in beside)
    if error is None or not (call.name in error or (only and not of_another)):
        return call
    return replace(call, outcome=CallOutcome.REFUSED, error=error)


def _is_run_of(span: Span, name: str) -> bool:
    return kind_of(span) == "AGENT" and span.name.removesuffix(_RUN) == name


def _recovered(step: Span) -> str | None:
    """The error of a step that the agent was told of and went on."""
    told = (at.text(event.attributes, "message") for event in step.events if event.name == "agent.step_recovery")
    return next((message for message in told if message), None)


def _answered(spans: Sequence[Span], tree: Tree) -> Span | None:
    """The span with the last answer: an outermost run's, else, where none ended, its last `final_answer`."""
    runs = [span for span in spans if kind_of(span) == "AGENT" and not any(map(_is_agent, tree.ancestors(span)))]
    finals = [span for span in spans if span.attributes.get(TOOL_NAME) == FINAL_ANSWER]
    return _last(runs) or _last(finals)


def _is_agent(span: Span) -> bool:
    return kind_of(span) == "AGENT"


def _last(spans: Iterable[Span]) -> Span | None:
    return max(in_time_order(spans), key=lambda span: (span.end_ns, span.span_id), default=None)
