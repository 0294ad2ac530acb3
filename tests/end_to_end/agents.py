"""Telemetry of a small agent that loads a skill and calls a tool, by the GenAI conventions, one request a turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.collector.sessions.telemetry import span, trace_request

SECOND_NS = 1_000_000_000
_START_NS = 1_790_000_000 * SECOND_NS


def tool_span(
    session: str,
    trace: int,
    number: int,
    tool: str = "look_up",
    arguments: Mapping[str, object] | None = None,
    result: str = "found",
) -> Span:
    """One call of a tool, whose call id is the span's number."""
    start = _START_NS + number * SECOND_NS
    made = span(trace, number, start=start, session__id=session, gen_ai__operation__name="execute_tool")
    for key, value in {
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": f"call-{number}",
        "gen_ai.tool.call.arguments": json.dumps(arguments or {"item": number}),
        "gen_ai.tool.call.result": result,
    }.items():
        made.attributes.add(key=key).value.string_value = value
    return made


def skill_span(session: str, trace: int, number: int, skill: str) -> Span:
    """A skill being loaded."""
    body = f"# {skill}\n\nLook in the list of stock first, then answer with a number."
    return tool_span(session, trace, number, "load_skill", {"skill_name": skill}, body)


def chat_span(session: str, trace: int, number: int, ask: str, answer: str) -> Span:
    """One model turn with its messages."""
    made = span(trace, number, start=_START_NS + number * SECOND_NS, session__id=session)
    for key, value in {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small-model",
        "gen_ai.input.messages": _messages("user", ask),
        "gen_ai.output.messages": _messages("assistant", answer),
    }.items():
        made.attributes.add(key=key).value.string_value = value
    return made


def conversation(session: str, trace: int = 1) -> bytes:
    """A task, one tool call, an answer."""
    return request(
        [
            tool_span(session, trace, trace * 100 + 2),
            chat_span(session, trace, trace * 100 + 3, "Is the blue mug in stock?", "Yes, there are four blue mugs."),
        ]
    )


def request(spans: Sequence[Span], service: str = "shop") -> bytes:
    return trace_request(spans, resource={"service.name": service}, scope="shop.agent")


def _messages(role: str, text: str) -> str:
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}]
    return json.dumps([{"role": role, "parts": parts}])
