"""A stand-in for Gemini CLI: plays a scripted conversation and records the telemetry that the CLI would.

Names, nesting, value types and order are those of exports of CLI 0.61.0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.cli_telemetry import MS_NS, Json, Tape

MAIN, ROUTER = "gemini-test-pro", "gemini-test-lite"
MAX_SPAN_TEXT = 10_000
UNDEFINED: Json = {}


@dataclass(frozen=True)
class Profile:
    """`content`: `telemetry.logPrompts`; `traces`: `telemetry.traces`. Spans or records may be lost on the way."""

    content: bool = True
    traces: bool = True
    spans: bool = True
    records: bool = True


@dataclass(frozen=True)
class Call:
    """One tool call. `error` and `error_type` are the CLI's; `ran`: it got as far as being run."""

    name: str
    arguments: Json
    output: str = ""
    error: str | None = None
    error_type: str | None = None
    ran: bool = True
    exit_code: int = 0
    agent: str | None = None
    inside: Sequence[Turn] = ()


@dataclass(frozen=True)
class Turn:
    """One answer of the model. `failed`: the service's error instead."""

    text: str = ""
    calls: Sequence[Call] = ()
    failed: str | None = None
    killed: bool = False


@dataclass
class Gemini:
    """One session. `catalog`: what the system prompt offers; None: skills are switched off."""

    session: str
    profile: Profile = field(default_factory=Profile)
    catalog: Sequence[tuple[str, str]] | None = ()
    tape: Tape = field(init=False)
    _history: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        resource = {"service.name": "gemini-cli", "service.version": "v20.1.0", "session.id": self.session}
        self.tape = Tape(self.session, resource, {"name": "gemini-cli", "version": "v1"}, {"name": "gemini-cli"})
        self._history.append({"text": "<session_context>a quay</session_context>"})

    def resume(self) -> None:
        """Another process takes the session up again."""
        self.tape.tick(60_000)

    def prompt(self, text: str, turns: Sequence[Turn]) -> None:
        """The person asks; the CLI asks a small model which model to use, and the agent takes these turns."""
        self.tape.tick(3)
        shown = {"prompt": text} if self.profile.content else {}
        self._log("gemini_cli.user_prompt", None, prompt_length=len(text), prompt_id=self.session, **shown)
        said = {"text": text}
        first = self._history and "text" in self._history[0]
        self._history = [_user([self._history[0], said])] if first else [*self._history, _user([said])]
        self._request([_user([said])], Turn('{"complexity_score": 1}'), ROUTER, "utility_router", self.session, None)
        for turn in turns:
            self._turn(turn, self._history, "main", self.session, None)

    def _turn(self, turn: Turn, history: list[Json], role: str, prompt_id: str, parent: tuple[str, str] | None) -> None:
        ids = self._request(history, turn, MAIN, role, prompt_id, parent)
        if turn.failed is not None:
            return
        asked = [
            {"functionCall": {"name": call.name, "args": call.arguments, "id": _short(call_id, call)}}
            for call, call_id in zip(turn.calls, ids, strict=True)
        ]
        said = [{"text": turn.text}] if turn.text else []
        history.append({"role": "model", "parts": [*said, *asked]})
        if turn.calls and not turn.killed:
            answers = self._batch(turn.calls, ids, prompt_id, parent)
            history.append(_user(answers))

    def _request(
        self,
        history: list[Json],
        turn: Turn,
        model: str,
        role: str,
        prompt_id: str,
        parent: tuple[str, str] | None,
    ) -> list[str]:
        tape = self.tape
        place = (parent[0] if parent else tape.id("trace", 32), tape.id("span"))
        start = tape.tick(2)
        sent = json.dumps(history, ensure_ascii=False)
        common: Json = {"model": model, "prompt_id": prompt_id, "role": role}
        self._log("gemini_cli.api_request", place, **common, **self._content(request_text=sent))
        system = "You help on a quay." if role.startswith("utility") else self._system()
        parts = [{"type": "text", "content": system}]
        told = {"gen_ai.request.model": model, "gen_ai.system_instructions": json.dumps(parts)}
        self._log("gen_ai.client.inference.operation.details", place, **told)
        tape.tick(50)
        ids = [f"{call.name}__{call.name}_{tape.now_ms}_{at}" for at, call in enumerate(turn.calls)]
        calls = [
            {"functionCall": {"name": call.name, "args": call.arguments, "id": call_id}}
            for call, call_id in zip(turn.calls, ids, strict=True)
        ]
        middle = len(turn.text) // 2
        pieces = [[{"text": part}] for part in (turn.text[:middle], turn.text[middle:]) if part]
        chunks = [{"role": "model", "parts": part} for part in [*pieces, *([calls] if calls else [])]]
        thought = {"role": "model", "parts": [{"text": "Hm.", "thought": True}]}
        answer = json.dumps(
            [{"candidates": [{"content": chunk}], "modelVersion": f"{model}-001"} for chunk in [thought, *chunks]]
        )
        took = {"duration_ms": 50}
        if turn.failed is not None:
            wrong = {"error": turn.failed, "error.message": turn.failed, "error.type": "ApiError"}
            self._log("gemini_cli.api_error", place, **common, **took, **wrong, status_code=503)
        else:
            counts = {"input_token_count": 500, "output_token_count": 20, "thoughts_token_count": 4}
            reasons = {"finish_reasons": ["stop"] * max(len(chunks), 1)}
            self._log(
                "gemini_cli.api_response",
                None,
                **common,
                **took,
                **counts,
                **reasons,
                **self._content(response_text=answer),
            )
        facts: Json = {"gen_ai.request.model": model, "gen_ai.prompt.name": prompt_id}
        facts |= {"gen_ai.system_instructions": json.dumps(system), "gen_ai.tool.definitions": self._tools(role)}
        facts |= self._messages(sent, json.dumps([thought, *chunks])) if turn.failed is None else {}
        status, message = (2, turn.failed) if turn.failed is not None else (1, "")
        self._span("llm_call", place, parent, start, facts, status=status, message=message or "")
        return ids

    def _batch(
        self, calls: Sequence[Call], ids: Sequence[str], prompt_id: str, parent: tuple[str, str] | None
    ) -> list[Json]:
        tape = self.tape
        place = (parent[0] if parent else tape.id("trace", 32), tape.id("span"))
        start = tape.tick(1)
        asked, finished, answers = [], [], []
        for call, call_id in zip(calls, ids, strict=True):
            request = {"callId": call_id, "name": call.name, "args": call.arguments, "prompt_id": prompt_id}
            asked.append(request)
            done = self._run(call, call_id, request, place)
            finished.append(done)
            answers.append(
                {
                    "functionResponse": {
                        "name": call.name,
                        "id": _short(call_id, call),
                        "response": {"error": call.error} if call.error else {"output": call.output},
                    }
                }
            )
        self._span("schedule_tool_calls", place, parent, start, self._messages(json.dumps(asked), json.dumps(finished)))
        return answers

    def _run(self, call: Call, call_id: str, request: Json, batch: tuple[str, str]) -> Json:
        tape = self.tape
        start = tape.tick(2)
        span = (batch[0], tape.id("span"))
        if call.inside:
            self._sub_agent(call, span)
        tape.tick(5)
        response: Json = {"error": call.error} if call.error else {"output": call.output}
        answer: Json = {"functionResponse": {"id": call_id, "name": call.name, "response": response}}
        done: Json = {
            "status": "error" if call.error else "success",
            "request": request,
            "response": {"callId": call_id, "responseParts": [answer]},
        }
        done |= {"outcome": "proceed_once"} if call.ran else {}
        done["response"] |= {"errorType": call.error_type} if call.error_type else {}
        if call.ran:
            told = {"gen_ai.tool.name": call.name, "gen_ai.tool.call_id": call_id}
            told |= {"gen_ai.tool.description": self._description()} if call.name == "activate_skill" else {}
            facts = {**told, **self._messages(json.dumps(request), json.dumps(done))}
            self._span("tool_call", span, batch, start, facts)
        record: Json = {"function_name": call.name, "duration_ms": tape.now_ms - start, "success": call.error is None}
        record |= {"decision": "accept" if call.ran else UNDEFINED, "prompt_id": request["prompt_id"]}
        record |= self._content(function_args=json.dumps(call.arguments, indent=2))
        if call.error:
            record |= {"error": call.error, "error_type": call.error_type}
        if call.exit_code:
            record |= {"metadata": json.dumps({"exitCode": call.exit_code, "isError": True})}
        self._log("gemini_cli.tool_call", batch, **record)
        return done

    def _sub_agent(self, call: Call, tool: tuple[str, str]) -> None:
        place = (tool[0], self.tape.id("span"))
        agent = f"{call.agent}-{self.tape.id('agent', 6)}"
        start = self.tape.tick(1)
        self._log("gemini_cli.agent.start", None, agent_id=agent, agent_name=call.agent)
        history = [_user([{"text": "Look after this."}])]
        for at, turn in enumerate(call.inside):
            self._turn(turn, history, "subagent", f"{agent}#{at}", place)
        self._span("agent_call", place, tool, start, {"gen_ai.agent.name": call.agent})

    def _system(self) -> str:
        if self.catalog is None:
            return "You help on a quay."
        entries = "\n".join(
            f"  <skill>\n    <name>{name}</name>\n    <description>{told}</description>\n"
            f"    <location>/srv/quay/.gemini/skills/{name}/SKILL.md</location>\n  </skill>"
            for name, told in self.catalog
        )
        return f"You help on a quay.\n\n<available_skills>\n{entries}\n</available_skills>"

    def _description(self) -> str:
        names = ", ".join(f"'{name}'" for name, _ in self.catalog or ())
        return f"Activates a skill (Available: {names}) for you."

    def _tools(self, role: str) -> str:
        if role.startswith("utility"):
            return "[]"
        allowed = {"enum": [name for name, _ in self.catalog]} if self.catalog else {}
        schema = {"type": "object", "properties": {"name": {"type": "string", **allowed}}}
        tools = [{"name": "run_shell_command", "parametersJsonSchema": {"type": "object"}}]
        tools.append({"name": "activate_skill", "parametersJsonSchema": schema})
        return json.dumps([{"functionDeclarations": tools}])

    def _content(self, **texts: str) -> Json:
        return dict(texts) if self.profile.content else {}

    def _messages(self, inputs: str, outputs: str) -> Json:
        if not (self.profile.content and self.profile.traces):
            return {}
        return {"gen_ai.input.messages": _cut(inputs), "gen_ai.output.messages": _cut(outputs)}

    def _log(self, event: str, place: tuple[str, str] | None, **facts: Any) -> None:
        time = str(self.tape.tick(1) * MS_NS)
        own = {"session.id": self.session, "event.name": event}
        if self.profile.records:
            self.tape.record(place, {**own, **facts}, timeUnixNano=time, observedTimeUnixNano=time)

    def _span(
        self,
        operation: str,
        place: tuple[str, str],
        parent: tuple[str, str] | None,
        start: int,
        facts: Json,
        status: int = 1,
        message: str = "",
    ) -> None:
        own = {"gen_ai.operation.name": operation, "gen_ai.agent.name": "gemini-cli"}
        own |= {"gen_ai.conversation.id": self.session}
        above = parent[1] if parent else None
        if self.profile.spans:
            self.tape.span(operation, place, above, start, {**own, **facts}, status=status, message=message)


def _user(parts: list[Json]) -> Json:
    return {"role": "user", "parts": parts}


def _short(call_id: str, call: Call) -> str:
    return call_id.removeprefix(f"{call.name}__")


def _cut(text: str) -> str:
    if len(text) <= MAX_SPAN_TEXT:
        return text
    return f"{text[:MAX_SPAN_TEXT]}...[TRUNCATED: original length {len(text)}]"
