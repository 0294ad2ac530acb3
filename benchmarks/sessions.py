"""One made-up agent session as OTLP spans, in the order in which they end (children before their roots)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from benchmarks.prose import Prose

Profile: TypeAlias = Literal["rich", "lean"]
Ids: TypeAlias = Literal["all", "root", "conversation", "mixed"]

SERVICES = (
    "ferry-desk",
    "orchard-orders",
    "guest-house",
    "pump-repair",
    "seed-library",
    "parcel-shelf",
    "tide-watch",
    "ledger-helper",
)
TURN = ("chat", "tool", "chat", "tool", "tool", "chat", "tool", "tool", "chat", "agent")
"""The spans of one trace (one prompt of the person) in the order they end."""
SPANS_PER_SESSION = 2 * len(TURN)

MODELS = ("pine-large-3", "pine-small-3", "alder-2")
SKILLS = ("refund-rules", "tide-tables", "group-bookings", "cold-chain")
TOOLS = ("find_order", "list_slots", "quote_price", "send_note", "read_gauge", "book_pickup")
HISTORY_CHARACTERS = 19_000
_STARTED_NS = 1_790_000_000_000_000_000
_TOOL_DEFINITIONS = json.dumps(
    [
        {
            "type": "function",
            "name": name,
            "description": f"Does what the desk calls {name.replace('_', ' ')}; answers with one row per match.",
            "parameters": {
                "type": "object",
                "properties": {"reference": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
                "required": ["reference"],
            },
        }
        for name in ("load_skill", *TOOLS)
    ]
)

Value: TypeAlias = str | int | float | bool | Sequence[str]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a session is. A session that runs across two passes over the pool is stamped per span (`tags`)."""

    number: int
    service: str
    ids: Literal["all", "root", "conversation"]
    tags: Sequence[bytes]
    """8 bytes of ASCII per span, part of its session id and its trace id"""


def identity(number: int, ids: Ids, tags: Sequence[bytes]) -> Identity:
    """`mixed` spreads the three ways of naming a session evenly."""
    ways: tuple[Literal["all", "root", "conversation"], ...] = ("all", "root", "conversation")
    return Identity(number, SERVICES[number % len(SERVICES)], ways[number % 3] if ids == "mixed" else ids, tags)


def resource(service: str) -> Resource:
    """The process that sends for `service`: 9 attributes."""
    built = Resource()
    _put(built.attributes.add(), "service.name", service)
    _put(built.attributes.add(), "service.version", f"4.{len(service)}.1")
    _put(
        built.attributes.add(), "service.instance.id", f"{service}-7c9d5b{len(service):02d}-x{SERVICES.index(service)}"
    )
    _put(built.attributes.add(), "deployment.environment.name", "production")
    _put(built.attributes.add(), "telemetry.sdk.language", "python")
    _put(built.attributes.add(), "telemetry.sdk.name", "opentelemetry")
    _put(built.attributes.add(), "telemetry.sdk.version", "1.45.1")
    _put(built.attributes.add(), "host.name", f"node-{SERVICES.index(service)}")
    _put(built.attributes.add(), "process.pid", 4_000 + SERVICES.index(service))
    return built


def scope() -> InstrumentationScope:
    return InstrumentationScope(name="desk.agent.runtime", version="2.3.0")


def build(who: Identity, profile: Profile, chance: Random, prose: Prose) -> list[Span]:
    """`SPANS_PER_SESSION` spans: two traces, each a root `invoke_agent` over chats and tool calls."""
    conversation = _Conversation(prose, chance) if profile == "rich" else None
    spans: list[Span] = []
    for turn in range(2):
        trace_end, root = chance.randbytes(8), chance.randbytes(8)
        if conversation is not None:
            conversation.person_asks()
        for place, kind in enumerate(TURN):
            index = turn * len(TURN) + place
            span = Span(
                trace_id=who.tags[index] + trace_end,
                span_id=root if kind == "agent" else chance.randbytes(8),
                parent_span_id=b"" if kind == "agent" else root,
                start_time_unix_nano=_STARTED_NS + (who.number * 400 + index * 350) * 1_000_000,
                flags=256,
            )
            span.end_time_unix_nano = span.start_time_unix_nano + chance.randrange(5, 4_000) * 1_000_000
            _name_session(span, who, index, is_root=kind == "agent")
            _common(span, who, chance)
            _KINDS[kind](span, index, chance, conversation)
            spans.append(span)
    return spans


