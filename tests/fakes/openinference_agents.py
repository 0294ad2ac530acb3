"""Stand-ins for the OpenAI Agents SDK, smolagents and the Claude Agent SDK under OpenInference."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.openinference import Call, Json, Recording, Says, Tape, Turn, call_ids, flat, tools, usage


@dataclass
class Runner:
    """The OpenAI Agents SDK. `instructions` by agent; the first agent begins, a handoff's call names the next."""

    tape: Tape
    instructions: dict[str, str]
    names: Sequence[str]
    state: list[Json] = field(default_factory=list)
    turn: int = 0

    def play(self, turn: Turn, handed: dict[int, str] | None = None, dies: str = "") -> None:
        """One run. `handed`: answer number → the agent that takes over after it. `dies`: why the run ended early."""
        self.turn += 1
        self.state.append({"role": "user", "content": turn.prompt})
        with self._span("allotment", "AGENT") as root, self._span("allotment", "CHAIN", root) as task:
            at, agents = 0, list(self.instructions)[:1]
            while at < len(turn.says):
                name = agents.pop()
                with self._span(name, "AGENT", task, graph__node__id=name, agent__name=name) as agent:
                    while at < len(turn.says) and not agents:
                        next_agent = (handed or {}).get(at)
                        self._round(agent, name, at, turn.says[at], next_agent)
                        agents += [next_agent] if next_agent else []
                        at += 1
                    if dies and at == len(turn.says):
                        agent.status = {"code": 2, "message": f"Error in agent run: {{'error': {dies!r}}}"}

    def _span(self, name: str, kind: str, parent: Recording | None = None, **fields: Any) -> Any:
        return self.tape.span(name, kind, parent, session__id=self.tape.session, **fields)

    def _round(self, agent: Recording, name: str, number: int, says: Says, next_agent: str | None) -> None:
        ids = call_ids(str(self.turn), number, says)
        calls = [(call_id, call.name, call.arguments) for call_id, call in zip(ids, says.calls, strict=True)]
        said: list[Json] = [{"role": "assistant", "content": says.text, "contents": [says.text]}] if says.text else []
        said += [{"role": "assistant", "calls": [call]} for call in calls]
        system = {"role": "system", "content": self.instructions[name]}
        with self._span("turn", "CHAIN", agent) as turn:
            with self._span("response", "LLM", turn, llm__system="openai") as request:
                request.attributes |= flat("llm.input_messages", [system, *self.state])
                request.attributes |= flat("llm.output_messages", said) | tools(self.names) | usage()
                request.attributes |= {"llm.model_name": "made-up-mini", "llm.finish_reason": "stop"}
                request.attributes |= {"input.value": json.dumps([]), "input.mime_type": "application/json"}
            self.state += said
            for call_id, call in zip(ids, says.calls, strict=True):
                if call.spanless and call.error is not None:
                    turn.status = {"code": 2, "message": f"Tool not found: {{'tool_name': {call.name!r}}}"}
                elif next_agent and call.name.startswith(("transfer", "pass")):
                    with self._span(f"handoff to {next_agent}", "TOOL", turn, input__value=name) as span:
                        span.attributes["output.value"] = next_agent
                elif not call.spanless:
                    self._tool(turn, call)
                self.state.append({"role": "tool", "content": call.answer, "id": call_id})

    def _tool(self, turn: Recording, call: Call) -> None:
        given: Json = {"input__value": json.dumps(call.arguments), "input__mime_type": "application/json"}
        with self._span(call.name, "TOOL", turn, tool__name=call.name, **given) as span:
            if call.error is not None:
                details = {"tool_name": call.name, "error": call.error[1]}
                span.status = {"code": 2, "message": f"Error running tool: {details}"}
            else:
                span.attributes["output.value"] = call.result


