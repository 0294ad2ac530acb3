"""Did the agent get there without going in circles?

Value: the share of calls that were not repeats; over a budget, no more than budget / calls. Labels, the first that
holds: `loop` (the same one to four calls three times in a row), `over_budget`, `repeats` (calls identical to an
earlier one of the same agent), `efficient`. Detours, calls that no required step asked for, are told, not scored:
looking around is often right.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from extractors.trajectory import CallOutcome, ToolCall, Trajectory
from judge.describe import arguments_text, call_text, listed, plural
from judge.events import call_fits
from judge.suites import Budgets, Case
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, Verdict, whole_session

MAX_CYCLE = 4
TIMES = 3
"""A cycle is a loop when it comes this often in a row: twice may be a check."""


class StepEfficiency:
    """One verdict on every session, and one more for each case that limits its calls."""

    id = "step_efficiency"
    version = "1"

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Verdict]:
        calls = trajectory.tool_calls
        subject = whole_session(trajectory)
        if not calls and not any(_limits_calls(case.budgets) for case in cases):
            return [Verdict(self.id, self.version, subject, NotApplicable("no tool was called"))]
        general = [Verdict(self.id, self.version, subject, _outcome(calls, Budgets()))] if calls else []
        by_case = [
            Verdict(
                self.id,
                self.version,
                subject,
                _with_detours(_outcome(calls, case.budgets), calls, case),
                case=case.key,
                high_risk=case.high_risk,
            )
            for case in cases
            if _limits_calls(case.budgets)
        ]
        return [*general, *by_case]


def _limits_calls(budgets: Budgets) -> bool:
    return budgets.tool_calls is not None or budgets.repeated_calls is not None


@dataclass(frozen=True, slots=True)
class _Circles:
    """Calls that were made before, and the calls of the first loop (empty: none)."""

    repeats: tuple[ToolCall, ...]
    loop: tuple[ToolCall, ...]
    rounds: int = 0


def _outcome(calls: Sequence[ToolCall], budgets: Budgets) -> Outcome:
    # Arguments that were not recorded may all be different, or all the same: only if both readings come to the
    # same label can anybody say.
    different, same = (_score(calls, _circles(calls, unknown_alike), budgets) for unknown_alike in (False, True))
    if different.label == same.label:
        return different
    return NotJudged("content_not_recorded", "cannot tell repeated calls apart: their arguments were not recorded")


def _score(calls: Sequence[ToolCall], circles: _Circles, budgets: Budgets) -> Score:
    total, repeated = len(calls), len(circles.repeats)
    value = (total - repeated) / total if total else 1.0
    if circles.loop:
        names = listed([call_text(call) for call in circles.loop])
        return Score(value, "loop", f"{circles.rounds} times in a row: {names}")
    if budgets.tool_calls is not None and total > budgets.tool_calls:
        text = f"{plural(total, 'call')} where {budgets.tool_calls} are allowed{_repeats_text(circles)}"
        return Score(min(value, budgets.tool_calls / total), "over_budget", text)
    if budgets.repeated_calls is not None:
        if repeated > budgets.repeated_calls:
            text = f"{plural(repeated, 'repeated call')} where {budgets.repeated_calls} are allowed"
            return Score(value, "over_budget", f"{text}{_repeats_text(circles)}")
        return Score(1.0, "efficient", f"{plural(total, 'call')}, {repeated} repeated, within budget")
    if repeated:
        return Score(value, "repeats", f"{repeated} of {plural(total, 'call')} repeated{_repeats_text(circles)}")
    return Score(1.0, "efficient", f"{plural(total, 'call')}, none repeated")


def _repeats_text(circles: _Circles) -> str:
    return f"; repeated: {listed([call_text(call) for call in circles.repeats])}" if circles.repeats else ""


def _circles(calls: Sequence[ToolCall], unknown_alike: bool) -> _Circles:
    seen: dict[Hashable, ToolCall] = {}
    repeats = []
    by_agent: dict[str, list[tuple[Hashable, ToolCall]]] = {}
    for index, call in enumerate(calls):
        key = _identity(call, index, unknown_alike)
        earlier = seen.get(key)
        # Trying once more after a failure is error recovery, and judged there.
        if earlier is not None and earlier.outcome is not CallOutcome.FAILED:
            repeats.append(call)
        seen[key] = call
        by_agent.setdefault(call.agent, []).append((key, call))
    for sequence in by_agent.values():
        if found := _first_loop([key for key, _ in sequence]):
            start, length, rounds = found
            return _Circles(tuple(repeats), tuple(call for _, call in sequence[start : start + length]), rounds)
    return _Circles(tuple(repeats), ())


def _identity(call: ToolCall, index: int, unknown_alike: bool) -> Hashable:
    """What makes two calls the same: agent, tool and arguments; results are often stamped with a time."""
    arguments = arguments_text(call)
    if arguments is None:
        return (call.agent, call.name, None if unknown_alike else index)
    return (call.agent, call.name, arguments)


def _first_loop(keys: Sequence[Hashable]) -> tuple[int, int, int] | None:
    """(start, length, rounds) of the earliest cycle that comes `TIMES` times or more in a row."""
    for start in range(len(keys)):
        for length in range(1, MAX_CYCLE + 1):
            rounds = _rounds(keys, start, length)
            if rounds >= TIMES:
                return start, length, rounds
    return None


def _rounds(keys: Sequence[Hashable], start: int, length: int) -> int:
    """How often the `length` keys from `start` on come one after the other."""
    end = start + length
    while end < len(keys) and keys[end] == keys[end - length]:
        end += 1
    return (end - start) // length


def _with_detours(outcome: Outcome, calls: Sequence[ToolCall], case: Case) -> Outcome:
    tools = [rule for rule in case.required_steps if rule.tool is not None]
    if not isinstance(outcome, Score) or not tools:
        return outcome
    detours = [
        call
        for call in calls
        if not any(rule.tool is not None and call_fits(rule.tool, rule.arguments, call) is not False for rule in tools)
    ]
    if not detours:
        return outcome
    text = f"{outcome.explanation}; beside the required steps: {listed([call.name for call in detours])}"
    return Score(outcome.value, outcome.label, text)
