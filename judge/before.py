"""What an agent knew when it made a call: the session cut off there, for questions that hindsight would spoil."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.trajectory import CallOutcome, Failure, Prompt, Step, ToolCall, Trajectory
from judge.origins import asking_turns, loading_calls
from judge.transcript import in_order


def known_before(trajectory: Trajectory, call: ToolCall) -> Trajectory:
    """The session up to the call, which must be one of its calls and is itself left out.

    Results that arrived only after the call began are taken out too (calls made side by side, a sub-agent's caller):
    they read as unanswered. So is the answer. The model turn that asked for the call stays, since its text was
    written before.
    """
    entries = in_order(trajectory)
    place = next(at for at, entry in enumerate(entries) if entry is call)
    asked_by = {id(one): turn for one, turn in zip(trajectory.tool_calls, asking_turns(trajectory), strict=True)}
    asking = asked_by[id(call)]
    earlier = entries[:place]
    known = {
        id(entry): _as_known(entry, call, beside=asking is not None and asked_by[id(entry)] is asking)
        for entry in earlier
        if isinstance(entry, ToolCall)
    }
    steps = tuple(entry for entry in earlier if isinstance(entry, Step) and _was_over(entry, call, asking))
    return replace(
        trajectory,
        prompts=tuple(entry for entry in earlier if isinstance(entry, Prompt)),
        steps=steps,
        tool_calls=tuple(known.values()),
        failures=tuple(entry for entry in earlier if isinstance(entry, Failure)),
        skill_invocations=tuple(_known_loads(trajectory, known)),
        answer=None,
        answer_anchor=None,
    )


def _was_over(step: Step, call: ToolCall, asking: Step | None) -> bool:
    return step is asking or call.start_ns is None or step.end_ns <= call.start_ns


def _as_known(earlier: ToolCall, call: ToolCall, *, beside: bool) -> ToolCall:
    """`beside`: the same turn asked for both."""
    later = earlier.end_ns is not None and call.start_ns is not None and earlier.end_ns > call.start_ns
    if not (beside or later):
        return earlier
    return replace(earlier, outcome=CallOutcome.UNANSWERED, result=None, error=None)


def _known_loads(trajectory: Trajectory, known: Mapping[int, ToolCall]) -> Iterator[SkillInvocation]:
    """Without loads that came later, or whose place is not known: a person's loads come before the agent acts."""
    for load, at in zip(trajectory.skill_invocations, loading_calls(trajectory), strict=True):
        call = known.get(id(trajectory.tool_calls[at])) if at is not None else None
        if call is None:
            if load.loaded_by is LoadedBy.USER:
                yield load
        elif call.outcome is CallOutcome.UNANSWERED and load.outcome is not LoadOutcome.UNANSWERED:
            yield replace(load, outcome=LoadOutcome.UNANSWERED, refusal=None, body=None, body_hash=None)
        else:
            yield load
