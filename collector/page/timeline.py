"""What happened in a session, in order, as entries to show (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import orjson

from collector.page.links import trace_link
from collector.page.moments import duration
from collector.page.texts import Piece, Texts
from collector.page.verdict_view import Tone, VerdictView
from extractors.anchors import Anchor
from extractors.attributes import json_text
from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.spans import Value
from extractors.trajectory import ROOT_AGENT, CallOutcome, Failure, Prompt, Step, ToolCall, Trajectory
from judge.origins import loading_calls
from judge.subjects import subjects_of

MOST_ENTRIES = 200
"""On one page."""
_DEEPEST = 6
_ONE_LINE = 100
_CALL_TONES: Mapping[CallOutcome, Tone] = {
    CallOutcome.OK: "good",
    CallOutcome.FAILED: "bad",
    CallOutcome.REFUSED: "bad",
    CallOutcome.UNANSWERED: "odd",
}
_LOAD_TONES: Mapping[LoadOutcome, Tone] = {
    LoadOutcome.LOADED: "good",
    LoadOutcome.REFUSED: "bad",
    LoadOutcome.UNANSWERED: "odd",
}


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that happened, before it is made to be shown. `key` is the (kind, ref) by which verdicts name it."""

    at_ns: int | None
    order: int
    item: Prompt | Step | ToolCall | SkillInvocation | Failure | None
    number: int = 0
    key: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """`offset` is the time since the session began, "" where none was recorded; `depth` how many agents are above the
    one that did it, and `agent` its name, "" for the one that the person talks to. `details` are named texts."""

    kind: str
    kind_title: str
    offset: str
    title: str
    tone: Tone
    word: str
    facts: tuple[str, ...]
    agent: str
    depth: int
    said: Piece | None
    details: tuple[tuple[str, Piece], ...]
    trace_url: str | None
    span_id: str
    verdicts: tuple[VerdictView, ...] = ()


@dataclass(frozen=True, slots=True)
class Agents:
    """Depths and names by id."""

    depths: Mapping[str, int]
    names: Mapping[str, str | None] = field(default_factory=dict)


def happenings(trajectory: Trajectory) -> list[Happened]:
    """In time order; what has no time last. A skill load has no time of its own: it stands where the call stands that
    it came from."""
    calls, loads = trajectory.tool_calls, trajectory.skill_invocations
    found = [
        *(Happened(one.time_ns or None, 0, one, at) for at, one in enumerate(trajectory.prompts)),
        *(
            Happened(one.start_ns or None, 1, one, at, ("step", one.anchor.ref))
            for at, one in enumerate(trajectory.steps)
        ),
        *(
            Happened(call.start_ns, 2, call, at, (subject.kind, subject.ref))
            for at, (call, subject) in enumerate(zip(calls, subjects_of(calls), strict=True))
        ),
        *(
            Happened(None if call is None else calls[call].start_ns, 3, load, at, (subject.kind, subject.ref))
            for at, (load, subject, call) in enumerate(
                zip(loads, subjects_of(loads), loading_calls(trajectory), strict=True)
            )
        ),
        *(Happened(one.time_ns or None, 4, one, at) for at, one in enumerate(trajectory.failures)),
        Happened(trajectory.ended_ns or None, 5, None),
    ]
    return sorted(found, key=lambda one: (one.at_ns is None, one.at_ns or 0, one.order))


def agents_of(trajectory: Trajectory) -> Agents:
    """Telemetry may say that an agent is above itself: then it is as deep as the others on its round."""
    parents = {agent.id: agent.parent for agent in trajectory.agents}
    names = {agent.id: agent.name for agent in trajectory.agents}

    def depth(agent: str) -> int:
        steps, seen = 0, {agent}
        while (above := parents.get(agent)) is not None and above not in seen:
            seen.add(above)
            agent, steps = above, steps + 1
        return steps

    depths = {agent: depth(agent) for agent in parents}
    return Agents(depths, names)


def entries(
    trajectory: Trajectory, happened: Sequence[Happened], texts: Texts, trace_url: str | None
) -> Iterator[Entry]:
    """Of these happenings."""
    agents = agents_of(trajectory)
    for one in happened:
        known = one.at_ns is not None and trajectory.started_ns
        offset = f"+{duration(max(0, (one.at_ns or 0) - trajectory.started_ns))}" if known else ""
        shown, anchor, agent = _of(one, trajectory, texts)
        yield _entry(shown, offset, _who(agent, agents, texts), anchor, trace_url)


@dataclass(frozen=True, slots=True)
class _Shown:
    kind: str
    kind_title: str
    title: str
    tone: Tone = "none"
    word: str = ""
    facts: tuple[str, ...] = ()
    said: Piece | None = None
    details: tuple[tuple[str, Piece], ...] = ()


