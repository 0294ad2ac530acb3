"""A session as Claude Code records it with its content switches on: spans, and beside them log records, which alone
hold the arguments of calls and the text of answers."""

from __future__ import annotations

from typing import Any

from collector.demo.script import Call, Script, Turn
from collector.demo.telemetry import Event, Recorder, as_json
from collector.recordings import Recorded

_VERSION = "2.1.332"
_RESOURCE = {"service.name": "claude-code", "service.version": _VERSION, "os.type": "linux"}
_EVENTS = ("com.anthropic.claude_code.events", _VERSION)
_MODEL = "demo-model-3"
_NAMED = {"Bash": ("full_command", "command"), "Skill": ("skill_name", "skill")}


def load(name: str) -> Call:
    return Call("Skill", {"skill": name}, f"Launching skill: {name}")


def bash(command: str, output: str = "", error: str | None = None) -> Call:
    return Call("Bash", {"command": command, "description": "Run a command"}, output, error)


def play(script: Script) -> list[Recorded]:
    return _ClaudeCode(script).run()


class _ClaudeCode:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._to = Recorder(script.session_id, _RESOURCE, "com.anthropic.claude_code.tracing", "1.0.0")
        self._root = self._to.new_id()
        self._prompt_id = self._to.new_id(6).hex()
        self._sequence = 0

    def run(self) -> list[Recorded]:
        to, task = self._to, self._script.task
        start = to.wait(0)
        to.wait(20)
        self._record("user_prompt", self._root, prompt=task, prompt_length=str(len(task)))
        for turn in self._script.turns:
            self._turn(turn)
        to.wait(9)
        self._span("interaction", self._root, None, start, user_prompt=task, user_prompt_length=len(task))
        return to.requests(_EVENTS)

    def _turn(self, turn: Turn) -> None:
        to, span, request = self._to, self._to.new_id(), f"req_{self._to.new_id().hex()}"
        start = to.wait(30)
        to.wait(800)
        for call in turn.calls:
            self._call(call, request)
        facts: dict[str, Any] = {"model": _MODEL, "input_tokens": 60, "output_tokens": 25, "cache_read_tokens": 900}
        self._record("api_request", self._root, **facts, request_id=request, duration_ms=800, query_source="sdk")
        if turn.text:
            self._record("assistant_response", self._root, response=turn.text, request_id=request)
        modern: dict[str, Any] = {
            "gen_ai.usage.input_tokens": 960,
            "gen_ai.usage.output_tokens": 25,
            "gen_ai.response.model": _MODEL,
        }
        stop = "tool_use" if turn.calls else "end_turn"
        self._span(
            "llm_request",
            span,
            self._root,
            start,
            **facts,
            **modern,
            success=True,
            stop_reason=stop,
            request_id=request,
        )

    def _call(self, call: Call, request: str) -> None:
        to, tool, permission, execution = self._to, self._to.new_id(), self._to.new_id(), self._to.new_id()
        use = f"toolu_{to.new_id().hex()}"
        start = to.wait(2)
        to.wait(4)
        named = _named(call)
        parameters = as_json(named) if named else None
        ids: dict[str, Any] = {"tool_name": call.tool, "tool_use_id": use, "request_id": request}
        self._span("tool.blocked_on_user", permission, tool, start, decision="accept", source="config")
        self._record("tool_decision", permission, decision="accept", source="config", **ids, tool_parameters=parameters)
        began = to.wait(1)
        to.wait(150)
        if call.tool == "Skill":
            skill = {"skill.name": call.arguments["skill"], "skill.source": "projectSettings"}
            self._record("skill_activated", execution, invocation_trigger="claude-proactive", **skill)
        well = call.error is None
        self._span("tool.execution", execution, tool, began, error=call.error, success=well, tool_use_id=use)
        self._record(
            "tool_result",
            self._root,
            success=str(well).lower(),
            duration_ms="150",
            tool_input=as_json(call.arguments),
            error=call.error,
            tool_parameters=parameters,
            **ids,
        )
        to.wait(2)
        output: list[Event] = []
        if well and call.tool != "Skill":
            output = [("tool.output", to.now_ns, {"output": call.result} | dict(_output(call)))]
        self._span("tool", tool, self._root, start, events=output, tool_name=call.tool, tool_use_id=use, **named)

    def _span(
        self,
        kind: str,
        span: bytes,
        parent: bytes | None,
        start_ns: int,
        *,
        events: list[Event] | None = None,
        error: str | None = None,
        **facts: Any,
    ) -> None:
        named = {"session.id": self._script.session_id, "span.type": kind, **facts, "error": error}
        self._to.span(f"claude_code.{kind}", span, parent, start_ns, named, events=events or (), error=error)

    def _record(self, event: str, span: bytes, **facts: Any) -> None:
        self._to.wait(1)
        named = {
            "session.id": self._script.session_id,
            "event.name": event,
            "event.sequence": self._sequence,
            "prompt.id": self._prompt_id,
        }
        self._sequence += 1
        self._to.record(f"claude_code.{event}", span, named | facts)


def _named(call: Call) -> dict[str, Any]:
    """The one argument of a call that its span shows."""
    if call.tool not in _NAMED:
        return {"file_path": call.arguments.get("file_path")}
    shown, argument = _NAMED[call.tool]
    return {shown: call.arguments[argument]}


def _output(call: Call) -> dict[str, Any]:
    return {"bash_command": call.arguments["command"]} if call.tool == "Bash" else {}
