"""Stand-in for LangChain agents and deepagents under OpenInference: see `tests/fakes/openinference.py`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fakes.openinference import Call, Json, Recording, Says, Tape, Turn, call_ids, flat, tools, usage

LANGCHAIN = {"langchain-core": "1.8.3", "langchain": "1.5.2"}


@dataclass
class Graph:
    """An agent with its state, which grows from turn to turn. `parts`: the system prompt, given as parts."""

    tape: Tape
    name: str
    system: str
    names: Sequence[str]
    parts: Sequence[str] = ()
    skills: Sequence[Json] | None = None
    deep: bool = False
    subs: dict[str, Graph] = field(default_factory=dict)
    state: list[Json] = field(default_factory=list)
    turn: int = 0

    def play(self, turn: Turn, parent: Recording | None = None) -> str:
        """One invocation; the answer."""
        self.turn += 1
        state = self.state
        asked = {"role": "user", "content": turn.prompt}
        state.append(asked)
        with self.tape.span(self.name, "CHAIN", parent, **self._about("langchain_create_agent")) as root:
            root.attributes |= {"input.value": json.dumps({"messages": [asked]}), "input.mime_type": "application/json"}
            if self.deep:
                self._middleware(root)
            for number, says in enumerate(turn.says):
                self._round(root, number, says)
            told = json.dumps({"messages": [_dumped(message) for message in state]})
            root.attributes |= {"output.value": told, "output.mime_type": "application/json"}
        return str(state[-1].get("content", ""))

    def _about(self, integration: str, **more: object) -> Json:
        versions = LANGCHAIN | ({"deepagents": "0.7.32"} if self.deep else {})
        about = {
            "ls_integration": "deepagents" if self.deep else integration,
            "lc_agent_name": self.name,
            "thread_id": self.tape.session,
            "lc_versions": versions,
        }
        return {"session__id": self.tape.session, "metadata": json.dumps(about | more)}

    def _middleware(self, root: Recording) -> None:
        name = "SkillsMiddleware.before_agent"
        with self.tape.span(name, "AGENT", root, **self._about("deepagents", langgraph_node=name)) as node:
            found = {"skills_metadata": list(self.skills)} if self.skills is not None else None
            node.attributes["output.value"] = json.dumps(found)

    def _round(self, root: Recording, number: int, says: Says) -> None:
        ids = call_ids(f"{self.name[:2]}{self.turn}", number, says)
        calls = [(call_id, call.name, call.arguments) for call_id, call in zip(ids, says.calls, strict=True)]
        system = (
            {"role": "system", "contents": self.parts} if self.parts else {"role": "system", "content": self.system}
        )
        answer = {"role": "assistant", "content": says.text, "calls": calls}
        with self.tape.span("model", "CHAIN", root, **self._about("node", langgraph_node="model")) as node:
            with self.tape.span("ChatOpenAI", "LLM", node, **self._about("model", langgraph_node="model")) as request:
                request.attributes |= flat("llm.input_messages", [system, *self.state])
                request.attributes |= flat("llm.output_messages", [answer])
                request.attributes |= {"llm.invocation_parameters": json.dumps({"model": "made-up-mini"})}
                request.attributes |= {"llm.model_name": "made-up-mini", "llm.provider": "openai", **tools(self.names)}
                request.attributes |= {"llm.finish_reason": "tool_calls" if calls else "stop", **usage()}
            node.attributes |= flat("llm.input_messages", [{"role": "user", "content": self.state[0]["content"]}])
        self.state.append(answer)
        for call_id, call in zip(ids, says.calls, strict=True):
            if call.interrupted:
                self._tool(root, call_id, call)
            if not call.spanless:
                self._tool(
                    root, call_id, call if not call.interrupted else Call(call.name, call.arguments, call.result)
                )
            self.state.append({"role": "tool", "content": call.answer, "id": call_id, "failed": call.failed})

    def _tool(self, root: Recording, call_id: str, call: Call) -> None:
        given = json.dumps([{"name": call.name, "args": call.arguments, "id": call_id, "type": "tool_call"}])
        with self.tape.span("tools", "CHAIN", root, **self._about("node", langgraph_node="tools")) as node:
            node.attributes |= {"input.value": given, "input.mime_type": "application/json"}
            kind = "AGENT" if "agent" in call.name else "TOOL"
            with self.tape.span(call.name, kind, node, **self._about("node", langgraph_node="tools")) as span:
                span.attributes |= {"tool.name": call.name, "tool.description": f"Use {call.name}."}
                span.attributes |= _bare(call.arguments)
                result = self._delegated(call, span) if call.inside else call.result
                if call.interrupted:
                    span.fails("", "langgraph.errors.GraphInterrupt", "(Interrupt(value='may I?'),)")
                    span.status = {"code": 1}
                elif call.error is not None:
                    kind, said = call.error
                    span.fails(f"{kind}({said!r})Traceback (most recent call last):\n\n\n  ...", kind, said)
                else:
                    answer = {"role": "tool", "content": result, "id": call_id, "failed": call.failed}
                    span.attributes |= {
                        "output.value": json.dumps(_dumped(answer)),
                        "output.mime_type": "application/json",
                    }

    def _delegated(self, call: Call, span: Recording) -> str:
        sub = self.subs[str(call.arguments["subagent_type"])]
        return sub.play(Turn(str(call.arguments["description"]), call.inside), span)


def _bare(arguments: Json) -> Json:
    """The input of a tool: a lone argument loses its name."""
    values = list(arguments.values())
    if len(values) == 1 and isinstance(values[0], str):
        return {"input.value": values[0]}
    return {"input.value": json.dumps(arguments), "input.mime_type": "application/json"}


def _dumped(message: Json) -> Json:
    """A message as LangChain serialises it."""
    content = message.get("content", "")
    match message["role"]:
        case "user":
            return {"type": "human", "data": {"content": content, "type": "human", "name": None}}
        case "tool":
            status = "error" if message["failed"] else "success"
            return {"type": "tool", "data": {"content": content, "tool_call_id": message["id"], "status": status}}
    calls = [
        {"name": name, "args": given, "id": call_id, "type": "tool_call"} for call_id, name, given in message["calls"]
    ]
    return {"type": "ai", "data": {"content": content, "type": "ai", "tool_calls": calls}}
