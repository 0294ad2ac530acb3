"""Where two readings of one session differ, and whether somebody has said why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from tests.differential.readings import Reading

EXPLANATIONS = Path(__file__).parent / "explanations.yaml"


class Kind(StrEnum):
    """Who tells what the other does not."""

    ONLY_WE = "only we tell"
    ONLY_THEY = "only they tell"
    OTHERWISE = "told differently"


@dataclass(frozen=True, slots=True)
class Difference:
    """One signal of one fixture. `ours` and `theirs` are what the other does not tell, as JSON texts."""

    scenario: str
    signal: str
    kind: Kind
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why signals differ in one way in the fixtures whose names match one of `where`."""

    signals: tuple[str, ...]
    kind: Kind
    where: tuple[str, ...]
    why: str

    def covers(self, difference: Difference) -> bool:
        here = any(fnmatchcase(difference.scenario, pattern) for pattern in self.where)
        return here and difference.signal in self.signals and difference.kind is self.kind


def explanations(file: Path = EXPLANATIONS) -> list[Explanation]:
    """As reviewed. Raises ValueError on an entry that is not whole."""
    found = yaml.safe_load(file.read_text(encoding="utf-8"))
    return [_explanation(entry) for entry in found]


def _explanation(entry: Mapping[str, Any]) -> Explanation:
    if set(entry) != {"signals", "kind", "where", "why"} or not entry["why"].strip():
        raise ValueError(f"an explanation needs signals, kind, where and why: {dict(entry)}")
    return Explanation(
        tuple(entry["signals"]), Kind(entry["kind"]), tuple(entry["where"]), " ".join(entry["why"].split())
    )


def differences(ours: Mapping[str, Reading], theirs: Mapping[str, Reading]) -> list[Difference]:
    """Every difference, by fixture."""
    return [found for name in ours for found in between(name, ours[name], theirs[name])]


def between(scenario: str, ours: Reading, theirs: Reading) -> Iterator[Difference]:
    """The differences of one fixture. Details of loads and calls are compared where both tell of the load or call."""
    if "problem" in theirs:
        yield Difference(scenario, "session", Kind.ONLY_WE, (), (theirs["problem"],))
        return
    our_loads, their_loads = _shared(ours["loads"], theirs["loads"], "outcome")
    our_calls, their_calls = _shared(ours["calls"], theirs["calls"], "failed")
    for signal, mine, other in (
        ("catalog", ours["catalog"] or [], theirs["catalog"] or []),
        ("loads", _pick(ours["loads"], "outcome"), _pick(theirs["loads"], "outcome")),
        ("refusal texts", _pick(our_loads, "refusal"), _pick(their_loads, "refusal")),
        ("skill texts", _pick(our_loads, "body"), _pick(their_loads, "body")),
        ("calls", _pick(ours["calls"], "failed"), _pick(theirs["calls"], "failed")),
        ("arguments", _pick(our_calls, "arguments"), _pick(their_calls, "arguments")),
        ("results", _pick(our_calls, "result"), _pick(their_calls, "result")),
        ("prompts", _texts(ours["prompts"]), _texts(theirs["prompts"])),
        ("answer", _texts(ours["answers"][-1:]), _texts(theirs["answers"][-1:])),
    ):
        found = _compared(scenario, signal, mine, other)
        if found is not None:
            yield found


def _shared(ours: Sequence[Reading], theirs: Sequence[Reading], key: str) -> tuple[list[Reading], list[Reading]]:
    """Those of each side whose name has as many counterparts on the other, with the same `key`: only of those can one
    tell which is which."""
    mine, other = (Counter((one["name"], one[key]) for one in side) for side in (ours, theirs))
    odd = {name for name, _ in (mine - other) + (other - mine)}
    return [one for one in ours if one["name"] not in odd], [one for one in theirs if one["name"] not in odd]


def _pick(side: Sequence[Reading], key: str) -> list[object]:
    """(name, detail) pairs; what holds no detail tells nothing, hence is left out."""
    return [[one["name"], one[key]] for one in side if one[key] not in (None, "", {})]


def _texts(side: Iterable[str | None]) -> list[object]:
    return [text.strip() for text in side if text and text.strip()]


def _compared(scenario: str, signal: str, ours: Sequence[object], theirs: Sequence[object]) -> Difference | None:
    mine, other = (Counter(json.dumps(one, sort_keys=True) for one in side) for side in (ours, theirs))
    only_ours, only_theirs = tuple(sorted((mine - other).elements())), tuple(sorted((other - mine).elements()))
    if not only_ours and not only_theirs:
        return None
    kind = Kind.ONLY_WE if not only_theirs else Kind.ONLY_THEY if not only_ours else Kind.OTHERWISE
    return Difference(scenario, signal, kind, only_ours, only_theirs)


def unexplained(found: Iterable[Difference], reasons: Sequence[Explanation]) -> list[Difference]:
    """Differences that no explanation covers."""
    return [one for one in found if not any(reason.covers(one) for reason in reasons)]


def idle(found: Sequence[Difference], reasons: Iterable[Explanation]) -> list[str]:
    """What explanations claim and no difference shows any more: `signal, kind, pattern`. A pattern must hold for one of
    the signals, and a signal for one of the patterns."""
    gone = []
    for reason in reasons:
        parts = [replace(reason, where=(pattern,)) for pattern in reason.where]
        parts += [replace(reason, signals=(signal,)) for signal in reason.signals]
        gone += [part for part in parts if not any(part.covers(one) for one in found)]
    return [f"{', '.join(part.signals)}; {part.kind}; {', '.join(part.where)}" for part in gone]
