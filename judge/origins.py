"""Where things came from: the model turn that asked for a call, the call that a skill load came from.

Ids tell, unless a model numbers its calls anew in every turn; then times and places do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from extractors.trajectory import Step, ToolCall, Trajectory


def asking_turns(trajectory: Trajectory) -> tuple[Step | None, ...]:
    """For each call the turn of the same agent that asked for it; None where that was not recorded."""
    turns: defaultdict[tuple[str, str], list[Step]] = defaultdict(list)
    for step in trajectory.steps:
        for call_id in dict.fromkeys(step.call_ids):
            turns[call_id, step.agent].append(step)
    later: defaultdict[tuple[str, str], int] = defaultdict(int)
    found: list[Step | None] = []
    for call in reversed(trajectory.tool_calls):
        key = (call.call_id or "", call.agent)
        found.append(_asked(call, turns.get(key, ()), later[key]))
        later[key] += 1
    return tuple(reversed(found))


def _asked(call: ToolCall, turns: Sequence[Step], later: int) -> Step | None:
    """Of several turns the last that had begun; without a time, the turn after which as many are left as there are
    `later` calls of the id."""
    if len(turns) < 2:
        return turns[0] if turns else None
    if call.start_ns is None:
        return turns[max(0, len(turns) - 1 - later)]
    begun = [step for step in turns if step.start_ns <= call.start_ns]
    return begun[-1] if begun else turns[0]


def loading_calls(trajectory: Trajectory) -> tuple[int | None, ...]:
    """For each skill load the index of the call that it came from; None where no call did, as for what the person
    loaded."""
    by_id: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    by_anchor: dict[object, int] = {}
    calls = trajectory.tool_calls
    for at, call in enumerate(calls):
        by_anchor.setdefault(call.anchor, at)
        if call.call_id is not None:
            by_id[call.call_id, call.agent].append(at)
    found: list[int | None] = []
    for load in trajectory.skill_invocations:
        named = by_id.get((load.call_id, load.agent), ()) if load.call_id is not None else ()
        here = (at for at in named if calls[at].anchor == load.anchor)
        found.append(next(here, named[0] if named else by_anchor.get(load.anchor)))
    return tuple(found)