@dataclass
class Smol:
    """smolagents. `code`: a code agent, whose answers are text and whose calls have no ids."""

    tape: Tape
    name: str
    instructions: str
    names: Sequence[str]
    code: bool = False
    managed: dict[str, Smol] = field(default_factory=dict)
    state: list[Json] = field(default_factory=list)
    turn: int = 0

    def play(self, turn: Turn, parent: Recording | None = None) -> str:
        """One run; the answer."""
        self.turn += 1
        self.state.append({"role": "user", "contents": [f"New task:\n{turn.prompt}"]})
        given = json.dumps({"task": turn.prompt, "stream": False, "reset": self.turn == 1})
        answer = ""
        with self._span(f"{self.name}.run", "AGENT", parent, input__value=given) as run:
            for number, says in enumerate(turn.says):
                answer = self._step(run, number, says) or answer
            run.attributes["output.value"] = answer
        return answer

    def _span(self, name: str, kind: str, parent: Recording | None = None, **fields: Any) -> Any:
        return self.tape.span(name, kind, parent, session__id=self.tape.session, **fields)

    def _step(self, run: Recording, number: int, says: Says) -> str | None:
        ids = call_ids(f"{self.name[:2]}{self.turn}", number, says)
        calls = [(call_id, call.name, call.arguments) for call_id, call in zip(ids, says.calls, strict=True)]
        system = {"role": "system", "contents": [self.instructions]}
        answer: str | None = None
        with self._span(f"Step {number + 1}", "CHAIN", run) as step:
            with self._span("OpenAIModel.generate", "LLM", step) as request:
                request.attributes |= flat("llm.input_messages", [system, *self.state])
                said = {"role": "assistant", "content": says.text, "calls": [] if self.code else calls}
                request.attributes |= flat("llm.output_messages", [said]) | tools(self.names) | usage()
                request.attributes |= {"llm.model_name": "made-up-mini", "llm.provider": "openai"}
            observed = []
            for call in says.calls:
                observed.append(self._call(step, call))
                answer = call.result if call.name == "final_answer" else answer
            self.state.append({"role": "tool-call", "contents": [f"Calling tools:\n{calls}"]})
            self.state.append({"role": "tool-response", "contents": ["Observation:\n" + "\n".join(observed)]})
        return answer

    def _call(self, step: Recording, call: Call) -> str:
        if call.name in self.managed:
            return self.managed[call.name].play(Turn(str(call.arguments["task"]), call.inside), step)
        if call.spanless and call.error is not None:
            step.fails(f"AgentToolExecutionError: {call.error[1]}", "smolagents.AgentToolExecutionError", call.error[1])
            return call.error[1]
        given: Json = {"args": [], "sanitize_inputs_outputs": True, "kwargs": call.arguments}
        if self.code:
            given |= {"args": list(call.arguments.values()), "kwargs": {}}
        with self._span("MadeUpTool", "TOOL", step, input__value=json.dumps(given)) as span:
            parameters = {name: {"type": "string"} for name in call.arguments}
            span.attributes |= {"tool.name": call.name, "tool.parameters": json.dumps(parameters)}
            if call.error is not None:
                kind, said = call.error
                span.fails(f"{kind}: {said}", kind, said)
                step.fails(
                    f"AgentToolExecutionError: {call.name}: {said}", "AgentToolExecutionError", f"{call.name}: {said}"
                )
                return said
            span.attributes |= {"output.value": call.result, "output.mime_type": "text/plain"}
        return call.result


@dataclass
class Claude:
    """The Claude Agent SDK. `bodies`: skill → text, which a successful load gives the model."""

    tape: Tape
    bodies: dict[str, str]
    turn: int = 0

    def play(self, turn: Turn, ends: bool = True) -> None:
        """One query. `ends`: whether the result arrived."""
        self.turn += 1
        about: Json = {"llm__system": "anthropic", "input__value": turn.prompt, "input__mime_type": "text/plain"}
        with self.tape.span("ClaudeAgentSDK.query", "AGENT", **about) as run:
            blocks: list[Json] = []
            for number, says in enumerate(turn.says):
                blocks += self._round(run, number, says)
            for at, block in enumerate(blocks):
                text = block.pop("said", None)
                run.attributes |= {f"llm.output_messages.{at}.message.content.0": text} if text else {}
                run.attributes |= {
                    key.replace(".0.", f".{at}.", 1): value
                    for key, value in flat("llm.output_messages", [block]).items()
                }
            run.attributes |= {"llm.model_name": "claude-made-up", **usage(900, 60)}
            if ends:
                answer = turn.says[-1].text
                run.attributes |= {
                    "llm.finish_reason": "end_turn",
                    "output.value": answer,
                    "output.mime_type": "text/plain",
                }
            run.attributes["session.id"] = self.tape.session

    def _round(self, run: Recording, number: int, says: Says) -> list[Json]:
        blocks: list[Json] = [{"role": "assistant", "said": says.text}] if says.text else []
        ids = call_ids(str(self.turn), number, says)
        for call_id, call in zip(ids, says.calls, strict=True):
            blocks.append({"role": "assistant", "calls": [(call_id, call.name, call.arguments)]})
            self._tool(run, call_id, call)
        for call in says.calls:
            if call.name == "Skill" and call.error is None:
                name = str(call.arguments["skill"])
                told = f"Base directory for this skill: /srv/plots/.claude/skills/{name.rpartition(':')[2]}\n\n"
                blocks.append({"role": "assistant", "said": told + self.bodies[name]})
        return blocks

    def _tool(self, parent: Recording, call_id: str, call: Call) -> None:
        given = json.dumps(call.arguments)
        about: Json = {"tool__id": call_id, "tool__name": call.name, "tool__parameters": given, "input__value": given}
        with self.tape.span(call.name, "TOOL", parent, **about, input__mime_type="application/json") as span:
            if call.inside:
                with self.tape.span(f"ClaudeAgentSDK.{call.name}", "AGENT", span, agent__name=call.name) as agent:
                    for at, says in enumerate(call.inside):
                        for number, inner in enumerate(says.calls):
                            self._tool(agent, f"{call_id}_{at}{number}", inner)
            if call.error is not None:
                span.fails(call.error[1], "Exception", call.error[1])
            else:
                output = call.output or json.dumps([{"type": "text", "text": call.result}])
                span.attributes |= {"output.value": output, "output.mime_type": "application/json"}
