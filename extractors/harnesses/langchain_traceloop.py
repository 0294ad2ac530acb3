"""LangChain and LangGraph agents, through Traceloop's (OpenLLMetry's) instrumentation for LangChain.

- Scope `opentelemetry.instrumentation.langchain`, on spans and, when it sends content as events, on log records. One
  trace per invoke; building the agent is a trace of its own (`create_agent`), with no session.
- A turn is `invoke_agent`, in it a workflow span that says `invoke_agent` again, in it tasks, model requests, tools.
- The session's id is on the spans inside; the outermost has only `gen_ai.conversation.id`, and nodes repeat nothing.
- A tool's arguments are Python source in `input_str`, JSON in `inputs` where present; its result is the serialised
  tool message, which alone tells the call's id. A tool that raised has neither.
- A refusal is an exception, or a tool message with status `error` in a span without error.
- A call that middleware, a person or an unknown name stopped has no tool span, only an answer.
- Skills are the agent's own: a list in the system message, a tool or a file to load them. deepagents reads files.
"""

from __future__ import annotations

from typing import Final

from extractors.conventions import genai, traceloop
from extractors.conventions.openinference import framework
from extractors.conventions.traceloop import TRACE_CONTENT
from extractors.coverage import CONTENT, Setting, Signal
from extractors.spans import Session
from extractors.trajectory import Trajectory

NAME = "langchain_traceloop"

SETTINGS: Final = (
    Setting(CONTENT, TRACE_CONTENT, "the default"),
    Setting((Signal.HARNESS_VERSION,), None),
)

SCOPE: Final = "opentelemetry.instrumentation.langchain"
HABITS = genai.Habits(NAME, spans_every_call=True)


def recognizes(session: Session) -> bool:
    """Whether this instrumentation recorded any of it, and not OpenInference's beside it."""
    return SCOPE in session.scopes and framework(session) is None


def extract(session: Session) -> Trajectory:
    """What the agent did."""
    return traceloop.read(session, HABITS)
