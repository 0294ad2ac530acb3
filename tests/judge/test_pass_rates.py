"""Pass rates without the evaluator's errors, against worked examples that others have published."""

from __future__ import annotations

import math
import random
from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.calibration import Accuracy, Confusion, Estimate, NoEstimate, accuracy
from judge.pass_rates import Part, Tally, corrected_rate, of_session, prevalence, weighted_share

FEW = NoEstimate("not_enough_labels", "3 of 30 labels")
sessions = st.tuples(st.integers(1, 5), st.integers(0, 5), st.sampled_from([1.0, 0.5, 0.1])).map(
    lambda one: of_session(one[0], min(one[0], one[1]), one[2])
)


def known(value: float, n: float = 1e9) -> Estimate:
    return Estimate(value, value, value, n)


def of(sensitivity: Estimate | NoEstimate, specificity: Estimate | NoEstimate) -> Accuracy:
    return Accuracy(FEW, FEW, sensitivity, specificity)


def each(count: int, passed: int, probability: float = 1.0) -> Tally:
    """So many sessions of one verdict each."""
    return reduce(add, [of_session(1, int(number < passed), probability) for number in range(count)])


def number(found: Estimate | NoEstimate) -> Estimate:
    assert isinstance(found, Estimate), found
    return found


def test_a_rate_is_corrected_as_rogan_and_gladen_do() -> None:
    """The worked example of R package epiR, `epi.prev`, for Rogan and Gladen (1978), Estimating prevalence from the
    results of a screening test: 23 of 150 cows are positive to a test of sensitivity 0.96 and specificity 0.89; the
    true prevalence is 5.1 in 100, with an interval from 0 to 13."""
    found = number(corrected_rate([Part(each(150, 23), of(known(0.96), known(0.89)))]))
    assert round(100 * found.value, 1) == 5.1
    assert (round(100 * found.low), round(100 * found.high)) == (0, 13)


def test_the_interval_is_that_of_lang_and_reiczigel() -> None:
    """Lang and Reiczigel (2014), Confidence limits for prevalence of disease adjusted for estimated sensitivity and
    specificity, Preventive Veterinary Medicine 113, equations 6 to 17, worked through by hand with z = 1.96 for 40 of
    100, sensitivity 45 of 50, specificity 48 of 60.

    n' = 103.8416, p' = 0.40370, Se' = 46/52 = 0.88462, Sp' = 49/62 = 0.79032; P' = 0.19402 / 0.67494 = 0.28747;
    shift = 7.6832 (0.28747 * 0.0019629 - 0.71253 * 0.0026727) = -0.01030; variance = (0.0023182 + 0.0001622 +
    0.0013569) / 0.45554 = 0.0084235; 0.27717 -+ 1.96 * 0.091780.
    """
    found = prevalence(0.4, 100, Estimate(0.9, 0.78, 0.96, 50), Estimate(0.8, 0.68, 0.88, 60))
    assert math.isclose(found.value, (0.4 + 0.8 - 1) / (0.9 + 0.8 - 1))
    assert math.isclose(found.low, 0.0973, abs_tol=2e-4)
    assert math.isclose(found.high, 0.4571, abs_tol=2e-4)


def test_a_faultless_evaluator_is_taken_at_its_word() -> None:
    found = number(corrected_rate([Part(each(1000, 300), of(known(1.0), known(1.0)))]))
    assert math.isclose(found.value, 0.3)
    assert 0.27 < found.low < 0.3 < found.high < 0.33


def test_the_unsampled_part_of_traffic_counts() -> None:
    """A hundred sessions that were kept whole, and a hundred of which every tenth was."""
    tally = each(100, 50) + each(10, 10, probability=0.1)
    share, n = weighted_share(tally)
    assert share == 0.75
    assert 10 < n < 110, "ten sessions stand for half of the traffic"
    assert tally.ratio == 60 / 110


def test_verdicts_of_one_session_are_no_independent_observations() -> None:
    apart = weighted_share(each(100, 50))
    together = weighted_share(reduce(add, [of_session(10, 10 * (number % 2), 1.0) for number in range(10)]))
    assert apart[0] == together[0] == 0.5
    assert round(apart[1]) == 99
    assert together[1] < 10


