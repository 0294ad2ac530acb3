"""Labels held against verdicts, by evaluator as it was, and the pass rates that follow from it (pure)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TypeAlias

from collector.labelling import people_say
from collector.store.labels import Counted, GivenLabel
from judge.calibration import Accuracy, Confusion, Estimate, Minimum, NoEstimate, accuracy
from judge.pass_rates import Part, Tally, corrected_rate
from judge.yardstick import Yardstick

Key: TypeAlias = tuple[str, str, str]
"""service, evaluator, agent version; "" for what was not recorded."""

_UNLABELLED = NoEstimate("not_enough_labels", "no labels")
UNKNOWN = Accuracy(_UNLABELLED, _UNLABELLED, _UNLABELLED, _UNLABELLED)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How one evaluator, as it was, compares with people. `disputed` verdicts have as many authors for as against,
    and count in nothing else."""

    yardstick: Yardstick
    tally: Tally
    confusion: Confusion
    accuracy: Accuracy
    authors: int = 0
    disputed: int = 0


@dataclass(frozen=True, slots=True)
class PassRate:
    """`tally.ratio` is the rate as counted; `labels` are those that the corrected rate rests on."""

    key: Key
    tally: Tally
    labels: int
    corrected: Estimate | NoEstimate


def calibrations(
    given: Sequence[GivenLabel],
    counts: Sequence[Counted],
    minimum: Minimum = Minimum(),  # noqa: B008 - frozen
) -> list[Calibration]:
    """One for each evaluator, as it was, that has a label or asks a model; by name, most verdicts first. `counts` are
    those of all stored verdicts, since labels may be on any of them."""
    tallies: dict[Yardstick, Tally] = {}
    for counted in counts:
        tallies[counted.yardstick] = tallies.get(counted.yardstick, Tally()) + counted.tally
    labelled: dict[Yardstick, list[GivenLabel]] = {}
    for one in given:
        labelled.setdefault(one.yardstick, []).append(one)
    wanted = {yardstick for yardstick in tallies if yardstick.model is not None} | labelled.keys()
    found = [
        _calibration(yardstick, labelled.get(yardstick, []), tallies.get(yardstick, Tally()), minimum)
        for yardstick in wanted
    ]
    return sorted(found, key=lambda one: (one.yardstick.evaluator, -one.tally.verdicts, str(one.yardstick)))


def _calibration(yardstick: Yardstick, given: Sequence[GivenLabel], tally: Tally, minimum: Minimum) -> Calibration:
    by_verdict: dict[str, list[GivenLabel]] = {}
    for one in given:
        by_verdict.setdefault(one.label.verdict_id, []).append(one)
    confusion, disputed = Confusion(), 0
    for ones in by_verdict.values():
        truly = people_say([one.label for one in ones])
        if truly is None:
            disputed += 1
        else:
            confusion = confusion.counting(passed=ones[0].passed, right=ones[0].passed == truly)
    return Calibration(
        yardstick,
        tally,
        confusion,
        accuracy(confusion, tally.passed, tally.failed, minimum) if given else UNKNOWN,
        authors=len({one.label.author for one in given}),
        disputed=disputed,
    )


def plain_key(counted: Counted) -> Key:
    return counted.service or "", counted.yardstick.evaluator, counted.agent_version or ""


def pass_rates(
    counts: Sequence[Counted], known: Sequence[Calibration], key: Callable[[Counted], Key] = plain_key
) -> list[PassRate]:
    """The rates of `counts`, which may be of a shorter time than what `known` was made of; by key. Counts of one key
    are taken together."""
    accuracies = {one.yardstick: one for one in known}
    by_key: dict[Key, list[Counted]] = {}
    for counted in counts:
        by_key.setdefault(key(counted), []).append(counted)
    return [_rate(one, by_key[one], accuracies) for one in sorted(by_key)]


def _rate(key: Key, counts: Sequence[Counted], known: Mapping[Yardstick, Calibration]) -> PassRate:
    tallies: dict[Yardstick, Tally] = {}
    for counted in counts:
        tallies[counted.yardstick] = tallies.get(counted.yardstick, Tally()) + counted.tally
    behind = [known[yardstick] for yardstick in tallies if yardstick in known]
    accuracies = {one.yardstick: one.accuracy for one in behind}
    parts = [Part(tally, accuracies.get(yardstick, UNKNOWN)) for yardstick, tally in tallies.items()]
    labels = sum(one.confusion.labels for one in behind)
    return PassRate(key, reduce(add, tallies.values()), labels, corrected_rate(parts))
