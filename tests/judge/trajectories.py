"""Short ways to write a trajectory down in a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extractors.anchors import Anchor
from extractors.skills import LoadedBy, LoadOutcome, Skill, SkillInvocation
from extractors.spans import Value
from extractors.trajectory import ROOT_AGENT, CallOutcome, Prompt, Step, ToolCall, Trajectory
from judge.suites import Case, parse_suite

TRACE = "0af7651916cd43dd8448eb211c80319c"


def anchor(number: int = 1) -> Anchor:
    return Anchor("span", TRACE, f"{number:016x}")


def call(
    name: str,
    arguments: Mapping[str, Value] | None = None,
    outcome: CallOutcome = CallOutcome.OK,
    *,
    number: int = 1,
    **rest: Any,
) -> ToolCall:
    return ToolCall(name, anchor(number), rest.pop("agent", ROOT_AGENT), outcome, arguments=arguments, **rest)


def failed(name: str, arguments: Mapping[str, Value] | None = None, error: str = "boom", **rest: Any) -> ToolCall:
    return call(name, arguments, CallOutcome.FAILED, error=error, **rest)


def load(
    name: str | None, outcome: LoadOutcome = LoadOutcome.LOADED, *, number: int = 1, **rest: Any
) -> SkillInvocation:
    loaded_by = rest.pop("loaded_by", LoadedBy.TOOL)
    return SkillInvocation(name, outcome, anchor(number), rest.pop("agent", ROOT_AGENT), loaded_by, **rest)


def step(start_ns: int, text: str | None = None, *, number: int = 1, **rest: Any) -> Step:
    return Step(anchor(number), rest.pop("agent", ROOT_AGENT), start_ns, start_ns + 1, text=text, **rest)


def trajectory(*calls: ToolCall, task: str | None = "Do the thing", **rest: Any) -> Trajectory:
    prompts = (Prompt(task, anchor(), 0),) if task is not None else ()
    return Trajectory("session-1", "testing", **{"prompts": prompts, "tool_calls": calls, **rest})


def skills(*names: str) -> tuple[Skill, ...]:
    return tuple(Skill(name, f"helps with {name}") for name in names)


def case(text: str) -> Case:
    """One case about every session; `text` is YAML for the rest of it, one key a line."""
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    suite = parse_suite(f"name: s\nversion: '1'\ncases:\n  - id: c\n    match: {{}}\n{lines}\n", "test.yaml")
    return suite.cases[0]
