"""Claude Agent SDK, through the OpenInference instrumentation.

- Scope `openinference.instrumentation.claude_agent_sdk`; one trace per query, an AGENT span with TOOL spans below.
  Spans of the scope `mcp-python-sdk` repeat the calls in traces of their own.
- There are no spans of model requests: the AGENT span has what the model said, one message per block, and the tokens of
  the whole turn. Tool results, system prompt, tools and skills on offer are nowhere.
- The text of a skill, which the model was given as a user's message, is among the messages as the assistant's.
- Results are the CLI's structured responses. A call that was denied or failed has its text in the status; one that
  never ended has the status `Abandoned`.
- A sub-agent is an AGENT span without content, below the call that started it.
- Where the CLI's own telemetry is in the session too, it tells more, and its module reads the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors.claude_code.bodies import SKILL_TEXT, instructions_by_load
from extractors.claude_code.telemetry import sent_any
from extractors.conventions import genai
from extractors.conventions.genai_calls import TOOL_STATUS
from extractors.conventions.openinference import HIDE_NOTHING, framework, read
from extractors.conventions.openinference_messages import output_messages
from extractors.conventions.openinference_spans import (
    AGENT_NAME,
    INPUT,
    OUTPUT,
    agent,
    answer_in,
    assistant_message,
    kind_of,
    prompt_in,
    retold,
    shown,
    tool_call,
    with_defaults,
    with_own_message,
)
from extractors.coverage import CONTENT, Setting, Signal
from extractors.messages import Message, messages
from extractors.skill_signals import with_body
from extractors.skills import LoadOutcome, SkillInvocation
from extractors.spans import Session, Span, StatusCode, Value
from extractors.trajectory import ROOT_AGENT, Step, Trajectory
from extractors.tree import Tree, in_time_order, span_anchor, tree_of

NAME = "claude_agent_sdk"

SETTINGS: Final = (
    Setting(CONTENT, HIDE_NOTHING, "the default"),
    Setting(
        (Signal.CATALOG, Signal.BODIES, Signal.SYSTEM_PROMPT, Signal.DEFINITIONS, Signal.HARNESS_VERSION),
        "CLAUDE_CODE_ENABLE_TELEMETRY=1",
        "the CLI's own telemetry beside this instrumentation, with the settings of claude_code",
    ),
)

SCOPE: Final = "openinference.instrumentation.claude_agent_sdk"
HABITS = genai.Habits(NAME)
ABANDONED: Final = "Abandoned"

_ERROR_MARKS: Final = ("<tool_use_error>", "</tool_use_error>")
_DENIALS: Final = (
    "PreToolUse:",
    "Permission to use ",
    "Claude requested permissions to ",
    "The user doesn't want to ",
    "Unknown skill",
    "InputValidationError",
    "Error: No such tool available",
    "No such tool available",
)
"""How the text of a call begins that never ran."""

_NO_PROMPTS: Final = ("<async_generator", "<generator", "<coroutine")
"""How the text of a prompt begins that was streamed: only Python's name of the stream was recorded."""

_FOLDED_OUTPUTS: Final = ("stdout", "stderr")


def recognizes(session: Session) -> bool:
    """Whether the SDK began the session and the CLI's own telemetry is not in it."""
    return framework(session) == NAME and not sent_any(session)


def extract(session: Session) -> Trajectory:
    """What the agent did: one step for all that the model said in a turn, skills with the texts found among it."""
    own = replace(session, spans=tuple(span for span in session.spans if span.scope.name == SCOPE))
    trajectory = read(own, HABITS, retell)
    tree = tree_of(own.spans)
    runs = [span for span in in_time_order(own.spans) if _is_run(span, tree)]
    attempts = _with_texts(trajectory.skill_invocations, runs)
    bodies = {attempt.name: attempt.body_hash for attempt in attempts if attempt.name and attempt.body_hash}
    versions = replace(
        trajectory.versions,
        models_answered=tuple(sorted({model for run in runs if (model := shown(run, "llm.model_name"))})),
        skill_bodies=bodies or None,
    )
    steps = tuple(_step(run, trajectory) for run in runs)
    return replace(
        trajectory,
        steps=steps,
        skill_invocations=attempts,
        versions=versions,
        notes=(*trajectory.notes, *_notes(steps)),
    )


def _notes(steps: Sequence[Step]) -> Iterable[str]:
    if steps:
        yield "the model's turns are not recorded apart: each step stands for all that it said in answer to a prompt"


def _is_run(span: Span, tree: Tree) -> bool:
    return kind_of(span) == "AGENT" and all(kind_of(above) != "AGENT" for above in tree.ancestors(span))


