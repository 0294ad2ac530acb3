"""A stand-in for Google ADK's runner: plays scripted turns and records the telemetry that ADK would.

Names, nesting, value types and order are those of exports of ADK 2.13.0; texts, ids and times are made up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.fakes.otlp_json import Json, any_value, attributes, logs_request, spans_request

START_NS = 1_900_000_000_000_000_000
MS = 1_000_000
SCOPE = {"name": "gcp.vertex.agent", "version": "2.13.0"}
RESOURCE = {"telemetry.sdk.name": "opentelemetry", "service.name": "mill-desk"}

Content = Literal["none", "spans", "events", "both"]


@dataclass(frozen=True)
class Call:
    """A tool call. `result` None: it raised `raises`. `skill`: what ADK says of the skill on the span."""

    name: str
    arguments: Json
    result: Json | None = None
    kind: str = "FunctionTool"
    skill: Json = field(default_factory=dict)
    error: str | None = None
    raises: str | None = None


@dataclass(frozen=True)
class Round:
    """One answer of the model, and the calls it asks for."""

    text: str = ""
    calls: Sequence[Call] = ()


@dataclass(frozen=True)
class Run:
    """What one agent does in a turn."""

    agent: str
    rounds: Sequence[Round]
    instructions: str = "Help the miller."


@dataclass
class Adk:
    """One session. `schema` 1 or 2; `content`: where messages go; `model_ids`: whether the model gives calls ids."""

    session: str
    schema: int = 2
    content: Content = "both"
    model_ids: bool = False
    spans: list[list[Json]] = field(default_factory=list)
    records: list[list[Json]] = field(default_factory=list)
    _now: int = START_NS
    _counts: dict[str, int] = field(default_factory=dict)
    _history: list[Json] = field(default_factory=list)
    _trace: str = ""

    def turn(self, prompt: str, runs: Sequence[Run], killed: bool = False) -> None:
        """The person asks, these agents work one after the other. `killed`: no agent's span ever ends."""
        self.spans.append([])
        self.records.append([])
        self._trace, root, start = self._id("trace", 32), self._id("span", 16), self._tick(5)
        self._history.append({"role": "user", "parts": [{"text": prompt}]})
        for run in runs:
            self._run(run, root, killed)
        if killed:
            return
        named = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.conversation.id": self.session}
        facts = {**named, "gen_ai.workflow.name": runs[0].agent} if self.schema == 2 else {}
        self._span(f"invoke_workflow {runs[0].agent}" if facts else "invocation", root, None, start, facts)

    def requests(self) -> list[tuple[str, Json]]:
        """(`traces` or `logs`, export request), one of each a turn; logs come first."""
        sent = []
        for spans, records in zip(self.spans, self.records, strict=True):
            sent.append(("logs", logs_request(RESOURCE, SCOPE, records)))
            sent.append(("traces", spans_request(RESOURCE, SCOPE, spans)))
        return sent

    def _run(self, run: Run, root: str, killed: bool) -> None:
        agent, start = self._id("span", 16), self._tick(3)
        for number, one in enumerate(run.rounds):
            self._round(run, one, agent, last=number + 1 == len(run.rounds))
        facts = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.description": "Works at the mill.",
            "gen_ai.agent.name": run.agent,
            "gen_ai.conversation.id": self.session,
        }
        if not killed:
            self._span(f"invoke_agent {run.agent}", agent, root, start, facts)
        # Another agent reads what this one said as a quotation.
        self._history = [self._quoted(one, run.agent) if one["role"] == "model" else one for one in self._history]

    def _quoted(self, content: Json, agent: str) -> Json:
        return {**content, "said_by": content.get("said_by", agent)}

    def _seen_by(self, agent: str) -> list[Json]:
        seen = []
        for content in self._history:
            if content.get("said_by", agent) == agent:
                seen.append({key: content[key] for key in ("role", "parts")})
            else:
                seen.append({"role": "user", "parts": [{"text": f"For context: {content['said_by']} worked on it."}]})
        return seen

    def _round(self, run: Run, one: Round, agent: str, last: bool) -> None:
        history = self._seen_by(run.agent)
        ids = [self._id("call_" if self.model_ids else "adk-", 8) for _ in one.calls]
        parts: list[Json] = [{"text": one.text}] if one.text else []
        parts += [
            {"function_call": {**({"id": id_} if self.model_ids else {}), "args": call.arguments, "name": call.name}}
            for call, id_ in zip(one.calls, ids, strict=True)
        ]
        answer = {"role": "model", "parts": parts}
        self._request(run, history, answer, agent)
        self._history.append(answer)
        for call, id_ in zip(one.calls, ids, strict=True):
            self._execute(call, id_, agent, run.agent)
        if len(one.calls) > 1:
            self._merged(one.calls, agent)
        answers = [
            {
                "function_response": {
                    **({"id": id_} if self.model_ids else {}),
                    "name": call.name,
                    "response": call.result,
                }
            }
            for call, id_ in zip(one.calls, ids, strict=True)
            if call.result is not None
        ]
        if answers and not last:
            self._history.append({"role": "user", "parts": answers})

    def _request(self, run: Run, history: list[Json], answer: Json, agent: str) -> None:
        outer, inner, start = self._id("span", 16), self._id("span", 16), self._tick(4)
        usage = {"gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 9}
        done = {"gen_ai.response.finish_reasons": ["stop"], **usage}
        facts: Json = {
            "gen_ai.operation.name": "generate_content",
            "gen_ai.request.model": "model-m",
            "gen_ai.agent.name": run.agent,
            "gen_ai.conversation.id": self.session,
        }
        if self.schema == 1:
            self._messages(run, history, answer, inner)
            self._tick(90)
            self._span("generate_content model-m", inner, outer, start, {"gen_ai.system": "gemini", **facts, **done})
            request, response = self._gemini(run, history, answer)
            legacy = {
                "gen_ai.system": "gcp.vertex.agent",
                "gen_ai.request.model": "model-m",
                "gcp.vertex.agent.session_id": self.session,
                "gcp.vertex.agent.llm_request": json.dumps(request if self.content in ("spans", "both") else {}),
                "gcp.vertex.agent.llm_response": json.dumps(response if self.content in ("spans", "both") else {}),
            }
            self._span("call_llm", outer, agent, start, {**legacy, **done})
            return
        self._tick(90)
        told: Json = self._semconv(run, history, answer)
        names: list[Json] = [{**one, "parameters": None} for one in told["gen_ai.tool.definitions"]]
        on_span: Json = told if self.content in ("spans", "both") else {"gen_ai.tool.definitions": names}
        on_event: Json = told if self.content in ("events", "both") else {"gen_ai.tool.definitions": names}
        self._log("gen_ai.client.inference.operation.details", inner, None, {**facts, **done, **on_event})
        compact = {key: json.dumps(value, separators=(",", ":")) for key, value in on_span.items()}
        self._span("generate_content model-m", inner, agent, start, {**facts, **done, **compact})

    def _tools(self, run: Run) -> list[Json]:
        schema = {"type": "object", "properties": {}}
        names = dict.fromkeys(call.name for one in run.rounds for call in one.calls)
        return [{"name": name, "description": f"The tool {name}.", "parameters": schema} for name in names]

    def _gemini(self, run: Run, history: list[Json], answer: Json) -> tuple[Json, Json]:
        functions = [
            {"description": one["description"], "name": one["name"], "parameters_json_schema": one["parameters"]}
            for one in self._tools(run)
        ]
        config = {"system_instruction": run.instructions, "tools": [{"function_declarations": functions}]}
        request = {"model": "model-m", "config": config, "contents": history}
        return request, {"content": answer, "finish_reason": "STOP"}

    def _semconv(self, run: Run, history: list[Json], answer: Json) -> Json:
        return {
            "gen_ai.input.messages": [_message(content) for content in history],
            "gen_ai.system_instructions": [{"content": run.instructions, "type": "text"}],
            "gen_ai.tool.definitions": [{**one, "type": "function"} for one in self._tools(run)],
            "gen_ai.output.messages": [{**_message(answer), "finish_reason": "stop"}],
        }

    def _messages(self, run: Run, history: list[Json], answer: Json, span: str) -> None:
        """Schema 1's log events; a history's messages are all called user messages."""
        shown = self.content in ("events", "both")
        system = {"gen_ai.system": "gemini"}
        self._log("gen_ai.system.message", span, {"content": run.instructions if shown else "<elided>"}, system)
        for content in history:
            self._log("gen_ai.user.message", span, {"content": content if shown else "<elided>"}, system)
        said = {"content": answer if shown else "<elided>", "index": 0, "finish_reason": "STOP"}
        self._log("gen_ai.choice", span, said, system)

    def _execute(self, call: Call, id_: str, agent: str, name: str) -> None:
        span, start = self._id("span", 16), self._tick(2)
        self._tick(6)
        facts: Json = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.description": f"The tool {call.name}.",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": call.kind,
            "gen_ai.agent.name": name,
        }
        error = (call.raises and "ValueError") or call.error
        if error is not None:
            facts["error.type"] = error
        shown = self.content in ("spans", "both")
        result = call.result if call.result is not None else {"result": "<not specified>"}
        facts["gen_ai.tool.call.id"] = "<not specified>" if call.result is None else id_
        if self.schema == 1:
            facts["gcp.vertex.agent.llm_request"] = facts["gcp.vertex.agent.llm_response"] = "{}"
            facts["gcp.vertex.agent.tool_call_args"] = json.dumps(call.arguments if shown else {})
            facts["gcp.vertex.agent.tool_response"] = json.dumps(result if shown else {})
        elif shown:
            facts["gen_ai.tool.call.arguments"] = json.dumps(call.arguments)
            facts |= {} if call.result is None else {"gen_ai.tool.call.result": json.dumps(call.result)}
        status = {"code": 2, "message": error} if error is not None else {}
        events = []
        if call.raises is not None:
            status = {"code": 2, "message": f"ValueError: {call.raises}"}
            told = {"exception.type": "ValueError", "exception.message": call.raises}
            events = [{"name": "exception", "timeUnixNano": str(self._now), "attributes": attributes(told)}]
        self._span(f"execute_tool {call.name}", span, agent, start, {**facts, **call.skill}, status, events)

    def _merged(self, calls: Sequence[Call], agent: str) -> None:
        event = self._id("event", 12)
        facts = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "(merged tools)",
            "gen_ai.tool.description": "(merged tools)",
            "gen_ai.tool.call.id": event,
        }
        if self.schema == 1:
            answers = [{"name": call.name, "response": call.result} for call in calls]
            facts["gcp.vertex.agent.tool_call_args"] = "N/A"
            facts["gcp.vertex.agent.tool_response"] = json.dumps(answers) if self.content in ("spans", "both") else "{}"
            facts["gcp.vertex.agent.llm_request"] = facts["gcp.vertex.agent.llm_response"] = "{}"
        self._span("execute_tool (merged)", self._id("span", 16), agent, self._tick(1), facts)

    def _span(
        self,
        name: str,
        span: str,
        parent: str | None,
        start: int,
        facts: Json,
        status: Json | None = None,
        events: Sequence[Json] = (),
    ) -> None:
        body: Json = {"traceId": self._trace, "spanId": span, **({"parentSpanId": parent} if parent else {})}
        times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(self._tick(1))}
        body |= {"name": name, "kind": 1, **times, "attributes": attributes(facts), "status": status or {}}
        self.spans[-1].append({**body, **({"events": list(events)} if events else {})})

    def _log(self, event: str, span: str, body: object, facts: Json) -> None:
        place = {"traceId": self._trace, "spanId": span, "observedTimeUnixNano": str(self._now)}
        self.records[-1].append({**place, "eventName": event, "body": any_value(body), "attributes": attributes(facts)})

    def _tick(self, milliseconds: int) -> int:
        self._now += milliseconds * MS
        return self._now

    def _id(self, kind: str, length: int) -> str:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        digest = hashlib.sha256(f"{self.session}/{kind}/{self._counts[kind]}".encode()).hexdigest()[:length]
        return f"{kind}{digest}" if kind.endswith(("_", "-")) else digest


def _message(content: Json) -> Json:
    """A Gemini content as schema 2 tells it: a part without an id gets one from its tool and place."""
    role = "assistant" if content["role"] == "model" else "user"
    return {"role": role, "parts": [_part(part, at) for at, part in enumerate(content["parts"])]}


def _part(part: Json, at: int) -> Json:
    if "text" in part:
        return {"content": part["text"], "type": "text"}
    if "function_call" in part:
        call = part["function_call"]
        id_ = call.get("id", f"{call['name']}_{at}")
        return {"id": id_, "name": call["name"], "arguments": call["args"], "type": "tool_call"}
    answer = part["function_response"]
    id_ = answer.get("id", f"{answer['name']}_{at}")
    return {"id": id_, "response": answer["response"], "type": "tool_call_response"}
