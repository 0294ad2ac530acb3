"""A stand-in for the Codex CLI: plays a scripted conversation and records the telemetry that the CLI would.

Names, nesting, value types and order are those of exports of CLI 0.171.0 (0.148.0 where said).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.cli_telemetry import MS_NS, Json, Tape

REDACTED = "[REDACTED]"


@dataclass(frozen=True)
class Profile:
    """Which exporters and content switches are on."""

    spans: bool = True
    records: bool = True
    prompts: bool = True
    answers: bool = True
    version: str = "0.171.0"

    @property
    def old(self) -> bool:
        return self.version == "0.148.0"


@dataclass(frozen=True)
class Call:
    """One tool call. `skill`: the skill that Codex announces before it. `ending`: ok, failed (for the harness),
    rejected (never allowed), unfinished."""

    arguments: Json
    output: str = ""
    exit_code: int = 0
    name: str = "exec_command"
    namespace: str = "functions"
    skill: str | None = None
    ending: str = "ok"
    is_cut: bool = False
    took_ms: int = 20


@dataclass(frozen=True)
class Turn:
    """One answer of the model. Texts beside calls are not recorded; `statuses` are those of failed attempts."""

    calls: Sequence[Call] = ()
    text: str = ""
    statuses: Sequence[int] = ()


@dataclass
class Codex:
    """One conversation. With `code_mode` every call is made by a script."""

    conversation: str
    profile: Profile = field(default_factory=Profile)
    code_mode: bool = False
    agent: str = "/root"
    parent: str | None = None
    tape: Tape = field(init=False)
    _calls: int = 0
    _sequence: int = 0

    def __post_init__(self) -> None:
        resource = {"service.name": "codex_exec", "service.version": self.profile.version, "env": "test"}
        self.tape = Tape(self.conversation, resource, {"name": "codex_exec"}, {"name": "codex_otel.log_only"})
        self._log("conversation_starts", self._begin_trace(), provider_name="test", approval_policy="never")

    def resume(self) -> None:
        """Another process takes the conversation up again."""
        self._sequence = 0
        self.tape.tick(60_000)
        self._log("conversation_starts", self._begin_trace(), provider_name="test", approval_policy="never")

    def prompt(self, text: str, turns: Sequence[Turn], mentioned: Sequence[str] = (), killed: bool = False) -> None:
        """The person asks; the agent takes these turns. `mentioned`: the skills that `$name` put into the prompt."""
        tape = self.tape
        trace, turn_id = tape.id("trace", 32), tape.id("turn", 12)
        root, task, run, inputs = (tape.id("span") for _ in range(4))
        self._place, self._turn_id, self._run = (trace, run), turn_id, run
        start = tape.tick(5)
        for skill in mentioned if not self.profile.old else ():
            self._announce(skill, (trace, inputs), "explicit")
        tape.tick(3)
        shown = text if self.profile.prompts else REDACTED
        self._span("load_skill_prompts", tape.id("span"), inputs, tape.now_ms, selected_skill_count=str(len(mentioned)))
        self._log("user_prompt", (trace, inputs), prompt_length=str(len(text)), prompt=shown)
        self._span("run_hooks_and_record_inputs", inputs, run, start)
        for turn in turns:
            self._play(turn)
        if killed:
            return
        named = {"conversation.id": self.conversation, "turn.id": turn_id} if not self.profile.old else {}
        self._span("run_turn", run, task, start, **named)
        self._span("session_task.turn", task, root, start, **{"turn.id": turn_id, "model": "gpt-test-1"})
        self._span("turn/start", root, None, start, **{"rpc.method": "turn/start", "turn.id": turn_id})

    def _begin_trace(self) -> tuple[str, str]:
        return self.tape.id("trace", 32), self.tape.id("span")

    def _play(self, turn: Turn) -> None:
        tape, request, stream = self.tape, self.tape.id("span"), self.tape.id("span")
        start = tape.tick(2)
        for attempt, status in enumerate(turn.statuses):
            tape.tick(30)
            self._request(attempt, request, status)
        tape.tick(40)
        self._request(len(turn.statuses), request, 200)
        if turn.text and self.profile.answers and not self.profile.old:
            self._answer(turn.text, stream)
        waiting = [self._begin(call, stream) for call in turn.calls]
        usage: Json = {"gen_ai.usage.input_tokens": 900, "gen_ai.usage.output_tokens": 30}
        tape.tick(1)
        self._log("sse_event", None, **{"event.kind": "response.completed", "duration_ms": "9"})
        counts = {"input_token_count": "900", "output_token_count": "30"}
        self._log("sse_event", None, **{"event.kind": "response.completed"}, **counts)
        self._span("handle_responses", tape.id("span"), stream, tape.now_ms, **usage)
        for call, begun in zip(turn.calls, waiting, strict=True):
            if call.ending != "unfinished":
                self._finish(call, *begun)
        self._span("receiving_stream", stream, request, start + 40)
        self._span("try_run_sampling_request", request, self._run, start, turn_id=self._turn_id, model="gpt-test-1")

    def _request(self, attempt: int, span: str, status: int) -> None:
        failed = {"error.message": f"http {status}"} if status >= 400 else {}
        facts = {"duration_ms": "39", "http.response.status_code": status, "attempt": attempt, "endpoint": "/responses"}
        self._log("api_request", (self._place[0], span), **facts, **failed)

    def _answer(self, text: str, span: str) -> None:
        kind = {"agent.type": "subagent" if self.parent else "main", "turn.id": self._turn_id}
        parent = {"parent.conversation.id": self.parent} if self.parent else {}
        said = {"response": text, "response_length": str(len(text)), "response_truncated": "false"}
        self._log("agent_response", (self._place[0], span), **kind, **parent, **said)

    def _begin(self, call: Call, stream: str) -> tuple[str, str, str, str, int, tuple[str, str] | None]:
        """Ids of the call and its spans, trace, start, and the cell of the script around it, if any."""
        tape = self.tape
        self._calls += 1
        start = tape.tick(2)
        call_id, trace, above = f"call_{self.conversation}_{self._calls}", self._place[0], stream
        cell = None
        if self.code_mode:
            cell = (call_id, tape.id("execution", 12))
            call_id, trace, above = f"exec-{tape.id('nested', 12)}", tape.id("trace", 32), tape.id("span")
            self._place_of_cell = (trace, above)
        tool, dispatch = tape.id("span"), tape.id("span")
        if call.skill is not None and not self.profile.old:
            self._announce(call.skill, (trace, dispatch), "implicit")
        tape.tick(1)
        if call.ending != "rejected" and call.namespace == "functions":
            facts = {"tool_name": call.name, "call_id": call_id, "decision": "approved", "source": "Config"}
            self._log("tool_decision", (trace, dispatch), **facts, **self._namespace(call.namespace))
        return call_id, tool, dispatch, trace, start, cell

    def _finish(
        self, call: Call, call_id: str, tool: str, dispatch: str, trace: str, start: int, cell: tuple[str, str] | None
    ) -> None:
        tape = self.tape
        tape.tick(call.took_ms)
        success = "true" if call.ending == "ok" else "false"
        output = _output(call)
        text = json.dumps(call.arguments)
        facts: Json = {"tool_name": call.name, "call_id": call_id, "duration_ms": str(call.took_ms), "success": success}
        facts |= self._namespace(call.namespace)
        if not self.profile.old:
            facts |= {"output_truncated": str(call.is_cut).lower(), "agent_name": self.agent}
        self._log("tool_result", (trace, dispatch), **facts, arguments=text, output=output)
        named = {} if self.profile.old else {"conversation.id": self.conversation, "turn.id": self._turn_id}
        glued = call.name if call.namespace == "functions" else f"{call.namespace}{call.name}"
        parent = self._place_of_cell[1] if cell else self._run
        event = {"codex.tool_result": {"event.name": "codex.tool_result", **facts}}
        old = self.profile.old
        place = (trace, dispatch)
        self._span(
            "dispatch_tool_call_with_state", dispatch, tool, start, trace=place[0], events=None if old else event
        )
        own = {"tool_name": glued, "call_id": call_id, "aborted": False}
        self._span(glued, tool, parent, start, trace=trace, **own, **named)
        if cell is not None:
            self._script(call, cell, start, output)

    def _script(self, call: Call, cell: tuple[str, str], start: int, output: str) -> None:
        """The call of `exec` around a call in code mode; its result comes last."""
        tape, (call_id, execution) = self.tape, cell
        trace = self._place[0]
        self._span(
            "code_mode.grpc.callback",
            self._place_of_cell[1],
            None,
            start,
            trace=self._place_of_cell[0],
            **{"session.id": f"inner-{execution}", "execution.id": execution},
        )
        tape.tick(3)
        tool, dispatch, inside = tape.id("span"), tape.id("span"), tape.id("span")
        took = tape.now_ms - start + 1
        script = f"const r0 = await tools.{call.name}({json.dumps(call.arguments)});\ntext(r0);\n"
        facts: Json = {"tool_name": "exec", "call_id": call_id, "duration_ms": str(took), "success": "true"}
        facts |= {"tool_namespace": "functions", "output_truncated": "false", "agent_name": self.agent}
        told = f"Script completed\nWall time 0.1 seconds\nOutput:\n\n{json.dumps({'output': output})}"
        self._log("tool_result", (trace, dispatch), **facts, arguments=script, output=told)
        self._span("code_mode.grpc.execute", inside, dispatch, start, **{"execution.id": execution, "call_id": call_id})
        event = {"codex.tool_result": {"event.name": "codex.tool_result", **facts}}
        self._span("dispatch_tool_call_with_state", dispatch, tool, start, events=event)
        named = {"conversation.id": self.conversation, "turn.id": self._turn_id}
        self._span("exec", tool, self._run, start - 1, tool_name="exec", call_id=call_id, aborted=False, **named)

    def _announce(self, skill: str, place: tuple[str, str], how: str) -> None:
        facts = {"skill.name": skill, "skill.scope": "repo", "skill.invocation_type": how, "turn.id": self._turn_id}
        self._log("skill_invocation", place, **facts)

    def _namespace(self, namespace: str) -> Json:
        return {} if self.profile.old else {"tool_namespace": namespace}

    def _log(self, event: str, place: tuple[str, str] | None, **facts: object) -> None:
        self._sequence += 1
        if not self.profile.records:
            return
        own = {
            "event.name": f"codex.{event}",
            "conversation.id": self.conversation,
            "app.version": self.profile.version,
        }
        named = event == "skill_invocation"
        self.tape.record(
            place if self.profile.spans else None,
            {**own, "model": "gpt-test-1", **facts},
            timeUnixNano="0",
            observedTimeUnixNano=str(self.tape.now_ms * MS_NS + self._sequence),
            eventName=f"codex.{event}" if named else f"event otel/src/{event}.rs:7",
        )

    def _span(
        self,
        name: str,
        span: str,
        parent: str | None,
        start: int,
        trace: Any = None,
        events: Any = None,
        **facts: Any,
    ) -> None:
        if self.profile.spans:
            rust = {"target": "codex_core::turn", "code.module.name": "codex_core::turn"}
            place = (trace or self._place[0], span)
            self.tape.span(name, place, parent, start, {**rust, **facts}, events=events)


def _output(call: Call) -> str:
    if call.ending == "rejected":
        return call.output
    head = "" if call.namespace != "functions" else f"Process exited with code {call.exit_code}\n"
    chunk = "Chunk ID: 0a1b2c\n" if head else ""
    tail = "\n[... telemetry preview truncated ...]" if call.is_cut else ""
    return f"{chunk}Wall time: 0.0100 seconds\n{head}Output:\n{call.output}{tail}"
