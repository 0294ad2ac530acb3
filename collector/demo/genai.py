"""A session of an agent instrumented by the GenAI semantic conventions alone: messages as span attributes, the
conversation's id on the root span only."""

from __future__ import annotations

from typing import Any

from collector.demo.script import Call, Script, Turn, body_of, catalog_xml
from collector.demo.telemetry import Recorder, as_json
from collector.recordings import Recorded

_RESOURCE = {"service.name": "tideway-fleet", "service.version": "1.9.3", "telemetry.sdk.language": "python"}
_SYSTEM = [{"type": "text", "content": f"You watch over the fleet of Tideway boat hire.\n\n{catalog_xml()}"}]
_MODEL = "demo-model-2"
_CLIENT = 3


def load(name: str) -> Call:
    """Ask for a skill that exists."""
    return Call("load_skill", {"skill_name": name}, as_json({"instructions": body_of(name)}))


def play(script: Script) -> list[Recorded]:
    return _GenAi(script).run()


class _GenAi:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._to = Recorder(script.session_id, _RESOURCE, "tideway.fleet.agent", "1.9.3")
        self._messages: list[dict[str, Any]] = [
            {"role": "user", "parts": [{"type": "text", "content": script.task}]},
        ]

    def run(self) -> list[Recorded]:
        to, root = self._to, self._to.new_id()
        start = to.wait(0)
        for turn in self._script.turns:
            self._turn(turn, root)
        to.wait(2)
        crash = self._script.crash
        facts = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "fleet_keeper",
            "gen_ai.agent.version": "12",
            "gen_ai.conversation.id": self._script.session_id,
            "error.type": None if crash is None else "ToolTimeout",
        }
        to.span("invoke_agent fleet_keeper", root, None, start, facts, error=crash)
        return to.requests()

    def _turn(self, turn: Turn, root: bytes) -> None:
        to, chat = self._to, self._to.new_id()
        start = to.wait(2)
        uses = [(call, f"call_{to.new_id().hex()}") for call in turn.calls]
        said = [{"type": "text", "content": turn.text}] if turn.text else []
        asked = [
            {"type": "tool_call", "id": use, "name": call.tool, "arguments": dict(call.arguments)} for call, use in uses
        ]
        finish = "tool_call" if uses else "stop"
        answer = {"role": "assistant", "parts": [*said, *asked], "finish_reason": finish}
        to.wait(700)
        facts = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": _MODEL,
            "gen_ai.response.model": f"{_MODEL}-0331",
            "gen_ai.response.finish_reasons": [finish],
            "gen_ai.usage.input_tokens": 300 + 50 * len(self._messages),
            "gen_ai.usage.output_tokens": 35,
            "gen_ai.system_instructions": as_json(_SYSTEM),
            "gen_ai.input.messages": as_json(self._messages),
            "gen_ai.output.messages": as_json([answer]),
        }
        to.span(f"chat {_MODEL}", chat, root, start, facts, kind=_CLIENT)
        self._messages.append(answer)
        for call, use in uses:
            self._call(call, use, root)

    def _call(self, call: Call, use: str, root: bytes) -> None:
        to, span = self._to, self._to.new_id()
        start = to.wait(2)
        to.wait(120)
        facts = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": use,
            "gen_ai.tool.call.arguments": as_json(call.arguments),
            "gen_ai.tool.call.result": call.result if call.error is None else None,
            "error.type": None if call.error is None else "ToolTimeout",
        }
        to.span(f"execute_tool {call.tool}", span, root, start, facts, error=call.error)
        response = {"type": "tool_call_response", "id": use, "response": call.error or call.result}
        self._messages.append({"role": "tool", "parts": [response]})
