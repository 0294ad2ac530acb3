"""OpenHands SDK (seen: 1.58.2), whose telemetry goes through Laminar.

- Scope `lmnr.tracer` for every span, those of LiteLLM as well; no log records. OpenHands' own version is not told.
- One trace per `Conversation` object, whatever the number of turns; its root ends when the object is closed. Session:
  `lmnr.association.properties.session_id`, on every span.
- `conversation` > `conversation.send_message`, one per message of the person, beside `conversation.run` > `agent.step`
  > `llm.<model>` > `litellm.completion`, and one span per action.
- The span of an action is named after its class; the tool's name and the arguments as asked are in the model's answer.
- Status is never set: an error is `is_error` in the result, and a head before it in the history.
- A call that was rejected or invalid has a span as well; its output is the message that the model got.
- The answer is the argument of the tool `finish`, or plain text.
- Skills: catalog in the system prompt, tool `invoke_skill`; a refusal is `is_error`, the name is echoed all the same.
- Sub-agents run as conversations of their own, with their own session.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors.anchors import Anchor
from extractors.conventions import genai
from extractors.coverage import CONTENT, Setting, Signal
from extractors.messages import text_of
from extractors.openhands.results import OUTPUT, was_rejected
from extractors.openhands.telemetry import INPUT, MESSAGE, SCOPE, as_genai, is_ours, is_tool
from extractors.openhands.triggered import triggered
from extractors.skills import SkillInvocation
from extractors.spans import Session, Span
from extractors.trajectory import ROOT_AGENT, CallOutcome, Prompt, ToolCall, Trajectory, Versions
from extractors.tree import in_time_order, span_anchor

NAME: Final = "openhands"

SETTINGS: Final = (
    Setting(
        (*CONTENT, Signal.TIMES, Signal.TOKENS),
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://localhost:4317",
        "content is on, unless the program lowers Laminar's tracing level to META_ONLY",
    ),
    Setting((Signal.HARNESS_VERSION,), None),
)
FINISH: Final = "finish"

HABITS: Final = genai.Habits(NAME)


def recognizes(session: Session) -> bool:
    """Whether any span was recorded inside OpenHands' own functions; the scope alone is Laminar's."""
    return SCOPE in session.scopes and any(map(is_ours, session.spans))


def extract(session: Session) -> Trajectory:
    """What the agent did, read as the GenAI convention; turns by the messages that the person sent."""
    trajectory = genai.read(as_genai(session), replace(HABITS, settle=_settle_in(session)))
    trajectory = _with_triggered(_with_turns(trajectory, _prompts(session)), session)
    answer, anchor = _answer(trajectory)
    return replace(trajectory, answer=answer, answer_anchor=anchor)


def _settle_in(session: Session) -> Callable[[ToolCall], ToolCall]:
    silent = {span_anchor(span) for span in session.spans if is_tool(span) and OUTPUT not in span.attributes}

    def settle(call: ToolCall) -> ToolCall:
        """Only results tell errors: without one, the span of a call says that it was made and no more."""
        if call.outcome is CallOutcome.OK and call.result is None and call.anchor in silent:
            return replace(call, outcome=CallOutcome.UNANSWERED)
        if call.outcome is CallOutcome.FAILED and call.start_ns is None and was_rejected(call.error):
            return replace(call, outcome=CallOutcome.REFUSED)
        return call

    return settle


def _prompts(session: Session) -> tuple[Prompt, ...]:
    sent = in_time_order(span for span in session.spans if span.name == MESSAGE and is_ours(span))
    return tuple(Prompt(_sent_text(span), span_anchor(span), span.start_ns) for span in sent)


def _sent_text(span: Span) -> str | None:
    """The message is a text, or a message object."""
    sent = (at.json_object(span.attributes, INPUT) or {}).get("message")
    body = at.as_mapping(sent)
    return text_of(sent if body is None else body.get("content"))


def _with_turns(trajectory: Trajectory, prompts: Sequence[Prompt]) -> Trajectory:
    """All turns share a trace, and a message may come while the agent runs: turns go by the time of messages."""
    if not prompts:
        return trajectory
    begins = [prompt.time_ns for prompt in prompts]
    steps = tuple(replace(step, turn=bisect_right(begins, step.start_ns) - 1) for step in trajectory.steps)
    asked: dict[str, set[int]] = {}
    for step in steps:
        for call_id in step.call_ids:
            asked.setdefault(call_id, set()).add(step.turn)

    def turn_of(call: ToolCall) -> int:
        of_id = asked.get(call.call_id or "", set())
        if len(of_id) == 1 or (of_id and call.start_ns is None):  # else the model counts its calls anew
            return max(of_id)
        return call.turn if call.start_ns is None else bisect_right(begins, call.start_ns) - 1

    calls = tuple(replace(call, turn=turn_of(call)) for call in trajectory.tool_calls)
    return replace(trajectory, prompts=tuple(prompts), steps=steps, tool_calls=calls)


def _with_triggered(trajectory: Trajectory, session: Session) -> Trajectory:
    """Skills that the person's words brought in, among those that the agent asked for, in time order."""
    added = triggered(in_time_order(session.spans))
    if not added:
        return trajectory
    begun = {span_anchor(span): span.start_ns for span in session.spans}
    loads = sorted((*added, *trajectory.skill_invocations), key=lambda load: begun.get(load.anchor, 0))
    return replace(trajectory, skill_invocations=tuple(loads), versions=_with_bodies(trajectory.versions, added))


def _with_bodies(versions: Versions, loads: Sequence[SkillInvocation]) -> Versions:
    seen = {load.name: load.body_hash for load in loads if load.name and load.body_hash is not None}
    return replace(versions, skill_bodies={**seen, **(versions.skill_bodies or {})} or None)


def _answer(trajectory: Trajectory) -> tuple[str | None, Anchor | None]:
    """The message of the last `finish`, or a later text that asks for no tool."""
    said = [
        (call.start_ns or 0, call.arguments.get("message"), call.anchor)
        for call in trajectory.tool_calls
        if call.name == FINISH and call.arguments is not None and call.outcome is not CallOutcome.REFUSED
    ]
    said += [
        (step.end_ns, step.text, step.anchor)
        for step in trajectory.steps
        if step.agent == ROOT_AGENT and step.text and not step.call_ids
    ]
    texts = [(time_ns, text, anchor) for time_ns, text, anchor in said if isinstance(text, str)]
    if not texts:
        return trajectory.answer, trajectory.answer_anchor
    _, text, anchor = max(texts, key=lambda one: (one[0], one[2].ref))
    return text, anchor
