"""A trajectory for people, signal by signal, each with the span or record it came from. "Not recorded" is said as
such: it is a fact about the telemetry, not about the agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from collector.commands.terminal import LONG, NOT_RECORDED, duration, recorded, safe, short, styled
from extractors.anchors import Anchor
from extractors.coverage import hides_reads
from extractors.registry import UNRECOGNISED
from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.spans import Session
from extractors.trajectory import ROOT_AGENT, Agent, CallOutcome, Step, ToolCall, Trajectory
from judge.describe import arguments_text

_GOOD, _BAD, _ODD, _DIM, _HEAD = "green", "bold red", "yellow", "dim", "bold"
CALL_STYLES = {
    CallOutcome.OK: _GOOD,
    CallOutcome.FAILED: _BAD,
    CallOutcome.REFUSED: _BAD,
    CallOutcome.UNANSWERED: _ODD,
}
LOAD_STYLES = {LoadOutcome.LOADED: _GOOD, LoadOutcome.REFUSED: _BAD, LoadOutcome.UNANSWERED: _ODD}
CALL_FAILURES = frozenset({CallOutcome.FAILED, CallOutcome.REFUSED})
_LABEL = 20

Places = Mapping[tuple[str, str], str]
"""(trace id, span id) → span name."""


def places_of(session: Session) -> Places:
    """Names of the session's spans, to say where a fact came from."""
    return {(span.trace_id, span.span_id): span.name for span in session.spans}


def trajectory_lines(trajectory: Trajectory, places: Places, most: int = LONG) -> Iterator[Text]:
    """Everything that was extracted. Where nothing was understood nothing was, which is neither "not recorded" nor
    "none". `most` is where long texts are cut."""
    if trajectory.harness == UNRECOGNISED:
        yield _row("harness", UNRECOGNISED)
    else:
        yield from _versions(trajectory)
        yield from _prompts(trajectory, places, most)
        yield from _catalog(trajectory, places, most)
        yield from _skills(trajectory, places, most)
        yield from _steps(trajectory, places, most)
        yield from _calls(trajectory, places, most)
        yield from _answer(trajectory, places, most)
        yield from _agents(trajectory)
        yield from _failures(trajectory, places, most)
    for note in trajectory.notes:
        yield _row("note", (short(note), _ODD))


def source(anchor: Anchor | None, places: Places) -> tuple[str, str]:
    """`span 1f2e3d4c5b6a7988 (chat)`, dim."""
    if anchor is None:
        return "", _DIM
    name = places.get((anchor.trace_id or "", anchor.span_id or ""))
    of = f" ({short(name, 60)})" if name else ""
    if anchor.signal == "span":
        return f"  ← span {anchor.span_id}{of}", _DIM
    at = f" in span {anchor.span_id}{of}" if anchor.span_id else ""
    return f"  ← record {anchor.record}{at}", _DIM


def _row(label: str, *parts: str | tuple[str, str]) -> Text:
    return styled((f"  {label:<{_LABEL}}", _HEAD), *parts)


def _item(*parts: str | tuple[str, str]) -> Text:
    return styled("    ", *parts)


def _detail(label: str, text: str | None, most: int) -> Text:
    return styled("        ", (f"{label:<12}", _DIM), (recorded(text, most), _DIM if text is None else ""))


def _count(label: str, found: Sequence[object], none: str = "none") -> Text:
    return _row(label, str(len(found)) if found else none)


def _versions(trajectory: Trajectory) -> Iterator[Text]:
    known = trajectory.versions
    yield _row("harness", safe(_pair(trajectory.harness, known.harness_version)))
    yield _row("service", safe(_pair(known.service, known.service_version)))
    yield _row("agent", safe(_pair(known.agent, known.agent_version)))
    yield _row("models requested", safe(", ".join(known.models_requested)) or NOT_RECORDED)
    yield _row("models answered", safe(", ".join(known.models_answered)) or NOT_RECORDED)
    yield _row("system prompt", known.system_prompt_hash or NOT_RECORDED)
    tools = trajectory.tool_definitions
    names = NOT_RECORDED if tools is None else f"{len(tools)}: {short(', '.join(tool.name for tool in tools))}"
    yield _row("tool definitions", names, (f"  hash {known.tool_definitions_hash or NOT_RECORDED}", _DIM))
    if trajectory.tenant:
        yield _row("tenant", safe(trajectory.tenant))
    if trajectory.started_ns:
        yield _row("took", duration(trajectory.ended_ns - trajectory.started_ns))


def _pair(name: str | None, version: str | None) -> str:
    return f"{NOT_RECORDED if name is None else name}, version {NOT_RECORDED if version is None else version}"


def _prompts(trajectory: Trajectory, places: Places, most: int) -> Iterator[Text]:
    yield _count("prompts", trajectory.prompts, NOT_RECORDED)
    for prompt in trajectory.prompts:
        yield _item(recorded(prompt.text, most), source(prompt.anchor, places))


