"""Small spans and log records to build sessions from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from extractors.spans import LogRecord, Resource, Scope, Session, Span, SpanEvent, StatusCode, Value

TRACE = "a" * 32
SECOND_NS = 1_000_000_000


def span(
    span_id: str,
    parent: str | None = None,
    *,
    at_s: int = 1,
    lasts_s: int = 1,
    trace: str = TRACE,
    name: str = "",
    scope: str = "test.agent",
    status: StatusCode = StatusCode.UNSET,
    message: str = "",
    events: Iterable[SpanEvent] = (),
    attributes: Mapping[str, Value] | None = None,
    **named: Value,
) -> Span:
    """A span that starts `at_s` seconds after the epoch. Named arguments are `gen_ai.*` attributes, `__` for a dot."""
    short = {f"gen_ai.{key.replace('__', '.')}": value for key, value in named.items()}
    return Span(
        trace,
        span_id,
        parent,
        name or span_id,
        1,
        at_s * SECOND_NS,
        (at_s + lasts_s) * SECOND_NS,
        {**short, **(attributes or {})},
        tuple(events),
        (),
        status,
        message,
        Resource({"service.name": "test-service"}),
        Scope(scope),
    )


def agent(span_id: str, parent: str | None = None, *, name: str = "helper", **more: object) -> Span:
    """An `invoke_agent` span."""
    return _kind("invoke_agent", span_id, parent, {"agent__name": name, **more})


def chat(
    span_id: str,
    parent: str | None = None,
    inputs: list[Value] | None = None,
    outputs: list[Value] | None = None,
    **more: object,
) -> Span:
    """A `chat` span with message lists as JSON text, where given."""
    content: dict[str, object] = {}
    if inputs is not None:
        content["input__messages"] = json.dumps(inputs)
    if outputs is not None:
        content["output__messages"] = json.dumps(outputs)
    return _kind("chat", span_id, parent, {**content, **more})


def tool(span_id: str, parent: str | None, name: str, call_id: str | None = None, **more: object) -> Span:
    """An `execute_tool` span."""
    identity = {} if call_id is None else {"tool__call__id": call_id}
    return _kind("execute_tool", span_id, parent, {"tool__name": name, **identity, **more})


def _kind(operation: str, span_id: str, parent: str | None, named: Mapping[str, object]) -> Span:
    return span(span_id, parent, operation__name=operation, **named)  # type: ignore[arg-type]  # attributes by keyword


def session(spans: Iterable[Span] = (), records: Iterable[LogRecord] = ()) -> Session:
    """A session of these spans in start order and these records."""
    ordered = sorted(spans, key=lambda one: (one.start_ns, one.span_id))
    return Session("session-1", tuple(ordered), tuple(records))


def record(
    event_name: str | None,
    span_id: str | None = None,
    *,
    at_s: int = 1,
    position: int = 0,
    body: Value = None,
    attributes: Mapping[str, Value] | None = None,
) -> LogRecord:
    """A log record of the test trace."""
    trace = TRACE if span_id is not None else None
    at_ns = at_s * SECOND_NS
    resource = Resource({"service.name": "test-service"})
    scope = Scope("test.agent")
    return LogRecord(
        trace, span_id, at_ns, at_ns, event_name, 9, body, attributes or {}, resource, scope, position=position
    )


def user(text: str) -> Value:
    """A message of the person."""
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def says(text: str) -> Value:
    """A message of the model."""
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def asks(call_id: str | None, name: str, **arguments: Value) -> Value:
    """A message of the model that asks for a tool."""
    part: dict[str, Value] = {"type": "tool_call", "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part if call_id is None else {**part, "id": call_id}]}


def answers(call_id: str, response: Value) -> Value:
    """A message with a tool's result."""
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": response}]}
