"""What an agent knew when it made a call: the session cut off there, for questions that hindsight would spoil."""

from __future__ import annotations

from dataclasses import replace

from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.trajectory import CallOutcome, Failure, Prompt, Step, ToolCall, Trajectory
from judge.transcript import in_order


def known_before(trajectory: Trajectory, call: ToolCall) -> Trajectory:
    """The session up to the call, which must be one of its calls and is itself left out.

    Results that arrived only after the call began are taken out too (calls made side by side, a sub-agent's caller):
    they read as unanswered. So is the answer. The model turn that asked for the call stays, since its text was
    written before.
    """
    entries = in_order(trajectory)
    place = next(at for at, entry in enumerate(entries) if entry is call)
    asking = _asking_turn(trajectory, call)
    earlier = entries[:place]
    calls = tuple(_as_known(entry, call, asking) for entry in earlier if isinstance(entry, ToolCall))
    steps = tuple(entry for entry in earlier if isinstance(entry, Step) and _was_over(entry, call, asking))
    return replace(
        trajectory,
        prompts=tuple(entry for entry in earlier if isinstance(entry, Prompt)),
        steps=steps,
        tool_calls=calls,
        failures=tuple(entry for entry in earlier if isinstance(entry, Failure)),
        skill_invocations=tuple(
            known for load in trajectory.skill_invocations if (known := _load_as_known(load, calls)) is not None
        ),
        answer=None,
        answer_anchor=None,
    )


def _asking_turn(trajectory: Trajectory, call: ToolCall) -> Step | None:
    if call.call_id is None:
        return None
    turns = (step for step in trajectory.steps if call.call_id in step.call_ids and step.agent == call.agent)
    return next(turns, None)


def _was_over(step: Step, call: ToolCall, asking: Step | None) -> bool:
    return step is asking or call.start_ns is None or step.end_ns <= call.start_ns


def _as_known(earlier: ToolCall, call: ToolCall, asking: Step | None) -> ToolCall:
    beside = asking is not None and earlier.call_id is not None and earlier.call_id in asking.call_ids
    later = earlier.end_ns is not None and call.start_ns is not None and earlier.end_ns > call.start_ns
    if not (beside or later):
        return earlier
    return replace(earlier, outcome=CallOutcome.UNANSWERED, result=None, error=None)


def _load_as_known(load: SkillInvocation, calls: tuple[ToolCall, ...]) -> SkillInvocation | None:
    """None for a load that came later, or whose place is not known: a person's loads come before the agent acts."""
    for call in calls:
        mine = call.anchor == load.anchor if load.call_id is None else call.call_id == load.call_id
        if mine and call.agent == load.agent:
            if call.outcome is CallOutcome.UNANSWERED and load.outcome is not LoadOutcome.UNANSWERED:
                return replace(load, outcome=LoadOutcome.UNANSWERED, refusal=None, body=None, body_hash=None)
            return load
    return load if load.loaded_by is LoadedBy.USER else None