def _catalog(trajectory: Trajectory, places: Places, most: int) -> Iterator[Text]:
    offered = trajectory.offered_skills
    if offered is None:
        yield _row("skills offered", (NOT_RECORDED, _ODD))
        return
    yield _row("skills offered", str(len(offered)) if offered else "none", source(trajectory.catalog_anchor, places))
    for skill in offered:
        yield _item(short(skill.name, 80), ": ", recorded(skill.description, most))


def _skills(trajectory: Trajectory, places: Places, most: int) -> Iterator[Text]:
    hidden = "none seen; what tools read is not recorded" if hides_reads(trajectory.tool_calls) else "none"
    yield _count("skill invocations", trajectory.skill_invocations, hidden)
    for load in trajectory.skill_invocations:
        yield _item(*load_parts(load), source(load.anchor, places))
        if load.outcome is LoadOutcome.REFUSED:
            yield _detail("refusal", load.refusal, most)
        yield _detail("body hash", load.body_hash, most)


def load_parts(load: SkillInvocation) -> list[str | tuple[str, str]]:
    """`loaded refunds by root`, with the outcome in its colour."""
    how = {LoadedBy.TOOL: "", LoadedBy.FILE: ", by reading its file", LoadedBy.USER: ", by the person"}[load.loaded_by]
    name = NOT_RECORDED if load.name is None else short(load.name, 80)
    return [(str(load.outcome), LOAD_STYLES[load.outcome]), f" {name}{how}", _by(load.agent)]


def _by(agent: str) -> tuple[str, str]:
    return ("" if agent == ROOT_AGENT else f" by agent {short(agent, 40)}", _DIM)


def _steps(trajectory: Trajectory, places: Places, most: int) -> Iterator[Text]:
    yield _count("model turns", trajectory.steps)
    for step in trajectory.steps:
        yield _item(*step_parts(step, most), source(step.anchor, places))


def step_parts(step: Step, most: int) -> list[str | tuple[str, str]]:
    """Model, tokens, time, what was said."""
    model = step.model_answered or step.model_requested
    facts = [
        NOT_RECORDED if model is None else short(model, 60),
        f"{_number(step.input_tokens)} in, {_number(step.output_tokens)} out",
        duration(step.end_ns - step.start_ns),
    ]
    said = (f"  failed: {short(step.error, most)}", _BAD) if step.error else f"  {recorded(step.text, most)}"
    return [(" · ".join(facts), _DIM), said, _by(step.agent)]


def _number(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"


def _calls(trajectory: Trajectory, places: Places, most: int) -> Iterator[Text]:
    yield _count("tool calls", trajectory.tool_calls)
    for call in trajectory.tool_calls:
        yield _item(*call_parts(call), source(call.anchor, places))
        yield _detail("arguments", arguments_text(call), most)
        if call.error is not None or (call.outcome in CALL_FAILURES and call.result is None):
            yield _detail("error", call.error, most)
        if call.outcome is not CallOutcome.REFUSED or call.result is not None:
            yield _detail("result", call.result, most)


def call_parts(call: ToolCall) -> list[str | tuple[str, str]]:
    """`ok lookup 12 ms`, with the outcome in its colour."""
    took = "time not recorded"
    if call.start_ns is not None and call.end_ns is not None:
        took = duration(call.end_ns - call.start_ns)
    return [
        (str(call.outcome), CALL_STYLES[call.outcome]),
        f" {short(call.name, 80)}",
        (f" {took}", _DIM),
        _by(call.agent),
    ]


def _answer(trajectory: Trajectory, places: Places, most: int) -> Iterator[Text]:
    yield _row("answer", recorded(trajectory.answer, most), source(trajectory.answer_anchor, places))


def _agents(trajectory: Trajectory) -> Iterator[Text]:
    yield _count("agents", trajectory.agents, NOT_RECORDED)
    for agent in trajectory.agents:
        yield _item(short(agent.id, 60), *_agent_facts(agent))


def _agent_facts(agent: Agent) -> Iterator[tuple[str, str]]:
    yield f"  {recorded(agent.name, 60)}, version {recorded(agent.version, 60)}", _DIM
    if agent.parent is not None:
        yield f", started by {short(agent.parent, 60)}", _DIM
    offered = NOT_RECORDED if agent.offered_skills is None else str(len(agent.offered_skills))
    yield f", skills offered: {offered}", _DIM


def _failures(trajectory: Trajectory, places: Places, most: int) -> Iterator[Text]:
    yield _count("other failures", trajectory.failures)
    for failure in trajectory.failures:
        yield _item(
            (short(failure.kind, 60), _BAD), f" {recorded(failure.message, most)}", source(failure.anchor, places)
        )
