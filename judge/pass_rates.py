"""Pass rates: as counted, and as they would be for all traffic without the evaluator's errors.

Verdicts of one session are not independent of each other, and sessions are kept with different probabilities: the
session is the unit of sampling. Sensitivity and specificity turn a share of verdicts that passed into an estimate of
the share that should have (Rogan and Gladen 1978), with the interval of Lang and Reiczigel (2014).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from judge.calibration import Accuracy, Estimate, NoEstimate, Z


@dataclass(frozen=True, slots=True)
class Tally:
    """Scored verdicts, summed over sessions, and so addable. Of each session: n verdicts, k of which passed, and the
    weight w, 1 / the probability that it was kept. `weighted` is the sum of w·n, `square_nk` that of w²·n·k."""

    sessions: int = 0
    verdicts: int = 0
    passed: int = 0
    weighted: float = 0.0
    weighted_passed: float = 0.0
    square_nn: float = 0.0
    square_nk: float = 0.0
    square_kk: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(mine + yours for mine, yours in zip(astuple(self), astuple(other), strict=True)))

    @property
    def failed(self) -> int:
        return self.verdicts - self.passed

    @property
    def ratio(self) -> float | None:
        """Share of verdicts that passed, as they were counted; None without verdicts."""
        return self.passed / self.verdicts if self.verdicts else None


def of_session(verdicts: int, passed: int, inclusion_probability: float) -> Tally:
    """The tally of one session."""
    weight = 1 / inclusion_probability
    n, k, square = verdicts, passed, weight * weight
    return Tally(1, n, k, weight * n, weight * k, square * n * n, square * n * k, square * k * k)


@dataclass(frozen=True, slots=True)
class Part:
    """Verdicts of one version of an evaluator, and how accurate that version is."""

    tally: Tally
    accuracy: Accuracy


def corrected_rate(parts: Sequence[Part]) -> Estimate | NoEstimate:
    """The pass rate of all traffic, corrected for errors of the evaluator and for sampling. Where several versions of
    it were at work, each is corrected by what is known of it, and counts by its share of the traffic; one of which
    too little is known leaves the whole unknown."""
    parts = [part for part in parts if part.tally.verdicts]
    if not parts:
        return NoEstimate("no_verdicts", "no verdict has a score")
    found = [_corrected(part) for part in parts]
    known = [each for each in found if isinstance(each, Estimate)]
    if len(known) < len(found):
        return next(each for each in found if isinstance(each, NoEstimate))
    whole = sum(part.tally.weighted for part in parts)
    shares = [part.tally.weighted / whole for part in parts]
    value = math.fsum(part * each.value for part, each in zip(shares, known, strict=True))
    # Each side's distance by itself (the square-and-add of Zou and Donner): these intervals are not symmetric.
    below = math.hypot(*(part * (each.value - each.low) for part, each in zip(shares, known, strict=True)))
    above = math.hypot(*(part * (each.high - each.value) for part, each in zip(shares, known, strict=True)))
    return Estimate(value, max(0.0, value - below), min(1.0, value + above), sum(each.n for each in known))


def weighted_share(tally: Tally) -> tuple[float, float]:
    """The share that passed, every session counted as often as it stands for others, and how many independent
    verdicts that is worth. There must be a verdict."""
    whole = tally.weighted
    value = tally.weighted_passed / whole
    spread = tally.square_kk - 2 * value * tally.square_nk + value * value * tally.square_nn
    variance = spread / whole**2 * tally.sessions / max(1, tally.sessions - 1)
    if tally.sessions > 1 and variance > 0 and 0 < value < 1:
        return value, min(value * (1 - value) / variance, float(tally.verdicts))
    return value, whole**2 / tally.square_nn  # Kish: all alike, and the spread tells nothing


def _corrected(part: Part) -> Estimate | NoEstimate:
    sensitivity, specificity = part.accuracy.sensitivity, part.accuracy.specificity
    if isinstance(sensitivity, NoEstimate):
        return sensitivity
    if isinstance(specificity, NoEstimate):
        return specificity
    if problem := _against_chance(sensitivity, specificity):
        return NoEstimate("no_better_than_chance", problem)
    return prevalence(*weighted_share(part.tally), sensitivity, specificity)


def _against_chance(sensitivity: Estimate, specificity: Estimate) -> str | None:
    """What speaks against a correction, None if nothing does: dividing by about 0 could give any number."""
    youden = sensitivity.value + specificity.value - 1
    # As far below as both may be at once, each by its own interval (square-and-add).
    lowest = youden - math.hypot(sensitivity.value - sensitivity.low, specificity.value - specificity.low)
    told = f"sensitivity {sensitivity.value:.2f}, specificity {specificity.value:.2f}"
    if youden <= 0:
        return f"the evaluator is no better than chance: {told}"
    return f"the labels do not show that the evaluator is better than chance: {told}" if lowest <= 0 else None


def prevalence(value: float, n: float, sensitivity: Estimate, specificity: Estimate) -> Estimate:
    """The true share behind an apparent one. The sum of sensitivity and specificity must be above 1."""
    point = (value + specificity.value - 1) / (sensitivity.value + specificity.value - 1)
    # Lang and Reiczigel, equations 6 to 17: each share is drawn to the middle a little before the delta method.
    n_se, n_sp, n_ap = sensitivity.n + 2, specificity.n + 2, n + Z * Z
    se = (sensitivity.n * sensitivity.value + 1) / n_se
    sp = (specificity.n * specificity.value + 1) / n_sp
    ap = (n * value + Z * Z / 2) / n_ap
    youden = se + sp - 1
    if youden <= 0:
        return Estimate(_ratio(point), 0.0, 1.0, n)
    middle = (ap + sp - 1) / youden
    of_se, of_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    shift = 2 * Z * Z * (middle * of_se - (1 - middle) * of_sp)
    variance = (ap * (1 - ap) / n_ap + middle**2 * of_se + (1 - middle) ** 2 * of_sp) / youden**2
    centre, reach = middle + shift, Z * math.sqrt(variance)
    point = _ratio(point)
    return Estimate(point, min(point, _ratio(centre - reach)), max(point, _ratio(centre + reach)), n)


def _ratio(value: float) -> float:
    return min(1.0, max(0.0, value))