class _Conversation:
    """What was said so far. Every chat span repeats it, as instrumentations do, up to a limit."""

    def __init__(self, prose: Prose, chance: Random) -> None:
        self._prose = prose
        self._chance = chance
        self._messages: list[str] = []
        self.system = json.dumps([{"type": "text", "content": prose.text(900)}])

    def person_asks(self) -> None:
        self._say({"role": "user", "parts": [{"type": "text", "content": self._prose.text(900)}]})

    def history(self) -> str:
        """The newest messages that fit, never fewer than one, as a JSON array."""
        while len(self._messages) > 1 and sum(map(len, self._messages)) > HISTORY_CHARACTERS:
            del self._messages[0]
        return "[" + ", ".join(self._messages) + "]"

    def model_answers(self) -> str:
        """A JSON array with the one message, which joins the history."""
        call = {"type": "tool_call", "id": f"call_{self._chance.getrandbits(48):012x}", "name": "find_order"}
        text = {"type": "text", "content": self._prose.text(300)}
        return "[" + self._say({"role": "assistant", "parts": [text, call], "finish_reason": "tool_call"}) + "]"

    def tool_answers(self, call_id: str) -> str:
        """The result as JSON; it joins the history too."""
        result = {"rows": [self._prose.text(240) for _ in range(3)]}
        self._say({"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": result}]})
        return json.dumps(result)

    def arguments(self) -> str:
        return json.dumps({"reference": self._prose.text(120), "limit": self._chance.randrange(1, 20)})

    def answer(self) -> str:
        return json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": self._prose.text(1_400)}]}])

    def last_request(self) -> str:
        return "[" + self._messages[0] + "]"

    def _say(self, message: dict[str, object]) -> str:
        text = json.dumps(message)
        self._messages.append(text)
        return text


def _name_session(span: Span, who: Identity, index: int, *, is_root: bool) -> None:
    name = f"{who.service}-{who.tags[index].decode()}-{who.number:06d}"
    if who.ids == "conversation":
        put(span, "gen_ai.conversation.id", name)
    elif who.ids == "all" or is_root:
        put(span, "session.id", name)


def _common(span: Span, who: Identity, chance: Random) -> None:
    put(span, "gen_ai.agent.name", f"{who.service} agent")
    put(span, "user.id", f"guest-{who.number % 977}")
    put(span, "thread.id", 140_000_000_000_000 + chance.randrange(64) * 8_192)
    put(span, "thread.name", "asyncio_0")
    put(span, "app.release", "4.7.1-build.2231")
    put(span, "app.region", "north-2")
    put(span, "app.tier", "standard")


def _chat(span: Span, index: int, chance: Random, conversation: _Conversation | None) -> None:
    model = chance.choice(MODELS)
    span.name, span.kind = f"chat {model}", Span.SPAN_KIND_CLIENT
    put(span, "gen_ai.operation.name", "chat")
    put(span, "gen_ai.provider.name", "timber")
    put(span, "gen_ai.request.model", model)
    put(span, "gen_ai.response.model", f"{model}-20260801")
    put(span, "gen_ai.response.id", f"msg_{chance.getrandbits(64):016x}")
    put(span, "gen_ai.response.finish_reasons", ["tool_call"])
    put(span, "gen_ai.request.max_tokens", 4_096)
    put(span, "gen_ai.request.temperature", 0.2)
    put(span, "gen_ai.usage.input_tokens", chance.randrange(400, 9_000))
    put(span, "gen_ai.usage.output_tokens", chance.randrange(20, 900))
    put(span, "server.address", "models.timber.example")
    put(span, "server.port", 443)
    if conversation is not None:
        put(span, "gen_ai.system_instructions", conversation.system)
        put(span, "gen_ai.tool.definitions", _TOOL_DEFINITIONS)
        put(span, "gen_ai.input.messages", conversation.history())
        put(span, "gen_ai.output.messages", conversation.model_answers())


