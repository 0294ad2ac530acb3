"""Stand-ins for OpenInference instrumentations: play a scripted conversation and record the spans that they would.

Names, nesting, value types and order are those of exports of openinference-instrumentation-langchain 0.1.80,
-openai-agents 2.6.0, -smolagents 0.1.43 and -claude-agent-sdk 0.1.22; texts, ids and times are made up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

START_MS = 1_910_000_000_000
BATCH = 9
"""Spans in one export request."""


@dataclass(frozen=True)
class Call:
    """One tool call. `error`: the type and message of what the tool raised. `told`: what the model is told instead of
    a result. `spanless`: stopped before it ran. `failed`: told as a failure in an ordinary result.
    `inside`: what a sub-agent did in it."""

    name: str
    arguments: Json
    result: str = "done"
    error: tuple[str, str] | None = None
    told: str | None = None
    spanless: bool = False
    failed: bool = False
    interrupted: bool = False
    output: str | None = None
    inside: Sequence[Says] = ()

    @property
    def answer(self) -> str:
        """What the model reads."""
        if self.told is not None:
            return self.told
        return f"{self.error[0]}: {self.error[1]}" if self.error else self.result


@dataclass(frozen=True)
class Says:
    """What the model answers to one request."""

    text: str = ""
    calls: Sequence[Call] = ()


@dataclass(frozen=True)
class Turn:
    """A prompt of the person and what the model made of it."""

    prompt: str
    says: Sequence[Says]


@dataclass
class Recording:
    """A span while it is open."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start_ms: int
    attributes: Json
    status: Json = field(default_factory=lambda: {"code": 1})
    events: list[Json] = field(default_factory=list)
    end_ms: int = 0

    def fails(self, message: str, kind: str, said: str) -> None:
        """End with an error that an exception explains."""
        self.status = {"code": 2, "message": message}
        fields = {"exception.type": kind, "exception.message": said, "exception.escaped": "False"}
        at_ns = str((self.start_ms + 1) * 1_000_000)
        self.events.append({"name": "exception", "timeUnixNano": at_ns, "attributes": attributes(fields)})


@dataclass
class Tape:
    """The spans of a session in the order in which they ended."""

    scope: str
    version: str
    session: str
    service: str = "allotment-club"
    spans: list[Recording] = field(default_factory=list)
    now_ms: int = START_MS
    _count: int = 0

    def _id(self, digits: int) -> str:
        self._count += 1
        return hashlib.sha256(f"{self.session}/{self._count}".encode()).hexdigest()[:digits]

    @contextmanager
    def span(self, name: str, kind: str, parent: Recording | None = None, **fields: Any) -> Iterator[Recording]:
        """An open span; `__` in the name of a field is a dot. Without a parent it begins a trace."""
        trace = parent.trace_id if parent is not None else self._id(32)
        given = {key.replace("__", "."): value for key, value in fields.items()}
        self.now_ms += 5
        one = Recording(name, trace, self._id(16), parent.span_id if parent else "", self.now_ms, given)
        yield one
        self.now_ms += 20
        one.end_ms = self.now_ms
        one.attributes["openinference.span.kind"] = kind
        self.spans.append(one)

    def requests(self) -> list[Json]:
        """The export requests, as OTLP/JSON."""
        batches = [self.spans[at : at + BATCH] for at in range(0, len(self.spans), BATCH)]
        resource = {"attributes": attributes({"telemetry.sdk.name": "opentelemetry", "service.name": self.service})}
        scope = {"name": self.scope, "version": self.version}
        return [
            {
                "resourceSpans": [
                    {"resource": resource, "scopeSpans": [{"scope": scope, "spans": list(map(_span, some))}]}
                ]
            }
            for some in batches
        ]


def _span(one: Recording) -> Json:
    told = {
        "traceId": one.trace_id,
        "spanId": one.span_id,
        "name": one.name,
        "kind": 1,
        "startTimeUnixNano": str(one.start_ms * 1_000_000),
        "endTimeUnixNano": str(one.end_ms * 1_000_000),
        "attributes": attributes(one.attributes),
        "status": one.status,
    }
    return (
        told
        | ({"parentSpanId": one.parent_id} if one.parent_id else {})
        | ({"events": one.events} if one.events else {})
    )


def attributes(fields: Mapping[str, Any]) -> list[Json]:
    """Attributes in OTLP/JSON; None is left out."""
    return [{"key": key, "value": _value(value)} for key, value in fields.items() if value is not None]


def _value(value: Any) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case list() | tuple():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": value}


def flat(head: str, messages: Sequence[Json]) -> Json:
    """Messages flattened. A message is `{role, content?, contents?, calls?, id?}`, a call `(id, name, arguments)`."""
    told: Json = {}
    for at, message in enumerate(messages):
        start = f"{head}.{at}.message"
        told[f"{start}.role"] = message["role"]
        if message.get("content"):
            told[f"{start}.content"] = message["content"]
        for number, text in enumerate(message.get("contents", ())):
            told[f"{start}.contents.{number}.message_content.type"] = "text"
            told[f"{start}.contents.{number}.message_content.text"] = text
        if "id" in message:
            told[f"{start}.tool_call_id"] = message["id"]
        for number, (call_id, name, arguments) in enumerate(message.get("calls", ())):
            call = f"{start}.tool_calls.{number}.tool_call"
            told |= {f"{call}.id": call_id, f"{call}.function.name": name}
            if arguments:
                told[f"{call}.function.arguments"] = json.dumps(arguments)
    return told


def tools(names: Sequence[str]) -> Json:
    """Definitions of tools with these names."""
    schema = {"type": "object", "properties": {}}
    return {
        f"llm.tools.{at}.tool.json_schema": json.dumps(
            {"type": "function", "function": {"name": name, "description": f"Use {name}.", "parameters": schema}}
        )
        for at, name in enumerate(names)
    }


def usage(prompt: int = 300, completion: int = 20) -> Json:
    return {
        "llm.token_count.prompt": prompt,
        "llm.token_count.completion": completion,
        "llm.token_count.total": prompt + completion,
    }


def call_ids(script: str, number: int, says: Says) -> list[str]:
    """Ids of the calls of one answer."""
    return [f"call_{script}{number}{at}" for at, _ in enumerate(says.calls)]
