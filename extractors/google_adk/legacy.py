"""Schema 1 of ADK's telemetry, told in the words of the GenAI conventions, so that it reads like schema 2.

- `call_llm` around `generate_content` holds request and response as JSON of Gemini's API; its child holds neither.
- `execute_tool` holds arguments and response under names of ADK's own.
- With content switched off, every one of these is `{}`; in log events `<elided>` stands for each content.
- Log events of one request are a system message, the history (all called user messages) and the choices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from extractors import attributes as at
from extractors.conventions.genai_content import CHOICE, DETAILS
from extractors.spans import Attributes, LogRecord, Session, Span, Value

LLM_REQUEST: Final = "gcp.vertex.agent.llm_request"
LLM_RESPONSE: Final = "gcp.vertex.agent.llm_response"
TOOL_ARGUMENTS: Final = "gcp.vertex.agent.tool_call_args"
TOOL_RESPONSE: Final = "gcp.vertex.agent.tool_response"

NOTHING: Final = "{}"
NO_RESPONSE: Final = "<not specified>"
ELIDED: Final = "<elided>"
SYSTEM_MESSAGE: Final = "gen_ai.system.message"
USER_MESSAGE: Final = "gen_ai.user.message"
MESSAGE_EVENTS: Final = frozenset({SYSTEM_MESSAGE, USER_MESSAGE, CHOICE})


def modern(session: Session) -> Session:
    """The session with what schema 1 tells in the attributes of schema 2; what it does not tell is left out."""
    recorded = any(_has_content(span) for span in session.spans)
    return replace(
        session,
        spans=tuple(_modern_span(span, recorded) for span in session.spans),
        records=tuple(_modern_records(session.records)),
    )


def _has_content(span: Span) -> bool:
    return any(span.attributes.get(key, NOTHING) != NOTHING for key in (LLM_REQUEST, LLM_RESPONSE, TOOL_RESPONSE))


def _modern_span(span: Span, recorded: bool) -> Span:
    attributes = span.attributes
    if TOOL_ARGUMENTS in attributes:
        return replace(span, attributes={**attributes, **(_tool_content(attributes) if recorded else {})})
    if LLM_REQUEST in attributes and at.OPERATION_NAME not in attributes:
        return replace(span, attributes={**attributes, **_exchange(attributes), at.OPERATION_NAME: "generate_content"})
    return span


def _tool_content(attributes: Attributes) -> dict[str, Value]:
    found = {at.TOOL_CALL_ARGUMENTS: attributes.get(TOOL_ARGUMENTS)}
    response = attributes.get(TOOL_RESPONSE)
    if response is not None and at.as_object(response) != {"result": NO_RESPONSE}:
        found[at.TOOL_CALL_RESULT] = response
    return found


def _exchange(attributes: Attributes) -> dict[str, Value]:
    """System prompt, tools, history and answer of a `call_llm` span; those that are recorded."""
    request = at.json_object(attributes, LLM_REQUEST) or {}
    response = at.json_object(attributes, LLM_RESPONSE) or {}
    config = at.as_mapping(request.get("config")) or {}
    found: dict[str, Value] = {}
    if config.get("system_instruction") is not None:
        found[at.SYSTEM_INSTRUCTIONS] = _instructions(config["system_instruction"])
    if config.get("tools") is not None:
        found[at.TOOL_DEFINITIONS] = _definitions(config["tools"])
    if "contents" in request:
        found[at.INPUT_MESSAGES] = [_message(content) for content in at.as_list(request["contents"]) or ()]
    if response:
        found[at.OUTPUT_MESSAGES] = [_message(response["content"])] if response.get("content") is not None else []
    return found


def _instructions(value: Value) -> Value:
    """A text, or a Gemini content with parts."""
    content = at.as_mapping(value)
    return value if content is None else _parts(content)


def _definitions(tools: Value) -> list[Value]:
    """Gemini groups functions; their schema has a name of its own."""
    found: list[Value] = []
    for group in at.as_list(tools) or ():
        for function in at.as_list((at.as_mapping(group) or {}).get("function_declarations")) or ():
            body = at.as_mapping(function) or {}
            schema = body.get("parameters_json_schema") or body.get("parameters")
            found.append({"name": body.get("name"), "description": body.get("description"), "parameters": schema})
    return found


def _message(content: Value) -> dict[str, Value]:
    """A Gemini content as a message of the convention."""
    body = at.as_mapping(content)
    if body is None:
        return {"role": "user", "parts": [{"type": "text", "content": at.as_text(content) or ""}]}
    return {"role": "assistant" if body.get("role") == "model" else "user", "parts": _parts(body)}


def _parts(content: Mapping[str, Value]) -> list[Value]:
    return [_part(body) for part in at.as_list(content.get("parts")) or () if (body := at.as_mapping(part)) is not None]


def _part(part: Mapping[str, Value]) -> Mapping[str, Value]:
    call, answer = at.as_mapping(part.get("function_call")), at.as_mapping(part.get("function_response"))
    if call is not None:
        return {"type": "tool_call", "id": call.get("id"), "name": call.get("name"), "arguments": call.get("args", {})}
    if answer is not None:
        told = {"id": answer.get("id"), "name": answer.get("name"), "response": answer.get("response")}
        return {"type": "tool_call_response", **told}
    text = part.get("text")
    if isinstance(text, str):
        return {"type": "reasoning" if part.get("thought") is True else "text", "content": text}
    return part


@dataclass(slots=True)
class _Request:
    """Message events of one request to the model while they are gathered; the last stands for all."""

    last: LogRecord
    finish_reasons: list[Value] = field(default_factory=list)
    content: dict[str, list[Value]] = field(default_factory=dict)

    def add(self, record: LogRecord) -> None:
        self.last = record
        body = at.as_mapping(record.body) or {}
        content = body.get("content")
        if isinstance(reason := body.get("finish_reason"), str):
            self.finish_reasons.append(reason.lower())
        if content is None or content == ELIDED:
            return
        if record.event_name == SYSTEM_MESSAGE:
            said = at.as_mapping(content)
            self.content[at.SYSTEM_INSTRUCTIONS] = [content] if said is None else _parts(said)
        else:
            key = at.OUTPUT_MESSAGES if record.event_name == CHOICE else at.INPUT_MESSAGES
            self.content.setdefault(key, []).append(_message(content))

    def details(self) -> LogRecord:
        """One details event. Its time is that of the last event, which tells when the answer came."""
        attributes: dict[str, Value] = {**self.last.attributes, **self.content}
        if self.finish_reasons:
            attributes[at.FINISH_REASONS] = self.finish_reasons
        return replace(self.last, event_name=DETAILS, body=None, attributes=attributes)


def _modern_records(records: Sequence[LogRecord]) -> Iterable[LogRecord]:
    """Message events joined to one details event a request. A system message begins a request."""
    requests: list[_Request] = []
    current: dict[tuple[str | None, str | None], _Request] = {}
    for record in records:
        if record.event_name not in MESSAGE_EVENTS:
            yield record
            continue
        key = record.trace_id, record.span_id
        if key not in current or record.event_name == SYSTEM_MESSAGE:
            current[key] = _Request(record)
            requests.append(current[key])
        current[key].add(record)
    for request in requests:
        yield request.details()
