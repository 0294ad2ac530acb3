"""What is different between two trajectories of the same case: each difference a record of its own and a sentence.

Tool calls are set side by side by the longest sequence of tool names that both have in the same order. What that leaves
over is reordered where both sides have it, else added or removed. Latency counts past a tolerance only; what was not
recorded on one side is no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from extractors.attributes import json_text
from extractors.spans import Value
from extractors.trajectory import CallOutcome, ToolCall, Trajectory
from judge.alignment import align
from judge.describe import arguments_text, plural, shorten
from judge.globs import matches

MAX_CALLS = 1500
"""Calls of one trajectory that are compared; the time is the product of both."""

_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Slower by more than this share and by more than this many seconds counts as slower. `ignore` are patterns of
    `tool.argument` whose values differ by nature: ids, times."""

    latency_share: float = 0.25
    latency_s: float = 1.0
    ignore: tuple[str, ...] = ()


USUAL = Tolerance()


@dataclass(frozen=True, slots=True)
class ToolAdded:
    """A call that the baseline has not; `position` counts from 0 in the candidate."""

    tool: str
    position: int
    kind: Literal["tool_added"] = "tool_added"
    regression: bool = True

    def __str__(self) -> str:
        return f"calls {self.tool} as call {self.position + 1}, which the baseline does not"


@dataclass(frozen=True, slots=True)
class ToolRemoved:
    """A call of the baseline that is no longer made; `position` counts in the baseline."""

    tool: str
    position: int
    kind: Literal["tool_removed"] = "tool_removed"
    regression: bool = True

    def __str__(self) -> str:
        return f"no longer calls {self.tool}, which was call {self.position + 1} of the baseline"


@dataclass(frozen=True, slots=True)
class ToolReordered:
    """A call that both make, at another place among the others."""

    tool: str
    before: int
    after: int
    kind: Literal["tool_reordered"] = "tool_reordered"
    regression: bool = True

    def __str__(self) -> str:
        return f"calls {self.tool} as call {self.after + 1} instead of {self.before + 1}"


@dataclass(frozen=True, slots=True)
class ArgumentsChanged:
    """The same call with other arguments. `names` are those that differ; empty when they are not known one by one."""

    tool: str
    position: int
    names: tuple[str, ...]
    before: str
    after: str
    kind: Literal["arguments_changed"] = "arguments_changed"
    regression: bool = True

    def __str__(self) -> str:
        which = f" {', '.join(self.names)}" if self.names else ""
        return (
            f"calls {self.tool} (call {self.position + 1}) with other arguments{which}: "
            f"{shorten(self.before)} became {shorten(self.after)}"
        )


@dataclass(frozen=True, slots=True)
class StepDelta:
    """Another number of steps. `of` says which kind; fewer is no regression."""

    of: Literal["tool calls", "model turns"]
    before: int
    after: int
    kind: Literal["step_delta"] = "step_delta"

    @property
    def regression(self) -> bool:
        return self.after > self.before

    def __str__(self) -> str:
        return f"{self.after - self.before:+d} {self.of}: {self.before} became {self.after}"


@dataclass(frozen=True, slots=True)
class RecoveryLoops:
    """Another number of repeated tries of a tool after a failure of it; fewer is no regression."""

    tool: str
    before: int
    after: int
    kind: Literal["recovery_loops"] = "recovery_loops"

    @property
    def regression(self) -> bool:
        return self.after > self.before

    def __str__(self) -> str:
        return f"tries {self.tool} again after a failure {plural(self.after, 'time')}; it was {self.before}"


@dataclass(frozen=True, slots=True)
class LatencyDelta:
    """The session took noticeably longer or shorter, from first telemetry to last; shorter is no regression."""

    before_ns: int
    after_ns: int
    kind: Literal["latency_delta"] = "latency_delta"

    @property
    def regression(self) -> bool:
        return self.after_ns > self.before_ns

    def __str__(self) -> str:
        word = "longer" if self.regression else "shorter"
        difference = abs(self.after_ns - self.before_ns) / _SECOND_NS
        return f"took {difference:.1f} s {word}: {self.before_ns / 1e9:.1f} s became {self.after_ns / 1e9:.1f} s"


@dataclass(frozen=True, slots=True)
class NotCompared:
    """Calls at the end of long trajectories that were left out, counted."""

    before: int
    after: int
    kind: Literal["not_compared"] = "not_compared"
    regression: bool = False

    def __str__(self) -> str:
        return f"calls after the first {MAX_CALLS} were not compared: {self.before} of the baseline, {self.after} now"


Difference: TypeAlias = (
    ToolAdded | ToolRemoved | ToolReordered | ArgumentsChanged | StepDelta | RecoveryLoops | LatencyDelta | NotCompared
)


def differences(baseline: Trajectory, candidate: Trajectory, tolerance: Tolerance = USUAL) -> tuple[Difference, ...]:
    """Everything that is different, tools first. None of a trajectory and itself; turned round, what was added is
    removed and every count is the same."""
    old, new = baseline.tool_calls[:MAX_CALLS], candidate.tool_calls[:MAX_CALLS]
    return (
        *_calls(old, new, tolerance),
        *_left_out(baseline.tool_calls, candidate.tool_calls),
        *_deltas(baseline, candidate),
        *_loops(baseline.tool_calls, candidate.tool_calls),
        *_latency(baseline, candidate, tolerance),
    )


