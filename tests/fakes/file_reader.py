"""Plays an agent that has no tool for skills: its prompt lists SKILL.md files, and it reads them with what it has.

Emits the OpenTelemetry GenAI conventions as they are now: messages and tool contents as attributes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.otlp_json import Json, attributes, spans_request
from tests.fakes.scenarios import write_scenarios

FIXTURES = Path(__file__).parents[1] / "fixtures" / "genai"
BREAD = (
    "---\nname: sourdough\ndescription: Bake bread from a starter.\n---\n# Sourdough\n\n"
    "1. Feed the starter with `feed`.\n2. Bake no sooner than six hours later.\n"
)
JAM = "---\nname: jam\ndescription: Boil fruit down.\n---\n# Jam\n\n1. Weigh the fruit.\n2. Add as much sugar.\n"
SYSTEM = (
    "You keep a country kitchen.\n\n### Available skills\n"
    "- sourdough: Bake bread from a starter. (file: /kitchen/skills/sourdough/SKILL.md)\n"
    "- jam: Boil fruit down. (file: /kitchen/skills/jam/SKILL.md)\n"
)
START_NS = 1_790_000_000_000_000_000
STEP_NS = 250_000_000


@dataclass(frozen=True, slots=True)
class Use:
    """One tool call. `error` makes its span fail."""

    tool: str
    arguments: Mapping[str, object]
    result: str | None = None
    error: str | None = None


@dataclass(slots=True)
class Kitchen:
    """One prompt, the calls that each answer of the model asks for, and its last words."""

    prompt: str
    rounds: Sequence[Sequence[Use]]
    answer: str
    spans: list[Json] = field(default_factory=list)
    _now_ns: int = START_NS
    _calls: int = 0

    def requests(self) -> Sequence[tuple[str, Json]]:
        """One request with all spans, children before their parents."""
        history: list[Json] = [{"role": "user", "parts": [{"type": "text", "content": self.prompt}]}]
        for uses in self.rounds:
            asked = [(f"call-{self._number()}", use) for use in uses]
            parts: list[Json] = [
                {"type": "tool_call", "id": call_id, "name": use.tool, "arguments": dict(use.arguments)}
                for call_id, use in asked
            ]
            self._chat(history, {"role": "assistant", "parts": parts, "finish_reason": "tool_call"})
            history = [*history, {"role": "assistant", "parts": parts}]
            history += [self._tool(call_id, use) for call_id, use in asked]
        said: Json = {"role": "assistant", "parts": [{"type": "text", "content": self.answer}], "finish_reason": "stop"}
        self._chat(history, said)
        self._span("invoke_agent cook", None, START_NS, {"operation.name": "invoke_agent", "agent.name": "cook"})
        resource = {"service.name": "kitchen", "service.version": "1.2.0"}
        return [("traces", spans_request(resource, {"name": "kitchen.agent", "version": "0.4.0"}, self.spans))]

    def _number(self) -> int:
        self._calls += 1
        return self._calls

    def _chat(self, history: Sequence[Json], said: Json) -> None:
        named = {
            "operation.name": "chat",
            "request.model": "toy-model-2",
            "system_instructions": json.dumps([{"type": "text", "content": SYSTEM}]),
            "input.messages": json.dumps(history),
            "output.messages": json.dumps([said]),
        }
        self._span("chat toy-model-2", "agent", self._now_ns, named)

    def _tool(self, call_id: str, use: Use) -> Json:
        named: dict[str, object] = {
            "operation.name": "execute_tool",
            "tool.name": use.tool,
            "tool.call.id": call_id,
            "tool.call.arguments": json.dumps(use.arguments),
        }
        if use.result is not None:
            named["tool.call.result"] = use.result
        self._span(f"execute_tool {use.tool}", "agent", self._now_ns, named, use.error)
        answer = use.result if use.result is not None else use.error
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": answer}]}

    def _span(
        self, name: str, parent: str | None, start_ns: int, named: Mapping[str, object], error: str | None = None
    ) -> None:
        self._now_ns += STEP_NS
        about = {f"gen_ai.{key}": value for key, value in named.items()}
        self.spans.append(
            {
                "traceId": "7c" * 16,
                "spanId": f"{0xA0 if parent is None else len(self.spans) + 1:016x}",
                "parentSpanId": f"{0xA0:016x}" if parent is not None else "",
                "name": name,
                "kind": 1,
                "startTimeUnixNano": str(start_ns),
                "endTimeUnixNano": str(self._now_ns),
                "attributes": attributes({"gen_ai.conversation.id": "kitchen-talk-1", **about}),
                "status": {} if error is None else {"code": 2, "message": error},
            }
        )


def shell(command: str, result: str | None, error: str | None = None) -> Use:
    return Use("shell", {"command": command}, result, error)


def several_by_command() -> Kitchen:
    """Two skills are read by one command, a third is not there; the texts follow each other."""
    command = "cd /kitchen/skills && for s in sourdough jam cheese; do cat $s/SKILL.md; done 2>&1"
    missing = "cat: cheese/SKILL.md: No such file or directory\n"
    rounds = [[shell(command, BREAD + JAM + missing)], [shell("feed starter", "fed")]]
    return Kitchen("Bread and jam, please.", rounds, "The starter is fed; jam needs fruit first.")


def in_pages() -> Kitchen:
    """A skill is read in two pages by a tool that numbers lines; another file beside it is no skill."""
    lines = [f"{at:6}\t{line}" for at, line in enumerate(BREAD.rstrip().split("\n"), 1)]
    path = "/kitchen/skills/sourdough/SKILL.md"
    rounds = [
        [Use("read_file", {"path": path, "limit": 5}, "\n".join(lines[:5]))],
        [Use("read_file", {"path": path, "offset": 6}, "\n".join(lines[5:]))],
        [Use("read_file", {"path": "/kitchen/skills/sourdough/references/flour.md"}, "Rye.")],
    ]
    return Kitchen("Bread, please.", rounds, "Feed the starter first.")


def only_mentioned() -> Kitchen:
    """Commands write, search, count and talk of SKILL.md files; none shows one."""
    rounds = [
        [
            shell("cat > skills/tea/SKILL.md <<'END'\ncat skills/jam/SKILL.md\nEND", ""),
            shell("grep -rn sugar skills/*/SKILL.md", "skills/jam/SKILL.md:8:2. Add as much sugar."),
            shell("wc -l skills/jam/SKILL.md && ls skills/jam/SKILL.md", "8 skills/jam/SKILL.md\nskills/jam/SKILL.md"),
            shell("git commit -m 'cat skills/jam/SKILL.md'", "[main 1f] cat skills/jam/SKILL.md"),
        ]
    ]
    return Kitchen("Add a tea skill.", rounds, "Done.")


def refused_and_mixed() -> Kitchen:
    """A read is denied, one says in a successful result that it failed, one is mixed with other output."""
    rounds = [
        [
            shell("sudo cat /srv/locked/skills/jam/SKILL.md", None, "command denied by policy"),
            Use("read_file", {"path": "/kitchen/skills/jelly/SKILL.md"}, "Error: File not found."),
        ],
        [shell("cat /kitchen/skills/jam/SKILL.md && scale", JAM + "scale: 0 g\n")],
    ]
    return Kitchen("Jam, please.", rounds, "There is no fruit on the scale.")


SCENARIOS = {
    "skill-files-by-command": several_by_command,
    "skill-file-in-pages": in_pages,
    "skill-files-mentioned": only_mentioned,
    "skill-files-refused": refused_and_mixed,
}


def write() -> None:
    """Write the scenarios, and where they come from: conventions, not recorded exports."""
    write_scenarios(FIXTURES, SCENARIOS, "none", "tests/fakes/file_reader.py")
    for name, play in SCENARIOS.items():
        (FIXTURES / name / "provenance.md").write_text(
            f"# {name}\n\n{(play.__doc__ or '').strip()}\n\n"
            "- Emitter: none in particular; the OpenTelemetry GenAI conventions.\n"
            "- Played by `tests/fakes/file_reader.py`; every text, name, id, number and time is invented.\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    write()
