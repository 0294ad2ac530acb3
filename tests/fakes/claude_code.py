"""A stand-in for the Claude Code CLI: plays a scripted conversation and records the telemetry that the CLI would.

Names, nesting, value types and order are those of exports of CLI 2.1.332 (2.1.197 where said); texts, ids and times
are made up. `Cli` plays; `requests` gives OTLP/JSON export requests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
Ending = Literal["ok", "failed", "rejected", "invalid", "unfinished"]

START_MS = 1_900_000_000_000
REDACTED = "<REDACTED>"
LISTING = "The following skills are available for use with the Skill tool:"


@dataclass(frozen=True)
class Profile:
    """Which of the CLI's switches are on."""

    spans: bool = True
    records: bool = True
    prompts: bool = True
    details: bool = True
    results: bool = True
    bodies: bool = False
    detailed: bool = False
    version: str = "2.1.332"

    @property
    def old(self) -> bool:
        return self.version.startswith("2.1.1")


FULL = Profile()
NO_CONTENT = Profile(prompts=False, details=False, results=False)


@dataclass(frozen=True)
class Call:
    """One tool call. `answer` is what the model sees, `output` what the event `tool.output` holds."""

    name: str
    arguments: Json
    answer: str = "done"
    output: Json | None = None
    ending: Ending = "ok"
    error: str = ""
    decided_by: str = "config"
    inside: Sequence[Request] = ()
    agent: str | None = None


@dataclass(frozen=True)
class Request:
    """One model turn. `failed`: the service refused the request with this message."""

    text: str = ""
    calls: Sequence[Call] = ()
    failed: str | None = None
    skill_text: str | None = None
    """what a loaded skill adds to the conversation after this turn"""


