"""What an agent did that a suite can name: calls and skill loads in the order in which they happened.

Questions about them are answered yes, no or None: None means that the telemetry does not say.
"""

from __future__ import annotations

from dataclasses import dataclass

from extractors.attributes import as_text
from extractors.coverage import hides_reads
from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.spans import Value
from extractors.trajectory import CallOutcome, ToolCall, Trajectory
from judge.describe import arguments_text, call_text, skill_text
from judge.globs import matches
from judge.origins import loading_calls
from judge.suites import ArgumentRule, Event, same_skill


@dataclass(frozen=True, slots=True)
class Done:
    """One thing that happened. `position` orders things within the session; None when its place is not known."""

    what: ToolCall | SkillInvocation
    position: int | None

    @property
    def text(self) -> str:
        return call_text(self.what) if isinstance(self.what, ToolCall) else f"skill {skill_text(self.what)}"


def things_done(trajectory: Trajectory) -> tuple[Done, ...]:
    """Every call and skill load, in order; those without a known place come last.

    A skill load has no time of its own: it stands where the call it came from stands. What the person loaded
    before the agent's first call has no call, and no known place.
    """
    done = [Done(call, at) for at, call in enumerate(trajectory.tool_calls)]
    done += [Done(*one) for one in zip(trajectory.skill_invocations, loading_calls(trajectory), strict=True)]
    return tuple(sorted(done, key=lambda thing: (thing.position is None, thing.position or 0)))


def is_step(rule: Event, done: Done) -> bool | None:
    """Whether this is the required step, carried out: a call that did not fail, a skill that was loaded."""
    match done.what:
        case ToolCall() as call if rule.tool is not None:
            if call.outcome in {CallOutcome.FAILED, CallOutcome.REFUSED}:
                return False
            return call_fits(rule.tool, rule.arguments, call)
        case SkillInvocation() as load if rule.skill is not None:
            named = skill_fits(rule.skill, load)
            if load.outcome is LoadOutcome.UNANSWERED and named is not False:
                return None
            return named and load.outcome is LoadOutcome.LOADED
        case ToolCall() as call if call.outcome is not CallOutcome.FAILED and hides_reads([call]):
            return None  # it may have read the skill's file
    return False


def skill_fits(name: str, load: SkillInvocation) -> bool | None:
    """Whether the load asked for this skill, whatever came of it; None when the name was not recorded."""
    return None if load.name is None else same_skill(name, load.name)


def call_fits(tool: str, rule: ArgumentRule | None, call: ToolCall) -> bool | None:
    """Whether the call is of a tool that fits the pattern, with arguments that fit the rule."""
    if not matches(tool, call.name):
        return False
    match rule:
        case None:
            return True
        case str():
            text = arguments_text(call)
            if text is None:
                return None
            # Text that could not be read as an object was probably cut: what is not in it may have followed.
            return matches(rule, text) or (False if call.arguments is not None else None)
        case _:
            arguments = call.arguments
            if arguments is None:
                return None
            return all(_argument_fits(wanted, arguments.get(key)) for key, wanted in rule.items())


def by_agent(load: SkillInvocation) -> bool:
    """Whether the agent chose the skill; a person can load one too."""
    return load.loaded_by is not LoadedBy.USER


def rule_text(rule: Event) -> str:
    """The required step as the suite has it."""
    if rule.skill is not None:
        return f"skill {rule.skill}"
    return f"{rule.tool} with {rule.arguments}" if rule.arguments is not None else str(rule.tool)


def _argument_fits(wanted: str | bool | float, value: Value) -> bool:
    if isinstance(wanted, str):
        text = as_text(value)
        return text is not None and matches(wanted, text)
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted
