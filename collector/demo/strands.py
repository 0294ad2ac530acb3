"""A session as the Strands SDK records it: message content in span events, a skill as a call of the tool `skills`,
a refusal as an ordinary, successful result."""

from __future__ import annotations

from typing import Any

from collector.demo.script import SKILLS, Call, Script, Turn, body_of, catalog_xml
from collector.demo.telemetry import Event, Recorder, as_json
from collector.recordings import Recorded

_SCOPE = "strands.telemetry.tracer"
_RESOURCE = {"service.name": "tideway-desk", "service.version": "5.2.0", "telemetry.sdk.language": "python"}
_SYSTEM = [{"text": "You answer customers of Tideway boat hire. Be brief and kind."}, {"text": catalog_xml()}]
_MODEL = "demo-model-1"


def load(name: str) -> Call:
    """Ask for a skill, which answers with its text or that there is none."""
    body = body_of(name)
    known = ", ".join(skill.name for skill in SKILLS)
    refused = f"Skill '{name}' not found. Available skills: {known}"
    trailer = f"\n\n---\nLocation: /srv/tideway/skills/{name}/SKILL.md"
    return Call("skills", {"skill_name": name}, refused if body is None else body + trailer)


def play(script: Script) -> list[Recorded]:
    return _Strands(script).run()


class _Strands:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._to = Recorder(script.session_id, _RESOURCE, _SCOPE)
        self._history: list[tuple[str, str]] = [("gen_ai.user.message", as_json([{"text": script.task}]))]

    def run(self) -> list[Recorded]:
        to, root = self._to, self._to.new_id()
        start = to.wait(0)
        for turn in self._script.turns:
            self._turn(turn, root)
        to.wait(3)
        answer = self._script.turns[-1].text
        events: list[Event] = [
            ("gen_ai.system.message", start, {"content": as_json(_SYSTEM)}),
            ("gen_ai.user.message", start, {"content": as_json([{"text": self._script.task}])}),
            ("gen_ai.choice", to.now_ns, {"message": f"{answer}\n", "finish_reason": "end_turn"}),
        ]
        facts = self._facts("invoke_agent") | {
            "gen_ai.agent.name": "tideway_desk",
            "gen_ai.request.model": _MODEL,
            "gen_ai.agent.tools": as_json(["skills", "find_booking", "move_booking", "search_found_items"]),
        }
        to.span("invoke_agent tideway_desk", root, None, start, facts, events=events, ok=True)
        return to.requests()

    def _turn(self, turn: Turn, root: bytes) -> None:
        to, cycle = self._to, self._to.new_id()
        start = to.wait(2)
        uses = [(call, f"tooluse_{to.new_id().hex()}") for call in turn.calls]
        said = [{"text": turn.text}] if turn.text else []
        message = as_json([*said, *(_use(call, use) for call, use in uses)])
        self._chat(cycle, message, "tool_use" if uses else "end_turn")
        before = self._events(start)
        for call, use in uses:
            self._call(call, use, cycle)
        to.wait(1)
        choice: dict[str, Any] = {"message": message}
        self._history.append(("gen_ai.assistant.message", message))
        if uses:
            results = as_json([{"toolResult": _result(call, use)} for call, use in uses])
            choice["tool.result"] = results
            self._history.append(("gen_ai.tool.message", results))
        facts = self._facts("execute_event_loop_cycle") | {"event_loop.cycle_id": to.new_id(16).hex()}
        events = [*before, ("gen_ai.choice", to.now_ns, choice)]
        to.span("execute_event_loop_cycle", cycle, root, start, facts, events=events, ok=True)

    def _chat(self, cycle: bytes, message: str, finish: str) -> None:
        to, chat = self._to, self._to.new_id()
        start = to.wait(1)
        events = [("gen_ai.system.message", start, {"content": as_json(_SYSTEM)}), *self._events(start)]
        to.wait(900)
        events.append(("gen_ai.choice", to.now_ns, {"finish_reason": finish, "message": message}))
        asked = 400 + 60 * len(self._history)
        facts = self._facts("chat") | {
            "gen_ai.request.model": _MODEL,
            "gen_ai.usage.input_tokens": asked,
            "gen_ai.usage.output_tokens": 40,
            "gen_ai.usage.total_tokens": asked + 40,
        }
        to.span("chat", chat, cycle, start, facts, events=events, ok=True)

    def _call(self, call: Call, use: str, cycle: bytes) -> None:
        to, span = self._to, self._to.new_id()
        start = to.wait(2)
        to.wait(80)
        events: list[Event] = [
            ("gen_ai.tool.message", start, {"role": "tool", "content": as_json(call.arguments), "id": use}),
            ("gen_ai.choice", to.now_ns, {"message": as_json(_result(call, use)["content"]), "id": use}),
        ]
        facts = self._facts("execute_tool") | {
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.call.id": use,
            "gen_ai.tool.status": "success" if call.error is None else "error",
        }
        to.span(f"execute_tool {call.tool}", span, cycle, start, facts, events=events, ok=call.error is None)

    def _facts(self, operation: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.system": "strands-agents",
            "session.id": self._script.session_id,
            "gen_ai.conversation.id": self._script.session_id,
        }

    def _events(self, at_ns: int) -> list[Event]:
        return [(name, at_ns, {"content": content}) for name, content in self._history]


def _use(call: Call, use: str) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": use, "name": call.tool, "input": dict(call.arguments)}}


def _result(call: Call, use: str) -> dict[str, Any]:
    status = "success" if call.error is None else "error"
    return {"toolUseId": use, "status": status, "content": [{"text": call.error or call.result}]}
