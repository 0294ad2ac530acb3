"""How far verdicts of one evaluator can be trusted, from what people said about some of them.

What is compared is pass or fail. Sensitivity is the share of what people pass that the evaluator passes, specificity
the share of what people fail that it fails. People label passes and failures at different rates, by design, so both
are weighted back to all verdicts after Begg and Greenes (1983): whether a verdict was labelled may depend on how it
turned out, and on nothing else. All intervals are at 95 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

CONFIDENCE = 0.95
Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)

Reason: TypeAlias = Literal["not_enough_labels", "no_better_than_chance", "no_verdicts"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval. `n` is how many independent observations it is worth, which for weighted ones is
    not how many there were."""

    value: float
    low: float
    high: float
    n: float


@dataclass(frozen=True, slots=True)
class NoEstimate:
    """Why there is no number. `detail` is for people."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Minimum:
    """Labels without which nothing is estimated: in all, and of what people pass and fail each."""

    labels: int = 30
    each: int = 10


@dataclass(frozen=True, slots=True)
class Confusion:
    """Labelled verdicts by what the evaluator said and whether people agree that it is so: `true_pass` passed, and
    people say so too; `false_pass` passed, and people say it failed."""

    true_pass: int = 0
    false_pass: int = 0
    false_fail: int = 0
    true_fail: int = 0

    @property
    def labels(self) -> int:
        return self.passed + self.failed

    @property
    def passed(self) -> int:
        """Labelled verdicts that the evaluator passed."""
        return self.true_pass + self.false_pass

    @property
    def failed(self) -> int:
        return self.false_fail + self.true_fail

    def counting(self, *, passed: bool, right: bool) -> Confusion:
        """With one more labelled verdict: what the evaluator said, and whether that is right."""
        return Confusion(
            self.true_pass + (passed and right),
            self.false_pass + (passed and not right),
            self.false_fail + (not passed and not right),
            self.true_fail + (not passed and right),
        )


@dataclass(frozen=True, slots=True)
class Accuracy:
    """`agreement` and `kappa` are those of the labelled verdicts, `sensitivity` and `specificity` those of all."""

    agreement: Estimate | NoEstimate
    kappa: Estimate | NoEstimate
    sensitivity: Estimate | NoEstimate
    specificity: Estimate | NoEstimate


def accuracy(found: Confusion, passed: int, failed: int, minimum: Minimum = Minimum()) -> Accuracy:
    """`passed` and `failed` count all verdicts that labels could have been given to, labelled or not."""
    if found.labels < minimum.labels:
        why = NoEstimate("not_enough_labels", f"{found.labels} of {minimum.labels} labels")
        return Accuracy(why, why, why, why)
    agreement = share(found.true_pass + found.true_fail, found.labels)
    # What was labelled and is not stored any more still was a verdict once.
    passed, failed = max(passed, found.passed), max(failed, found.failed)
    both = _not_labelled(found, passed, failed)
    people_pass, people_fail = found.true_pass + found.false_fail, found.false_pass + found.true_fail
    mirrored = Confusion(found.true_fail, found.false_fail, found.false_pass, found.true_pass)
    return Accuracy(
        agreement,
        _kappa(found),
        both or _too_few("pass", people_pass, minimum.each) or _recovered(found, passed, failed),
        both or _too_few("fail", people_fail, minimum.each) or _recovered(mirrored, failed, passed),
    )


def share(count: float, of: float) -> Estimate:
    """Wilson's interval, which is right for shares near 0 and 1 too. `of` must be above 0; neither need be whole."""
    from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]  # heavy

    low, high = proportion_confint(count, of, alpha=1 - CONFIDENCE, method="wilson")
    value = count / of
    # Rounding may leave the bound of a share of 0 or 1 a hair beyond it.
    return Estimate(value, min(value, max(0.0, float(low))), max(value, min(1.0, float(high))), of)


def _kappa(found: Confusion) -> Estimate | NoEstimate:
    """Cohen's kappa: agreement beyond what chance would bring, with the interval of Fleiss, Cohen and Everitt.

    That interval has no width where all agree, be it on 30 labels. There, its lower end is the kappa that Wilson's
    lower end of the agreement would be, with as many passes and failures.
    """
    from statsmodels.stats.inter_rater import cohens_kappa  # type: ignore[import-untyped]

    people_pass = found.true_pass + found.false_fail
    if found.passed in {0, found.labels} or people_pass in {0, found.labels}:
        return NoEstimate("not_enough_labels", "labelled verdicts all passed or all failed: chance would agree as well")
    table = [[found.true_pass, found.false_pass], [found.false_fail, found.true_fail]]
    result = cohens_kappa(table)  # its interval is at 95 % as well
    value = float(result.kappa)
    low, high = max(-1.0, float(result.kappa_low)), min(1.0, float(result.kappa_upp))
    if not (found.false_pass or found.false_fail):
        by_chance = (found.passed * people_pass + found.failed * (found.labels - people_pass)) / found.labels**2
        low = max(-1.0, (share(found.labels, found.labels).low - by_chance) / (1 - by_chance))
    return Estimate(value, min(value, low), max(value, high), found.labels)


def _not_labelled(found: Confusion, passed: int, failed: int) -> NoEstimate | None:
    """Without labels on one side nobody knows how many verdicts of that side are wrong."""
    for word, labelled, of in (("passed", found.passed, passed), ("failed", found.failed, failed)):
        if of and not labelled:
            return NoEstimate("not_enough_labels", f"no verdict that {word} was labelled, of {of}")
    return None


def _too_few(word: str, count: int, least: int) -> NoEstimate | None:
    if count >= least:
        return None
    return NoEstimate("not_enough_labels", f"people {word} {count} of the labelled verdicts; it takes {least}")


def _recovered(found: Confusion, passed: int, failed: int) -> Estimate:
    """Sensitivity. Its interval is Wilson's at the number of observations that has the variance of the weighted
    estimate, which is their plain number when every verdict was labelled."""
    if (found.passed, found.failed) == (passed, failed):
        return share(found.true_pass, found.true_pass + found.false_fail)
    right = passed * found.true_pass / found.passed if found.passed else 0.0
    missed = failed * found.false_fail / found.failed if found.failed else 0.0
    value = right / (right + missed)
    worth = _worth(found, passed, failed)
    return share(value * worth, worth)


def _worth(found: Confusion, passed: int, failed: int) -> float:
    """The delta method on the logit (Begg and Greenes, appendix). Where a count is 0 the logit has no variance, so
    half a verdict is added everywhere."""
    add = 0.0 if found.true_pass and found.false_pass and found.false_fail and found.true_fail else 0.5
    positive, negative = passed + add, failed + add
    labelled_positive, labelled_negative = found.passed + 2 * add, found.failed + 2 * add
    right, missed = found.true_pass + add, found.false_fail + add
    variance = (
        1 / positive + 1 / negative + 1 / right - 1 / labelled_positive + 1 / missed - 1 / labelled_negative
    )  # of the logit; 1/positive + 1/negative is 1 / (N τ (1 - τ))
    odds = (positive * right / labelled_positive) / (negative * missed / labelled_negative)
    spread = odds / (1 + odds) ** 2
    return 1 / (spread * variance)