def retell(span: Span, tree: Tree) -> Span:
    """A span in GenAI terms."""
    match kind_of(span):
        case "AGENT":
            told = agent(span, _agent_name(span, tree))
            told[at.INPUT_MESSAGES] = _prompt(span)
            told[at.OUTPUT_MESSAGES] = _said(span)
            return with_defaults(span, told)
        case "TOOL":
            return _tool(span)
    return retold(span, tree)


def _agent_name(span: Span, tree: Tree) -> str | None:
    """The type of a sub-agent as the call above it names it, else the name of that call's tool."""
    above = tree.parent(span)
    arguments = at.as_object(shown(above, INPUT)) if above is not None else None
    return at.text(arguments or {}, "subagent_type") or shown(span, AGENT_NAME)


def _prompt(span: Span) -> list[Value] | None:
    text = shown(span, INPUT)
    if text is None or text.lstrip('"').startswith(_NO_PROMPTS):
        return None
    return prompt_in(text)


def _said(span: Span) -> list[Value] | None:
    """What the model said: the messages without texts of skills, and the result where they do not end with it."""
    told = messages(output_messages(span.attributes)) or ()
    kept: list[Value] = [_as_value(message) for message in told if not _is_skill_text(message)]
    answer = answer_in(span)
    last = told[-1].text if told else None
    if answer is not None and last != shown(span, OUTPUT):
        kept.append(assistant_message(shown(span, OUTPUT) or ""))
    return kept or None


def _is_skill_text(message: Message) -> bool:
    return message.text.startswith(SKILL_TEXT)


def _as_value(message: Message) -> Value:
    calls: list[Value] = [
        {"type": "tool_call", "id": call.call_id, "name": call.name, "arguments": call.arguments}
        for call in message.calls
    ]
    text: list[Value] = [{"type": "text", "content": message.text}] if message.text else []
    return {"role": message.role, "parts": [*text, *calls]}


def _tool(span: Span) -> Span:
    told = tool_call(span)
    told[at.TOOL_CALL_RESULT] = _result(shown(span, OUTPUT))
    if span.status is StatusCode.ERROR:
        opening, closing = _ERROR_MARKS
        message = span.status_message.strip().removeprefix(opening).removesuffix(closing)
        if message == ABANDONED:
            told[TOOL_STATUS] = "unanswered"
        elif message.startswith(_DENIALS):
            told[TOOL_STATUS] = "refused"
        span = with_own_message(span, message)
    return with_defaults(span, told)


def _result(output: str | None) -> Value:
    """The text inside a structured response of the CLI's own tools; of other tools the response itself."""
    response = at.as_object(output)
    if response is None:
        return output
    file = at.as_mapping(response.get("file"))
    if file is not None and isinstance(file.get("content"), str):
        return file["content"]
    printed = [text for key in _FOLDED_OUTPUTS if (text := at.text(response, key))]
    return "\n".join(printed) if "stdout" in response else output


def _step(run: Span, trajectory: Trajectory) -> Step:
    told = messages(_said(run))
    calls = [call.call_id for message in told or () for call in message.calls if call.call_id]
    anchor = span_anchor(run)
    turn = next((index for index, prompt in enumerate(trajectory.prompts) if prompt.anchor == anchor), -1)
    return Step(
        anchor,
        ROOT_AGENT,
        run.start_ns,
        run.end_ns,
        None if told is None else "\n".join(message.text for message in told if message.text),
        tuple(calls),
        model_answered=shown(run, "llm.model_name"),
        finish_reason=shown(run, "llm.finish_reason"),
        input_tokens=at.integer(run.attributes, "llm.token_count.prompt"),
        output_tokens=at.integer(run.attributes, "llm.token_count.completion"),
        error=(run.status_message or "error") if run.status is StatusCode.ERROR else None,
        turn=turn,
    )


def _with_texts(attempts: Sequence[SkillInvocation], runs: Sequence[Span]) -> tuple[SkillInvocation, ...]:
    """The attempts of each turn with the texts of skills among what the model is said to have said in it."""
    found: dict[str, str] = {}
    for run in runs:
        texts = [message.text for message in messages(output_messages(run.attributes)) or () if _is_skill_text(message)]
        loads = [
            (attempt.anchor.ref, attempt.name or "")
            for attempt in attempts
            if attempt.anchor.trace_id == run.trace_id
            and attempt.outcome is LoadOutcome.LOADED
            and attempt.body is None
            and attempt.agent == ROOT_AGENT
        ]
        found |= instructions_by_load(loads, texts)
    return tuple(
        with_body(attempt, found[attempt.anchor.ref]) if attempt.anchor.ref in found else attempt
        for attempt in attempts
    )
