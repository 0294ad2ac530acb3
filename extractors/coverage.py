"""Which signals a trajectory holds: how much of what happened was recorded, and which settings record more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from extractors.skill_files import may_read
from extractors.skills import LoadOutcome
from extractors.trajectory import ROOT_AGENT, CallOutcome, ToolCall, Trajectory


class Signal(StrEnum):
    """What telemetry may tell of a session; the value is what people call it."""

    PROMPTS = "prompts"
    CATALOG = "skills offered"
    LOADS = "skill loads"
    REFUSALS = "refusal texts"
    BODIES = "skill texts"
    ARGUMENTS = "tool arguments"
    RESULTS = "tool results"
    ERRORS = "tool errors"
    TIMES = "tool times"
    TURNS = "model turns"
    TEXTS = "texts of model turns"
    TOKENS = "tokens"
    ANSWER = "answer"
    MODELS = "models"
    HARNESS_VERSION = "harness version"
    SYSTEM_PROMPT = "system prompt"
    DEFINITIONS = "tool definitions"
    SUB_AGENTS = "sub-agents"


class Level(StrEnum):
    """How far a signal is known."""

    RECORDED = "recorded"
    PARTLY = "partly"
    NOT_RECORDED = "not recorded"
    NOT_SEEN = "-"
    """nothing happened that could have been recorded"""


@dataclass(frozen=True, slots=True)
class Tally:
    """`known` of the `of` occasions at which a signal could have been recorded."""

    known: int = 0
    of: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.known + other.known, self.of + other.of)

    @property
    def level(self) -> Level:
        if not self.of:
            return Level.NOT_SEEN
        if not self.known:
            return Level.NOT_RECORDED
        return Level.RECORDED if self.known >= self.of else Level.PARTLY


@dataclass(frozen=True, slots=True)
class Setting:
    """What to set on a harness to know more. `how` is the setting as one writes it, with where it goes if that is not
    the environment; None says that no setting records these signals. `remark` is a sentence on what else it does."""

    signals: tuple[Signal, ...]
    how: str | None
    remark: str = ""


CONTENT: Final = (
    Signal.PROMPTS,
    Signal.CATALOG,
    Signal.LOADS,
    Signal.REFUSALS,
    Signal.BODIES,
    Signal.ARGUMENTS,
    Signal.RESULTS,
    Signal.ERRORS,
    Signal.TEXTS,
    Signal.ANSWER,
    Signal.SYSTEM_PROMPT,
    Signal.DEFINITIONS,
)
"""What one switch for content usually covers."""

Coverage: TypeAlias = Mapping[Signal, Tally]


def coverage(trajectory: Trajectory) -> Coverage:
    """A tally of every signal. A session in which nothing happened has no occasion for any."""
    loads, calls, steps, versions = (
        trajectory.skill_invocations,
        trajectory.tool_calls,
        trajectory.steps,
        trajectory.versions,
    )
    happened = bool(trajectory.prompts or steps or calls or loads or trajectory.answer)
    unfinished = bool(trajectory.failures) or any(call.outcome is CallOutcome.UNANSWERED for call in calls)
    refused = [load for load in loads if load.outcome is LoadOutcome.REFUSED]
    loaded = [load for load in loads if load.outcome is LoadOutcome.LOADED]
    ran = [call for call in calls if call.outcome is CallOutcome.OK]
    failed = [call for call in calls if call.outcome in {CallOutcome.FAILED, CallOutcome.REFUSED}]
    executed = [call for call in calls if call.outcome in {CallOutcome.OK, CallOutcome.FAILED}]
    sub_agents = sum(agent.id != ROOT_AGENT for agent in trajectory.agents)
    return {
        Signal.PROMPTS: _tally(prompt.text is not None for prompt in trajectory.prompts)
        if trajectory.prompts
        else _once(False, happened),
        Signal.CATALOG: _once(trajectory.offered_skills is not None, happened),
        Signal.LOADS: _tally(load.name is not None for load in loads) if loads else Tally(0, int(hides_reads(calls))),
        Signal.REFUSALS: _tally(load.refusal is not None for load in refused),
        Signal.BODIES: _tally(load.body is not None for load in loaded),
        Signal.ARGUMENTS: _tally(call.arguments is not None or call.arguments_text is not None for call in calls),
        Signal.RESULTS: _tally(call.result is not None for call in ran),
        Signal.ERRORS: _tally(call.error is not None or call.result is not None for call in failed),
        Signal.TIMES: _tally(call.start_ns is not None and call.end_ns is not None for call in executed),
        Signal.TURNS: _once(bool(steps), happened),
        Signal.TEXTS: _tally(step.text is not None for step in steps if step.error is None),
        Signal.TOKENS: _tally(
            step.input_tokens is not None and step.output_tokens is not None for step in steps if step.error is None
        ),
        Signal.ANSWER: _once(trajectory.answer is not None, happened and not (unfinished and not trajectory.answer)),
        Signal.MODELS: _once(bool(versions.models_requested or versions.models_answered), happened),
        Signal.HARNESS_VERSION: _once(versions.harness_version is not None, happened),
        Signal.SYSTEM_PROMPT: _once(versions.system_prompt_hash is not None, happened),
        Signal.DEFINITIONS: _once(trajectory.tool_definitions is not None, happened),
        Signal.SUB_AGENTS: Tally(sub_agents, sub_agents),
    }


def hides_reads(calls: Iterable[ToolCall]) -> bool:
    """Whether a call may have shown a SKILL.md without anybody being able to tell, for want of its arguments."""
    return any(
        call.arguments is None and call.arguments_text is None and may_read(call.name)
        for call in calls
        if call.outcome is not CallOutcome.REFUSED
    )


def beside(found: Coverage, whole: Coverage) -> Coverage:
    """The same session recorded in another way: that `found` shows no occasion for a signal is no excuse where `whole`
    does."""
    return {signal: Tally(tally.known, tally.of or whole[signal].of) for signal, tally in found.items()}


def together(coverages: Iterable[Coverage]) -> Coverage:
    """The tallies of several sessions, added up."""
    total = dict.fromkeys(Signal, Tally())
    for one in coverages:
        total = {signal: total[signal] + tally for signal, tally in one.items()}
    return total


def missing(trajectory: Trajectory) -> tuple[Signal, ...]:
    """Signals of which this session holds less than happened in it."""
    return tuple(signal for signal, tally in coverage(trajectory).items() if tally.known < tally.of)


def _tally(found: Iterable[bool]) -> Tally:
    answers = list(found)
    return Tally(sum(answers), len(answers))


def _once(known: bool, happened: bool) -> Tally:
    return Tally(int(known and happened), int(happened))
