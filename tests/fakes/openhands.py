"""A stand-in for an OpenHands conversation: plays scripted turns and records the telemetry that it would.

Names, nesting, value types and order are those of exports of openhands-sdk 1.58.2; texts, ids and times are made up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.fakes.otlp_json import Json, attributes, spans_request

START_NS = 1_900_000_000_000_000_000
MS = 1_000_000
ERROR_HEAD = "[An error occurred during execution.]\n"
PROPERTIES = "lmnr.association.properties."

Ending = Literal["ok", "error", "never ran"]


@dataclass(frozen=True)
class Action:
    """A tool call. `never ran`: invalid or rejected, `answer` is what the model is told instead."""

    tool: str
    arguments: Json
    answer: str = "done"
    ending: Ending = "ok"


@dataclass(frozen=True)
class Step:
    """One answer of the model, and the actions it asks for."""

    text: str | None = None
    actions: Sequence[Action] = ()


@dataclass
class Conversation:
    """One conversation. `system`: the two parts of the system message; `content`: whether texts are recorded."""

    session: str
    system: Sequence[str] = ("You are a helper.",)
    content: bool = True
    spans: list[list[Json]] = field(default_factory=lambda: [[]])
    _now: int = START_NS
    _counts: dict[str, int] = field(default_factory=dict)
    _history: list[Json] = field(default_factory=list)
    _begun: int = 0

    def __post_init__(self) -> None:
        self._history = [{"content": [_text(part) for part in self.system], "role": "system"}]
        self._trace, self._root = self._id("trace", 32), self._id("span", 16)
        self._begun = self._now

    def send(self, message: str, added: str | None = None) -> None:
        """The person writes. `added`: what OpenHands puts after it, for triggered skills."""
        self._tick(4)
        span, start = self._id("span", 16), self._now
        self._span(("conversation", "conversation.send_message"), span, self._root, start, input={"message": message})
        self._history.append({"content": [_text(message), *([_text(added)] if added else [])], "role": "user"})
        self.spans.append([])

    def run(self, steps: Sequence[Step], killed: bool = False) -> None:
        """The agent works. `killed`: the process ends inside the last step."""
        self._tick(2)
        span, start = self._id("span", 16), self._now
        for number, step in enumerate(steps):
            self._step(step, span, killed and number + 1 == len(steps))
        if not killed:
            self._span(("conversation", "conversation.run"), span, self._root, start, input={})

    def generate_title(self, title: str) -> None:
        """A side job: a model is asked, but not by the agent."""
        span, start = self._id("span", 16), self._now
        path = ("conversation", "conversation.generate_title")
        asked = [{"content": "Name this conversation.", "role": "user"}]
        self._ask(asked, {"content": title, "role": "assistant", "tool_calls": None}, span, path)
        self._span(path, span, self._root, start, input={})

    def close(self) -> None:
        self._tick(1)
        self._span(("conversation",), self._root, None, self._begun)

    def requests(self) -> list[tuple[str, Json]]:
        resource = {"service.name": "/srv/orchard/helper.py"}
        return [("traces", spans_request(resource, {"name": "lmnr.tracer"}, part)) for part in self.spans if part]

    def _step(self, step: Step, run: str, killed: bool) -> None:
        span, start = self._id("span", 16), self._now
        path = ("conversation", "conversation.run", "agent.step")
        ids = [self._id("call_", 8) for _ in step.actions]
        calls = [
            {
                "function": {"arguments": json.dumps(action.arguments), "name": action.tool},
                "id": id_,
                "type": "function",
            }
            for action, id_ in zip(step.actions, ids, strict=True)
        ]
        answer: Json = {"content": step.text, "role": "assistant", "tool_calls": calls or None}
        self._ask(self._history, answer, span, path)
        if killed:
            return
        content = {"content": [_text(step.text)]} if step.text else {}
        self._history.append({"role": "assistant", **content, **({"tool_calls": calls} if calls else {})})
        for action, id_ in zip(step.actions, ids, strict=True):
            self._act(action, id_, span, path)
        self._span(path, span, run, start, input={"conversation": "<LocalConversation object>"})

    def _ask(self, history: list[Json], answer: Json, parent: str, path: tuple[str, ...]) -> None:
        outer, inner, start = self._id("span", 16), self._id("span", 16), self._tick(3)
        self._tick(80)
        facts: Json = {"gen_ai.request.model": "model-o", "gen_ai.system": "litellm"}
        facts |= {
            "gen_ai.response.model": "model-o-1",
            "gen_ai.usage.input_tokens": 70,
            "gen_ai.usage.output_tokens": 6,
        }
        if self.content:
            schema = {"type": "object", "properties": {"tree": {"type": "string"}}}
            tool = {"name": "prune", "description": "Prune one tree.", "parameters": schema}
            facts["gen_ai.input.messages"] = json.dumps(history)
            facts["gen_ai.tool.definitions"] = json.dumps([{"type": "function", "function": tool}])
            facts["gen_ai.output.messages"] = json.dumps([{**answer, "function_call": None}])
        names = (*path, "llm.openai/model-o")
        self._span((*names, "litellm.completion"), inner, outer, start, kind="LLM", facts=facts)
        cached = {"gen_ai.usage.cache_read_input_tokens": 0}
        self._span(names, outer, parent, start, kind="LLM", facts=cached)

    def _act(self, action: Action, id_: str, parent: str, path: tuple[str, ...]) -> None:
        span, start = self._id("span", 16), self._tick(2)
        self._tick(9)
        name = "".join(word.capitalize() for word in action.tool.split("_"))
        told = {"action": {**action.arguments, "note": None, "kind": f"{name}Action"}}
        seen: Json = {"content": [_text(action.answer)]}
        output: Json = {
            "content": [{"cache_prompt": False, **_text(action.answer)}],
            "is_error": action.ending == "error",
        }
        output["kind"] = f"{name}Observation"
        if action.ending == "never ran":
            output = {"role": "tool", **seen, "tool_call_id": id_, "name": action.tool}
        elif action.ending == "error":
            seen = {"content": [_text(ERROR_HEAD), _text(action.answer)]}
        facts = {f"{PROPERTIES}metadata.tool_call_id": id_}
        self._span((*path, f"{name}Action"), span, parent, start, kind="TOOL", facts=facts, input=told, output=output)
        self._history.append({**seen, "role": "tool", "tool_call_id": id_, "name": action.tool})

    def _span(
        self,
        path: Sequence[str],
        span: str,
        parent: str | None,
        start: int,
        *,
        kind: str = "DEFAULT",
        facts: Json | None = None,
        input: Json | None = None,  # noqa: A002 - the attribute's name
        output: Json | None = None,
    ) -> None:
        told: Json = {"lmnr.span.type": kind, "lmnr.span.path": list(path), "lmnr.span.sdk_version": "0.7.67"}
        told |= {f"{PROPERTIES}session_id": self.session, **(facts or {})}
        if self.content and input is not None:
            told["lmnr.span.input"] = json.dumps(input)
        if self.content and output is not None:
            told["lmnr.span.output"] = json.dumps(output)
        body: Json = {"traceId": self._trace, "spanId": span, **({"parentSpanId": parent} if parent else {})}
        times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(self._tick(1))}
        self.spans[-1].append(
            {**body, "name": path[-1], "kind": 1, **times, "attributes": attributes(told), "status": {}}
        )

    def _tick(self, milliseconds: int) -> int:
        self._now += milliseconds * MS
        return self._now

    def _id(self, kind: str, length: int) -> str:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        digest = hashlib.sha256(f"{self.session}/{kind}/{self._counts[kind]}".encode()).hexdigest()[:length]
        return f"{kind}{digest}" if kind.endswith("_") else digest


def _text(text: str | None) -> Json:
    return {"type": "text", "text": text}