def _of(one: Happened, trajectory: Trajectory, texts: Texts) -> tuple[_Shown, Anchor | None, str]:
    """What is shown, where it was read, and the id of the agent that did it."""
    match one.item:
        case Prompt() as prompt:
            return _prompt(prompt, one.number, texts), prompt.anchor, ROOT_AGENT
        case Step() as step:
            return _step(step, one.number, texts), step.anchor, step.agent
        case ToolCall() as call:
            return _call(call, one.number, texts), call.anchor, call.agent
        case SkillInvocation() as load:
            return _load(load, one.number, texts), load.anchor, load.agent
        case Failure() as failure:
            return _failure(failure, one.number, texts), failure.anchor, failure.agent
        case None:
            said = texts.piece(trajectory.answer, "answer")
            return _Shown("answer", "Answer", "", said=said), trajectory.answer_anchor, ROOT_AGENT


def _entry(shown: _Shown, offset: str, who: tuple[str, int], anchor: Anchor | None, trace_url: str | None) -> Entry:
    agent, depth = who
    return Entry(
        shown.kind,
        shown.kind_title,
        offset,
        shown.title,
        shown.tone,
        shown.word,
        shown.facts,
        agent,
        depth,
        shown.said,
        shown.details,
        trace_link(trace_url, anchor),
        (anchor.span_id if anchor else None) or "",
    )


def _who(agent: str, agents: Agents, texts: Texts) -> tuple[str, int]:
    """Name and depth. An agent that telemetry does not place is below the root."""
    if agent == ROOT_AGENT:
        return "", 0
    depth = min(max(1, agents.depths.get(agent, 1)), _DEEPEST)
    return texts.name(agents.names.get(agent) or agent, 60), depth


def _prompt(prompt: Prompt, at: int, texts: Texts) -> _Shown:
    return _Shown("person", "Person", f"Turn {at + 1}", said=texts.piece(prompt.text, f"prompt.{at}.text"))


def _step(step: Step, at: int, texts: Texts) -> _Shown:
    model = step.model_answered or step.model_requested
    facts = [_tokens(step), duration(step.end_ns - step.start_ns)]
    if step.finish_reason:
        facts.append(f"finish reason {texts.name(step.finish_reason, 40)}")
    asked = f"asked for {len(step.call_ids)} tool call{'s' if len(step.call_ids) != 1 else ''}" if step.call_ids else ""
    said = None if step.text == "" and asked else texts.piece(step.text, f"step.{at}.text")
    title = "model not recorded" if model is None else texts.name(model, 80)
    facts += [asked] if asked else []
    if step.error is None:
        return _Shown("model", "Model", title, facts=tuple(facts), said=said)
    error = (("error", texts.piece(step.error, f"step.{at}.error")),)
    return _Shown("model", "Model", title, "bad", "failed", tuple(facts), said if step.text else None, error)


def _call(call: ToolCall, at: int, texts: Texts) -> _Shown:
    took = "time not recorded"
    if call.start_ns is not None and call.end_ns is not None:
        took = duration(call.end_ns - call.start_ns)
    details = [("arguments", texts.piece(masked_arguments(call, texts), f"call.{at}.arguments"))]
    failed = call.outcome in {CallOutcome.FAILED, CallOutcome.REFUSED}
    if call.error is not None or (failed and call.result is None):
        details.append(("error", texts.piece(call.error, f"call.{at}.error")))
    if call.result is not None or not failed:
        details.append(("result", texts.piece(call.result, f"call.{at}.result")))
    tone = _CALL_TONES[call.outcome]
    return _Shown("tool", "Tool", texts.name(call.name), tone, str(call.outcome), (took,), details=tuple(details))


def masked_arguments(call: ToolCall, texts: Texts) -> str | None:
    """As JSON, with the values of secret fields masked while it can still be told which they are."""
    if call.arguments is None:
        return call.arguments_text
    return _indented(texts.redaction.value(call.arguments))


def _indented(value: object) -> str:
    """JSON for people: on one line where that is short."""
    line = json_text(cast("Value", value))
    if len(line) <= _ONE_LINE:
        return line
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # what JSON cannot hold; `json_text` has an answer to that
        return line


def _load(load: SkillInvocation, at: int, texts: Texts) -> _Shown:
    how = {LoadedBy.TOOL: "", LoadedBy.FILE: "by reading its file", LoadedBy.USER: "by the person"}[load.loaded_by]
    name = "skill name not recorded" if load.name is None else texts.name(load.name)
    details: list[tuple[str, Piece]] = []
    if load.outcome is LoadOutcome.REFUSED:
        details.append(("refusal", texts.piece(load.refusal, f"load.{at}.refusal")))
    else:
        details.append(("body", texts.piece(load.body, f"load.{at}.body", 300)))
        details.append(("body hash", Piece(load.body_hash)))
    facts = (how,) if how else ()
    return _Shown("skill", "Skill", name, _LOAD_TONES[load.outcome], str(load.outcome), facts, details=tuple(details))


def _failure(failure: Failure, at: int, texts: Texts) -> _Shown:
    said = texts.piece(failure.message, f"failure.{at}.message")
    return _Shown("error", "Error", texts.name(failure.kind), "bad", said=said)


def _tokens(step: Step) -> str:
    if step.input_tokens is None and step.output_tokens is None:
        return "tokens not recorded"
    taken, given = ("?" if tokens is None else f"{tokens:,}" for tokens in (step.input_tokens, step.output_tokens))
    return f"{taken} tokens in, {given} out"