def _tool(span: Span, index: int, chance: Random, conversation: _Conversation | None) -> None:
    name = "load_skill" if index == 1 else chance.choice(TOOLS)
    call_id = f"call_{chance.getrandbits(48):012x}"
    span.name, span.kind = f"execute_tool {name}", Span.SPAN_KIND_INTERNAL
    put(span, "gen_ai.operation.name", "execute_tool")
    put(span, "gen_ai.tool.name", name)
    put(span, "gen_ai.tool.type", "function")
    put(span, "gen_ai.tool.call.id", call_id)
    put(span, "gen_ai.tool.description", f"Does what the desk calls {name.replace('_', ' ')}.")
    put(span, "code.function.name", f"desk.tools.{name}.run")
    put(span, "code.file.path", "/app/desk/tools.py")
    put(span, "code.line.number", chance.randrange(20, 900))
    put(span, "app.attempt", 1)
    put(span, "app.cache.hit", chance.random() < 0.3)
    put(span, "app.queue.wait_ms", chance.random() * 40)
    if index == 1:
        put(span, "gen_ai.skill.name", chance.choice(SKILLS))
    if chance.random() < 0.05:
        put(span, "error.type", "TimeoutError")
        span.status.code = Status.STATUS_CODE_ERROR
        span.status.message = "the desk did not answer in time"
    if conversation is not None:
        put(span, "gen_ai.tool.call.arguments", conversation.arguments())
        put(span, "gen_ai.tool.call.result", conversation.tool_answers(call_id))


def _agent(span: Span, index: int, chance: Random, conversation: _Conversation | None) -> None:
    span.name, span.kind = "invoke_agent", Span.SPAN_KIND_INTERNAL
    put(span, "gen_ai.operation.name", "invoke_agent")
    put(span, "gen_ai.request.model", MODELS[0])
    put(span, "gen_ai.usage.input_tokens", chance.randrange(4_000, 40_000))
    put(span, "gen_ai.usage.output_tokens", chance.randrange(200, 4_000))
    put(span, "gen_ai.response.finish_reasons", ["stop"])
    put(span, "app.channel", "web")
    put(span, "app.turn", index // len(TURN))
    put(span, "http.request.method", "POST")
    put(span, "http.route", "/v2/desk/{desk}/ask")
    put(span, "http.response.status_code", 200)
    put(span, "client.address", f"10.{chance.randrange(256)}.{chance.randrange(256)}.7")
    if conversation is not None:
        put(span, "gen_ai.system_instructions", conversation.system)
        put(span, "gen_ai.input.messages", conversation.last_request())
        put(span, "gen_ai.output.messages", conversation.answer())


_KINDS = {"chat": _chat, "tool": _tool, "agent": _agent}


def put(span: Span, key: str, value: Value) -> None:
    _put(span.attributes.add(), key, value)


def _put(pair: KeyValue, key: str, value: Value) -> None:
    pair.key = key
    if isinstance(value, str):
        pair.value.string_value = value
    elif isinstance(value, bool):
        pair.value.bool_value = value
    elif isinstance(value, int):
        pair.value.int_value = value
    elif isinstance(value, float):
        pair.value.double_value = value
    else:
        for item in value:
            pair.value.array_value.values.add().string_value = item
