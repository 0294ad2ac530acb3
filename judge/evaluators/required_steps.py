"""Did the agent do what the suite requires, and in the required order where the order matters?

Scale: the share of required steps that were carried out, in order where `ordered`. Labels: `followed` (all),
`out_of_order` (all, but not in order), `incomplete` (some are missing). A refused or failed call is no step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from extractors.trajectory import Trajectory
from judge.describe import listed
from judge.evaluators.cases import case_verdicts
from judge.events import Done, is_step, rule_text, things_done
from judge.suites import Case, Event
from judge.verdict import NotJudged, Outcome, Score, Verdict


class RequiredSteps:
    """Each required step needs an event of its own: a step written twice must happen twice."""

    id = "required_steps"
    version = "2"

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Verdict]:
        return case_verdicts(self, trajectory, cases, _outcome, "no case requires steps")


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is missing, and how many steps can be found in order, under one guess about what was not recorded."""

    missing: tuple[int, ...]
    in_order: int


def _outcome(trajectory: Trajectory, case: Case) -> Outcome | None:
    rules = case.required_steps
    if not rules:
        return None
    done = things_done(trajectory)
    # Where the telemetry does not say, read it once against the agent and once for it.
    strict, generous = (_score(rules, done, case.ordered, unknown) for unknown in (False, True))
    if strict == generous:
        return Score(*strict)
    value, label, text = generous
    if label != "followed":
        return Score(value, label, f"{text} (taking what was not recorded in the agent's favour)")
    return NotJudged("content_not_recorded", f"arguments, names or order were not recorded; without them: {strict[2]}")


def _score(rules: Sequence[Event], done: Sequence[Done], ordered: bool, unknown: bool) -> tuple[float, str, str]:
    reading = _read(rules, done, unknown)
    count = len(rules)
    if reading.missing:
        names = listed([rule_text(rules[index]) for index in reading.missing])
        found = min(count - len(reading.missing), reading.in_order if ordered else count)
        return found / count, "incomplete", f"missing {len(reading.missing)} of {count} required steps: {names}"
    if ordered and reading.in_order < count:
        order = ", then ".join(rule_text(rule) for rule in rules)
        text = f"all required steps were done, {reading.in_order} of {count} in the required order: {order}"
        return reading.in_order / count, "out_of_order", text
    return 1.0, "followed", f"all {count} required steps were done{' in order' if ordered else ''}"


def _read(rules: Sequence[Event], done: Sequence[Done], unknown: bool) -> _Reading:
    fits = [[_taken(is_step(rule, event), unknown) for event in done] for rule in rules]
    placed = [
        # A thing without a known place counts in the generous reading as standing wherever it is needed.
        [fit and event.position is not None for fit, event in zip(row, done, strict=True)]
        for row in fits
    ]
    free = [unknown and any(f and e.position is None for f, e in zip(row, done, strict=True)) for row in fits]
    return _Reading(_unmatched(fits), _longest_in_order(placed, free))


def _taken(answer: bool | None, unknown: bool) -> bool:
    return unknown if answer is None else answer


def _unmatched(fits: Sequence[Sequence[bool]]) -> tuple[int, ...]:
    """Rules left without an event of their own in a largest matching (augmenting paths)."""
    owner: dict[int, int] = {}

    def place(rule: int, tried: set[int]) -> bool:
        for event, fit in enumerate(fits[rule]):
            if fit and event not in tried:
                tried.add(event)
                if event not in owner or place(owner[event], tried):
                    owner[event] = rule
                    return True
        return False

    return tuple(rule for rule in range(len(fits)) if not place(rule, set()))


def _longest_in_order(fits: Sequence[Sequence[bool]], free: Sequence[bool]) -> int:
    """The most rules that can be given events in order (longest common subsequence); `free` rules fit anywhere."""
    events = len(fits[0]) if fits else 0
    best = [0] * (events + 1)
    for row, anywhere in zip(fits, free, strict=True):
        before = best
        best = [before[0] + anywhere]
        for event, fit in enumerate(row):
            best.append(max(before[event] + fit, before[event + 1] + anywhere, best[event]))
    return best[-1]