@dataclass
class Cli:
    """One session. `catalog` is offered to the model: name, description."""

    session: str
    profile: Profile = FULL
    catalog: Sequence[tuple[str, str]] = ()
    spans: list[Json] = field(default_factory=list)
    records: list[Json] = field(default_factory=list)
    _now: int = START_MS
    _sequence: int = 0
    _counts: dict[str, int] = field(default_factory=dict)
    _prompt: Json = field(default_factory=dict)
    _messages: list[Json] = field(default_factory=list)
    _last_skill: str | None = None
    _asked_for_skill: bool = False

    def prompt(self, text: str, turns: Sequence[Request], command: str | None = None, killed: bool = False) -> None:
        """The person asks; the agent takes these turns. `killed`: the process ends before the last span does."""
        trace, root = self._id("trace", 32), self._id("span", 16)
        self._prompt = {"trace": trace, "root": root, "id": self._id("prompt", 12)}
        self._last_skill, self._asked_for_skill = None, False
        start = self._now
        shown = text if self.profile.prompts else REDACTED
        self._tick(30)
        self._log(
            "user_prompt",
            root,
            prompt=shown,
            prompt_text=shown,
            prompt_length=str(len(text)),
            **_some(command_name=command, command_source="custom" if command else None),
        )
        if command is not None:
            self._activate(command, root, "user-slash", None)
        self._messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
        context = f"[USER]\n{text}"
        for turn in turns:
            context = self._turn(turn, root, None, context)
        self._tick(9)
        if not killed:
            self._span("interaction", root, None, start, user_prompt=shown, user_prompt_length=len(text))

    def resume(self) -> None:
        """Another process takes the session up again."""
        self._sequence = 0
        self._tick(60_000)

    def requests(self) -> list[tuple[str, Json]]:
        """(`traces` or `logs`, export request) in the order sent; the second half of the spans ends with the root."""
        sent: list[tuple[str, Json]] = []
        for part in _halves(self.records) if self.profile.records else []:
            scope = {"name": "com.anthropic.claude_code.events", "version": self.profile.version}
            sent.append(("logs", self._envelope("resourceLogs", "scopeLogs", "logRecords", scope, part)))
        for part in _halves(self.spans) if self.profile.spans else []:
            scope = {"name": "com.anthropic.claude_code.tracing", "version": "1.0.0"}
            sent.append(("traces", self._envelope("resourceSpans", "scopeSpans", "spans", scope, part)))
        return sent

    def _turn(self, turn: Request, parent: str, agent: str | None, context: str) -> str:
        """Plays one request and its calls; returns what is new for the next one."""
        span, start, request = self._id("span", 16), self._now, f"req_{self._id('request', 8)}"
        body_id = self._id("body", 12)
        if self.profile.bodies:
            self._log("api_request_body", parent, agent, body=json.dumps(self._body()), request_body_id=body_id)
        skill_before = self._last_skill
        self._tick(120)
        said = turn.text if self.profile.prompts else REDACTED
        for call in turn.calls:
            self._call(call, parent, agent, request)
        facts: Json = {"model": "claude-test-1", "input_tokens": 40, "output_tokens": 9, "cache_read_tokens": 200}
        if turn.failed is not None:
            self._log("api_error", parent, agent, **facts, error=turn.failed, status_code=400, request_id=request)
            self._span(
                "llm_request",
                span,
                parent,
                start,
                agent,
                **facts,
                success=False,
                error=turn.failed,
                error_class="client_error",
                request_id=request,
                status=2,
            )
            return ""
        self._log(
            "api_request",
            parent,
            agent,
            **facts,
            request_id=request,
            duration_ms=self._now - start,
            query_source="agent:builtin:helper" if agent else "sdk",
            **_some(**{"skill.name": skill_before if not agent else None}),
        )
        if turn.text:
            self._log("assistant_response", parent, agent, response=said, request_id=request)
        stop = "tool_use" if turn.calls else "end_turn"
        uses: list[Json] = [
            {"type": "tool_use", "id": self._use(call), "name": call.name, "input": call.arguments}
            for call in turn.calls
        ]
        content: list[Json] = [*([{"type": "text", "text": turn.text}] if turn.text else []), *uses]
        if self.profile.bodies:
            answered = {"model": "claude-test-1-0101", "content": content, "stop_reason": stop}
            self._log(
                "api_response_body",
                parent,
                agent,
                body=json.dumps(answered),
                request_id=request,
                request_body_id=body_id,
            )
        seen: Json = {}
        if self.profile.detailed:
            seen = {"new_context": context, "response.model_output": turn.text, "system_prompt_hash": "sp_0011aabb"}
            if not self._counts.get("llm_request"):
                seen["system_reminders"] = self._reminder()
        modern: Json = (
            {}
            if self.profile.old
            else {
                "gen_ai.usage.input_tokens": 240,
                "gen_ai.usage.output_tokens": 9,
                "gen_ai.response.model": "claude-test-1",
            }
        )
        self._span(
            "llm_request",
            span,
            parent,
            start,
            agent,
            **facts,
            **modern,
            **seen,
            success=True,
            stop_reason=stop,
            request_id=request,
        )
        return self._answered(turn, content)

    def _answered(self, turn: Request, content: list[Json]) -> str:
        results = [
            {
                "type": "tool_result",
                "tool_use_id": self._use(call),
                "content": _answer(call),
                **({"is_error": True} if call.ending != "ok" else {}),
            }
            for call in turn.calls
        ]
        sections = [f"[TOOL RESULT: {self._use(call)}]\n{_answer(call)}" for call in turn.calls]
        if turn.skill_text is not None:
            results.append({"type": "text", "text": turn.skill_text})
            sections.append(f"[USER]\n{turn.skill_text}")
        self._messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
        return "\n\n---\n\n".join(sections)

    def _call(self, call: Call, parent: str, agent: str | None, request: str) -> None:
        tool, start, use = self._id("span", 16), self._now, self._use(call)
        if call.ending == "invalid":  # leaves no trace, but the CLI remembers that a skill was asked for
            self._asked_for_skill = self._asked_for_skill or call.name == "Skill"
            return
        by_request = {} if self.profile.old else {"request_id": request}
        parameters = _parameters(call) if self.profile.details else None
        permission, decision = self._id("span", 16), "reject" if call.ending == "rejected" else "accept"
        self._tick(4)
        unknown = self.profile.old and decision == "accept"
        self._span(
            "tool.blocked_on_user",
            permission,
            tool,
            start,
            decision="unknown" if unknown else decision,
            source="unknown" if unknown else call.decided_by,
        )
        name = "mcp_tool" if call.name.startswith("mcp__") else call.name
        self._log(
            "tool_decision",
            permission,
            agent,
            decision=decision,
            source=call.decided_by,
            tool_name=name,
            tool_use_id=use,
            **by_request,
            **_some(tool_parameters=parameters and json.dumps(parameters)),
        )
        if call.ending == "unfinished":
            return
        if call.ending != "rejected":
            self._execute(call, tool, parent, agent, by_request, parameters)
        named = {
            "Bash": {"full_command": call.arguments.get("command")},
            "Skill": {"skill_name": call.arguments.get("skill")},
            "Agent": {"subagent_type": call.arguments.get("subagent_type")},
        }.get(call.name, {"file_path": call.arguments.get("file_path")})
        shown = _some(**named) if self.profile.details else {}
        output = call.output if self.profile.results and call.ending == "ok" else None
        self._span(
            "tool",
            tool,
            parent,
            start,
            agent,
            tool_name=call.name,
            tool_use_id=use,
            **shown,
            events=[("tool.output", output)] if output else [],
        )
        if call.name == "Skill":
            self._asked_for_skill = True

    def _execute(
        self, call: Call, tool: str, parent: str, agent: str | None, by_request: Json, parameters: Json | None
    ) -> None:
        execution, start, use = self._id("span", 16), self._now, self._use(call)
        self._tick(8)
        if call.name == "Skill" and call.ending == "ok":
            trigger = "nested-skill" if self._asked_for_skill or agent else "claude-proactive"
            self._activate(call.arguments["skill"], execution, trigger, agent)
        context = "[USER]\nhelp"
        for turn in call.inside:
            context = self._turn(turn, execution, call.agent, context)
        well = call.ending == "ok"
        wrong: Json = {} if well or not self.profile.details else {"error": call.error}
        kind: Json = {} if well else {"error_class": "ToolFailure"}
        self._span(
            "tool.execution",
            execution,
            tool,
            start,
            success=well,
            tool_use_id=use,
            **wrong,
            **kind,
            status=0 if well else 2,
        )
        arguments = _some(tool_input=json.dumps(call.arguments, ensure_ascii=False)) if self.profile.details else {}
        name = "mcp_tool" if call.name.startswith("mcp__") else call.name
        self._log(
            "tool_result",
            parent,
            agent,
            tool_name=name,
            tool_use_id=use,
            success=str(well).lower(),
            duration_ms=str(self._now - start),
            **arguments,
            **wrong,
            **by_request,
            **_some(tool_parameters=parameters and json.dumps(parameters)),
        )
        if call.agent is not None and call.name == "Agent":
            self._log("subagent_completed", execution, call.agent, agent_type=call.arguments.get("subagent_type"))

    def _activate(self, skill: str, span: str, trigger: str, agent: str | None) -> None:
        shown = skill if self.profile.details else "custom_skill"
        self._log(
            "skill_activated",
            span,
            agent,
            invocation_trigger=trigger,
            **{"skill.name": shown, "skill.source": "projectSettings"},
        )
        if agent is None:
            self._last_skill = skill

    def _reminder(self) -> str:
        entries = "\n".join(f"- {name}: {description}" for name, description in self.catalog)
        return f"# About this place\nAn ordinary kitchen.\n\n{LISTING}\n\n{entries}\n\nIt is Tuesday."

    def _body(self) -> Json:
        told = {"role": "system", "content": [{"type": "text", "text": self._reminder()}]}
        tools = [{"name": "Skill", "description": "Loads a skill.", "input_schema": {"type": "object"}}]
        system = [{"type": "text", "text": "You help in a kitchen."}]
        first, *rest = self._messages
        return {"model": "claude-test-1", "messages": [first, told, *rest], "system": system, "tools": tools}

    def _use(self, call: Call) -> str:
        made = json.dumps([call.name, call.arguments, call.answer], sort_keys=True)
        return f"toolu_{hashlib.sha256(f'{self.session}{made}'.encode()).hexdigest()[:12]}"

    def _id(self, kind: str, digits: int) -> str:
        self._counts[f"id {kind}"] = count = self._counts.get(f"id {kind}", 0) + 1
        return hashlib.sha256(f"{self.session}/{kind}/{count}".encode()).hexdigest()[:digits]

    def _tick(self, milliseconds: int) -> None:
        self._now += milliseconds

    def _span(
        self,
        kind: str,
        span: str,
        parent: str | None,
        start: int,
        agent: str | None = None,
        status: int = 0,
        events: Sequence[tuple[str, Json]] = (),
        **facts: Any,
    ) -> None:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        end = str(self._now * 1_000_000 + 345_678)
        message = {"message": facts["error"]} if status and "error" in facts else {}
        self.spans.append(
            {
                "traceId": self._prompt["trace"],
                "spanId": span,
                **({"parentSpanId": parent} if parent else {}),
                "name": f"claude_code.{kind}",
                "kind": 1,
                "startTimeUnixNano": str(start * 1_000_000),
                "endTimeUnixNano": end,
                "attributes": _attributes(
                    {"session.id": self.session, "span.type": kind, **_some(agent_id=agent), **facts}
                ),
                "events": [
                    {"name": name, "timeUnixNano": end, "attributes": _attributes(held)} for name, held in events
                ],
                "status": {"code": status, **message} if status else {},
            }
        )

    def _log(self, event: str, span: str, agent: str | None = None, **facts: Any) -> None:
        self._tick(1)
        place = {"traceId": self._prompt["trace"], "spanId": span} if self.profile.spans else {}
        own = {"session.id": self.session, "event.name": event, "event.sequence": self._sequence}
        own |= {"prompt.id": self._prompt["id"]} | _some(agent_id=None if self.profile.old else agent)
        time = str(self._now * 1_000_000)
        self.records.append(
            {
                **place,
                "timeUnixNano": time,
                "observedTimeUnixNano": time,
                "body": {"stringValue": f"claude_code.{event}"},
                "attributes": _attributes(own | facts),
            }
        )
        self._sequence += 1

    def _envelope(self, groups: str, scope_groups: str, items: str, scope: Json, part: list[Json]) -> Json:
        resource = {"service.name": "claude-code", "service.version": self.profile.version, "os.type": "linux"}
        return {
            groups: [{"resource": {"attributes": _attributes(resource)}, scope_groups: [{"scope": scope, items: part}]}]
        }


def _answer(call: Call) -> str:
    return f"<tool_use_error>{call.error}</tool_use_error>" if call.ending == "invalid" else call.error or call.answer


def _parameters(call: Call) -> Json | None:
    if call.name.startswith("mcp__"):
        _, server, tool = call.name.split("__")
        return {"mcp_server_name": server, "mcp_tool_name": tool}
    command = call.arguments.get("command")
    named = _some(
        full_command=command, skill_name=call.arguments.get("skill"), subagent_type=call.arguments.get("subagent_type")
    )
    return named or None


def _some(**facts: Any) -> Json:
    return {key: value for key, value in facts.items() if value is not None}


def _attributes(facts: Json) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in facts.items()]


def _value(value: Any) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
    return {"stringValue": str(value)}


def _halves(items: list[Json]) -> list[list[Json]]:
    middle = len(items) // 2
    return [part for part in (items[:middle], items[middle:]) if part]
