"""LangChain and LangGraph agents, through the OpenInference instrumentation.

- Scope `openinference.instrumentation.langchain`; one trace per invoke. The graph is a CHAIN without a parent, or
  below another framework's span; its nodes are CHAINs (`model`, `tools`), model requests LLM, tools TOOL.
- Whatever has `agent` in its name is called AGENT, be it middleware, a tool or a graph: told apart by attributes.
- `metadata` names the graph's agent (`lc_agent_name`); a graph under a tool, or with another name, is a sub-agent.
- A tool of one argument has the bare value as input. The call as the model made it stands in the input of the
  `tools` node above. The call id stands there and in the tool message that is the output.
- A refusal is an exception, or a tool message with status `error` in a span with status OK.
- A call that middleware, a person or an unknown name stopped has no TOOL span, only an answer.
- A tool that was interrupted to ask a person has status OK and no output; it runs again when resumed.
- The final state repeats earlier turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from extractors import attributes as at
from extractors.conventions import genai
from extractors.conventions.genai_calls import TOOL_STATUS
from extractors.conventions.openinference import HIDE_NOTHING, first_metadata, framework, read
from extractors.conventions.openinference_spans import (
    INPUT,
    METADATA,
    OUTPUT,
    TOOL_NAME,
    agent,
    arguments_in,
    exception_message,
    has_below,
    kind_of,
    prompt_in,
    retold,
    shown,
    tool_call,
    with_defaults,
    with_own_message,
)
from extractors.coverage import CONTENT, Setting
from extractors.langchain_messages import messages_in, tool_message
from extractors.skill_signals import skill_argument
from extractors.spans import Session, Span, StatusCode, Value
from extractors.trajectory import Trajectory
from extractors.tree import Tree

NAME = "langchain"

SETTINGS: Final = (Setting(CONTENT, HIDE_NOTHING, "the default"),)

SCOPE: Final = "openinference.instrumentation.langchain"
DEEPAGENTS: Final = "deepagents"
HABITS = genai.Habits(NAME, spans_every_call=True)

_INTERRUPTS: Final = ("GraphInterrupt", "NodeInterrupt")
_MODEL_MARKS: Final = ("llm.invocation_parameters", "llm.model_name", "llm.output_messages.0.message.role")
_NODE: Final = "langgraph_node"


def recognizes(session: Session) -> bool:
    """Whether LangChain began the session, and not through deepagents."""
    return framework(session) == NAME and not is_deepagents(session)


def is_deepagents(session: Session) -> bool:
    """Whether deepagents says in the metadata that it built the graph."""
    metadata = [span for span in session.spans if span.scope.name == SCOPE]
    built_by = first_metadata(metadata, "ls_integration") == DEEPAGENTS
    return built_by or first_metadata(metadata, "lc_versions", DEEPAGENTS) is not None


def extract(session: Session) -> Trajectory:
    """What the agent did."""
    return with_version(read(session, HABITS, retell), session, "langchain", "langchain-core")


def with_version(trajectory: Trajectory, session: Session, *packages: str) -> Trajectory:
    """The trajectory with the version of the first of these packages that the metadata tells."""
    told = (first_metadata(session.spans, "lc_versions", package) for package in packages)
    version = next((version for version in told if version), None)
    return replace(trajectory, versions=replace(trajectory.versions, harness_version=version))


def retell(span: Span, tree: Tree) -> Span:
    """A span in GenAI terms."""
    if span.scope.name != SCOPE or kind_of(span) is None:
        return retold(span, tree)
    if TOOL_NAME in span.attributes:
        return _tool(span, tree)
    if kind_of(span) == "LLM" or any(key in span.attributes for key in _MODEL_MARKS):
        return retold(replace(span, attributes={**span.attributes, "openinference.span.kind": "LLM"}), tree)
    return _graph(span) if _starts_agent(span, tree) else span


def _graph(span: Span) -> Span:
    asked = shown(span, INPUT)
    said = [message for message in messages_in(shown(span, OUTPUT)) or () if _is_assistant(message)]
    told = agent(span, agent_name(span) or span.name)
    told[at.INPUT_MESSAGES] = messages_in(asked) or prompt_in(asked)
    told[at.OUTPUT_MESSAGES] = said[-1:] or None
    return with_defaults(span, told)


def _is_assistant(message: Value) -> bool:
    return (at.as_mapping(message) or {}).get("role") == "assistant"


def agent_name(span: Span) -> str | None:
    """The name of the agent whose graph the span belongs to; None where the metadata does not tell."""
    return at.text(_metadata(span), "lc_agent_name")


def _metadata(span: Span) -> Mapping[str, Value]:
    return at.json_object(span.attributes, METADATA) or {}


def _starts_agent(span: Span, tree: Tree) -> bool:
    """Whether the span is a whole graph: the outermost, one that a tool runs, or one of an agent of another name."""
    above = next((one for one in tree.ancestors(span) if one.scope.name == SCOPE), None)
    if above is None:
        return span.parent_id is None or _NODE not in _metadata(span)
    if TOOL_NAME in above.attributes:
        return has_below(tree, span, ("LLM",))
    name = agent_name(span)
    return name is not None and name != (agent_name(above) or name)


def _tool(span: Span, tree: Tree) -> Span:
    told = tool_call(span)
    asked = _call_above(span, tree)
    answer = tool_message(shown(span, OUTPUT))
    told[at.TOOL_CALL_ID] = (answer.call_id if answer is not None else None) or asked.get("id")
    told[at.TOOL_CALL_ARGUMENTS] = _arguments(span, asked)
    if answer is not None:
        told[at.TOOL_CALL_RESULT] = answer.text
        told[TOOL_STATUS] = "error" if answer.failed else None
    elif _is_cut(shown(span, OUTPUT)):
        told[at.TOOL_CALL_RESULT] = None
    if _was_interrupted(span):
        told[TOOL_STATUS] = "unanswered"
    return with_own_message(with_defaults(span, told), exception_message(span))


def _arguments(span: Span, asked: Mapping[str, Value]) -> Value:
    """As the model wrote them; else as the span has them, a bare value under the name that skill tools give it."""
    written = at.as_mapping(asked.get("args"))
    if written is not None:
        return written
    found = arguments_in(shown(span, INPUT))
    name = skill_argument(at.text(span.attributes, TOOL_NAME) or "")
    return {name: found} if isinstance(found, str) and name is not None else found


def _call_above(span: Span, tree: Tree) -> Mapping[str, Value]:
    """The model's call that the `tools` node above was given; empty when it was given another or several."""
    above = tree.parent(span)
    given = at.parse_json(shown(above, INPUT) or "") if above is not None else None
    body = at.as_mapping(given)
    one = at.as_mapping((body or {}).get("tool_call"))
    calls = [one] if one is not None else [at.as_mapping(item) or {} for item in at.as_list(given) or ()]
    own = [call for call in calls if call.get("name") == span.attributes.get(TOOL_NAME) and "args" in call]
    return own[0] if len(own) == 1 else {}


def _was_interrupted(span: Span) -> bool:
    names = (at.text(event.attributes, at.EXCEPTION_TYPE) or "" for event in span.events)
    return span.status is not StatusCode.ERROR and OUTPUT not in span.attributes and _any_ends(names, _INTERRUPTS)


def _any_ends(names: Iterable[str], endings: tuple[str, ...]) -> bool:
    return any(name.endswith(endings) for name in names)


def _is_cut(output: str | None) -> bool:
    """Whether this is a serialised message that a length limit cut: the next request repeats its text in full."""
    return output is not None and output.startswith(('{"type": "tool"', '{"lc"')) and at.parse_json(output) is None
