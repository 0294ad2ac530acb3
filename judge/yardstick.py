"""By what a verdict was measured. Scores of different yardsticks are not to be compared, or counted as one rate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from judge.composite import PARTS
from judge.describe import listed, plural
from judge.passing import COMPOSITE
from judge.significance import Count
from judge.verdict import Verdict

Rates = Mapping["Yardstick", Count]

BY_JUDGE = frozenset(name for source in PARTS.values() for name in source.by_judge)
"""Evaluators that ask, and that a composite is made of."""


@dataclass(frozen=True, slots=True)
class Yardstick:
    """An evaluator as it was. `model` is None where no model was asked."""

    evaluator: str
    version: str
    model: str | None = None
    prompt_version: str | None = None

    def __str__(self) -> str:
        prompt = f", prompt {self.prompt_version}" if self.prompt_version is not None else ""
        return f"version {self.version}{prompt}{f', judge {self.model}' if self.model is not None else ''}"


def yardstick_of(verdict: Verdict) -> Yardstick:
    return Yardstick(verdict.evaluator, verdict.evaluator_version, verdict.judge_model, verdict.prompt_version)


@dataclass(frozen=True, slots=True)
class Comparable:
    """`counts` by name of the rate: (baseline, current) of the same yardstick. `left_out` says, one line each, what is
    not compared and why."""

    counts: Mapping[str, tuple[Count, Count]]
    left_out: tuple[str, ...]


def comparable(baseline: Rates, current: Rates) -> Comparable:
    """Of two sets of rates what may be compared. Where an evaluator has several yardsticks on both sides, each makes a
    rate of its own."""
    counts: dict[str, tuple[Count, Count]] = {}
    left_out: list[str] = []
    for name in sorted({one.evaluator for one in (*baseline, *current)}):
        old, new = _of(baseline, name), _of(current, name)
        if name == COMPOSITE and (why := composites_differ(baseline, current)):
            left_out.append(f"{name}: not compared: {why}")
            continue
        common = [one for one in old if one in new]
        for one in common:
            counts[name if len(common) == 1 else f"{name} ({one})"] = (old[one], new[one])
        if why := _why_left_out(old, new):
            left_out.append(f"{name}: {why}")
    return Comparable(counts, tuple(left_out))


def composites_differ(baseline: Rates, current: Rates) -> str:
    """Why composites of the one are not to be compared with those of the other, "" when they may: they are made of what
    a judge found, and must be of the same judge."""
    old, new = ({one for one in rates if one.evaluator in BY_JUDGE} for rates in (baseline, current))
    if bool(old) != bool(new):
        side, other = ("the baseline", "now") if old else ("now", "the baseline")
        return f"a judge had a part in it {_in(side)}, and none {_in(other)}"
    both = {one.evaluator for one in old} & {one.evaluator for one in new}
    changed = sorted(name for name in both if _named(old, name) != _named(new, name))
    return f"{listed(changed)} had another yardstick" if changed else ""


def _why_left_out(old: Rates, new: Rates) -> str:
    if not new:
        return f"not compared: no score now, {_told(old)} in the baseline"
    if not old:
        return f"not compared: no score in the baseline, {_told(new)} now"
    only_old, only_new = ({one: count for one, count in a.items() if one not in b} for a, b in ((old, new), (new, old)))
    if not (only_old or only_new):
        return ""
    sides = ((only_old, "in the baseline"), (only_new, "now"))
    told = ", and ".join(f"{_told(rates)} {where}" for rates, where in sides if rates)
    return f"not compared: {told}" if len(only_old) == len(old) else f"left out {told}"


def _told(rates: Rates) -> str:
    """`12 sessions by version 1+v1, judge m`."""
    return listed([f"{plural(count.total, 'session')} by {one}" for one, count in rates.items()])


def _of(rates: Rates, evaluator: str) -> dict[Yardstick, Count]:
    return {one: count for one, count in rates.items() if one.evaluator == evaluator}


def _named(yardsticks: Iterable[Yardstick], evaluator: str) -> set[Yardstick]:
    return {one for one in yardsticks if one.evaluator == evaluator}


def _in(side: str) -> str:
    return side if side == "now" else f"in {side}"