@pytest.mark.parametrize(
    ("sensitivity", "specificity", "told"),
    [
        (known(0.5), known(0.5), "no better than chance: sensitivity 0.50, specificity 0.50"),
        (known(0.3), known(0.4), "no better than chance"),
        (Estimate(0.6, 0.4, 0.8, 20), Estimate(0.6, 0.4, 0.8, 20), "do not show that the evaluator is better"),
    ],
)
def test_an_evaluator_that_may_be_guessing_gives_no_rate(
    sensitivity: Estimate, specificity: Estimate, told: str
) -> None:
    found = corrected_rate([Part(each(100, 50), of(sensitivity, specificity))])
    assert isinstance(found, NoEstimate)
    assert found.reason == "no_better_than_chance"
    assert told in found.detail


def test_without_labels_there_is_no_rate() -> None:
    assert corrected_rate([Part(each(100, 50), of(FEW, known(1.0)))]) == FEW
    assert corrected_rate([Part(each(100, 50), of(known(1.0), FEW))]) == FEW


def test_without_verdicts_there_is_no_rate() -> None:
    found = corrected_rate([Part(Tally(), of(known(1.0), known(1.0)))])
    assert isinstance(found, NoEstimate)
    assert found.reason == "no_verdicts"
    assert Tally().ratio is None


def test_versions_are_corrected_each_by_itself_and_count_by_their_traffic() -> None:
    old = Part(each(300, 150), of(known(1.0), known(1.0)))
    new = Part(each(100, 50), of(known(1.0), known(0.8)))
    assert math.isclose(number(corrected_rate([old, new])).value, (300 * 0.5 + 100 * 0.375) / 400)
    assert corrected_rate([old, Part(each(1, 1), of(FEW, FEW))]) == FEW


@given(st.lists(sessions, min_size=1, max_size=20), st.floats(0.01, 1), st.floats(0.01, 1), st.integers(5, 500))
def test_a_rate_is_a_share_in_its_interval_whatever_came(
    found: list[Tally], sensitivity: float, specificity: float, n: int
) -> None:
    tally = reduce(add, found)
    rate = corrected_rate([Part(tally, of(known(sensitivity, n), known(specificity, n)))])
    if isinstance(rate, Estimate):
        assert 0 <= rate.low <= rate.value <= rate.high <= 1
    else:
        assert sensitivity + specificity <= 1


@given(st.lists(sessions, min_size=2, max_size=20), st.randoms(use_true_random=False))
def test_tallies_add_up_in_any_order(found: list[Tally], chance: random.Random) -> None:
    mixed = found.copy()
    chance.shuffle(mixed)
    assert math.isclose(weighted_share(reduce(add, found))[0], weighted_share(reduce(add, mixed))[0], abs_tol=1e-9)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """The whole way: verdicts with errors, as many labels of passes as of failures, 40 times over."""
    chance, held = random.Random(4), 0
    for _ in range(40):
        verdicts = [_verdict(chance, pass_rate=0.8, sensitivity=0.95, specificity=0.75) for _ in range(600)]
        labelled = [one for one in verdicts if one[0]][:60] + [one for one in verdicts if not one[0]][:60]
        confusion = Confusion()
        for passed, truly in labelled:
            confusion = confusion.counting(passed=passed, right=passed == truly)
        count = sum(one[0] for one in verdicts)
        known_well = accuracy(confusion, count, len(verdicts) - count)
        rate = number(corrected_rate([Part(each(len(verdicts), count), known_well)]))
        held += rate.low <= 0.8 <= rate.high
    assert held >= 36


def _verdict(chance: random.Random, *, pass_rate: float, sensitivity: float, specificity: float) -> tuple[bool, bool]:
    """(what the evaluator said, what is true)."""
    truly = chance.random() < pass_rate
    passed = chance.random() < (sensitivity if truly else 1 - specificity)
    return passed, truly