def _calls(old: Sequence[ToolCall], new: Sequence[ToolCall], tolerance: Tolerance) -> Iterator[Difference]:
    said = [_arguments(call, tolerance) for call in old], [_arguments(call, tolerance) for call in new]

    def alike(before: int, after: int) -> bool:
        one, other = said[0][before], said[1][after]
        return one is None or other is None or one == other

    pairs = align([call.name for call in old], [call.name for call in new], alike)
    left = _by_name(old, {before for before, _ in pairs})
    right = _by_name(new, {after for _, after in pairs})
    moved = [(name, *both) for name in left for both in zip(left[name], right.get(name, ()), strict=False)]
    for name, places in right.items():
        yield from (ToolAdded(name, place) for place in places[len(left.get(name, ())) :])
    for name, places in left.items():
        yield from (ToolRemoved(name, place) for place in places[len(right.get(name, ())) :])
    yield from (ToolReordered(name, before, after) for name, before, after in moved)
    # Of calls that moved, which belongs to which is a guess: their arguments are not compared.
    for before, after in pairs:
        if not alike(before, after):
            yield _changed(old[before], new[after], after, tolerance)


def _by_name(calls: Sequence[ToolCall], paired: set[int]) -> dict[str, list[int]]:
    """The places of the calls without a counterpart in order."""
    found: dict[str, list[int]] = {}
    for place, call in enumerate(calls):
        if place not in paired:
            found.setdefault(call.name, []).append(place)
    return found


def _arguments(call: ToolCall, tolerance: Tolerance) -> str | None:
    """What is compared of a call's arguments, as text; None: not recorded."""
    if call.arguments is None or not tolerance.ignore:
        return arguments_text(call)
    return json_text(_compared(call.name, call.arguments, tolerance))


def _compared(tool: str, arguments: Mapping[str, Value], tolerance: Tolerance) -> dict[str, Value]:
    return {
        name: value
        for name, value in arguments.items()
        if not any(matches(pattern, f"{tool}.{name}") for pattern in tolerance.ignore)
    }


def _changed(old: ToolCall, new: ToolCall, place: int, tolerance: Tolerance) -> ArgumentsChanged:
    before, after = _arguments(old, tolerance) or "", _arguments(new, tolerance) or ""
    names: tuple[str, ...] = ()
    if old.arguments is not None and new.arguments is not None:
        one, other = (_compared(call.name, call.arguments or {}, tolerance) for call in (old, new))
        absent = object()
        names = tuple(
            name for name in dict.fromkeys((*one, *other)) if one.get(name, absent) != other.get(name, absent)
        )
    return ArgumentsChanged(new.name, place, names, before, after)


def _left_out(old: Sequence[ToolCall], new: Sequence[ToolCall]) -> Iterator[NotCompared]:
    if max(len(old), len(new)) > MAX_CALLS and old != new:
        yield NotCompared(max(0, len(old) - MAX_CALLS), max(0, len(new) - MAX_CALLS))


def _deltas(baseline: Trajectory, candidate: Trajectory) -> Iterator[StepDelta]:
    if len(baseline.tool_calls) != len(candidate.tool_calls):
        yield StepDelta("tool calls", len(baseline.tool_calls), len(candidate.tool_calls))
    before, after = len(baseline.steps), len(candidate.steps)
    if before and after and before != after:  # without any, model turns were not recorded
        yield StepDelta("model turns", before, after)


def _loops(old: Sequence[ToolCall], new: Sequence[ToolCall]) -> Iterator[RecoveryLoops]:
    before, after = recovery_loops(old), recovery_loops(new)
    for tool in dict.fromkeys((*before, *after)):
        if before[tool] != after[tool]:
            yield RecoveryLoops(tool, before[tool], after[tool])


def recovery_loops(calls: Sequence[ToolCall]) -> Counter[str]:
    """How often each tool was called again after it failed, by the same agent and with no success of it between."""
    failing: set[tuple[str, str]] = set()
    again: Counter[str] = Counter()
    for call in calls:
        key = (call.agent, call.name)
        if key in failing:
            again[call.name] += 1
        if call.outcome is CallOutcome.FAILED:
            failing.add(key)
        elif call.outcome is not CallOutcome.REFUSED:
            failing.discard(key)
    return again


def _latency(baseline: Trajectory, candidate: Trajectory, tolerance: Tolerance) -> Iterator[LatencyDelta]:
    before, after = _took(baseline), _took(candidate)
    if before is None or after is None:
        return
    shorter, difference = min(before, after), abs(after - before)
    if difference > tolerance.latency_s * _SECOND_NS and difference > tolerance.latency_share * shorter:
        yield LatencyDelta(before, after)


def _took(trajectory: Trajectory) -> int | None:
    """Nanoseconds from the first telemetry to the last; None when times were not recorded."""
    known = 0 < trajectory.started_ns <= trajectory.ended_ns
    return trajectory.ended_ns - trajectory.started_ns if known else None
