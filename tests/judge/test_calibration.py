"""Accuracy from labels, against worked examples that others have published."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.calibration import Accuracy, Confusion, Estimate, Minimum, NoEstimate, accuracy, share

ANY = Minimum(0, 0)
counts = st.integers(0, 60)
confusions = st.builds(Confusion, counts, counts, counts, counts)


def number(found: Estimate | NoEstimate) -> Estimate:
    assert isinstance(found, Estimate), found
    return found


def why(found: Estimate | NoEstimate) -> str:
    assert isinstance(found, NoEstimate), found
    return f"{found.reason}: {found.detail}"


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_of_shares_are_wilson_s(count: int, of: int, low: float, high: float) -> None:
    """Newcombe (1998), Two-sided confidence intervals for the single proportion, Statistics in Medicine 17: table I,
    score method without continuity correction."""
    found = share(count, of)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@pytest.mark.parametrize(("confusion", "kappa"), [(Confusion(40, 9, 6, 45), 0.70), (Confusion(80, 10, 5, 5), 0.32)])
def test_kappa_tells_apart_what_agreement_cannot(confusion: Confusion, kappa: float) -> None:
    """Feinstein and Cicchetti (1990), High agreement but low kappa I, Journal of Clinical Epidemiology 43: both tables
    agree in 85 of 100."""
    found = accuracy(confusion, 0, 0)
    assert round(number(found.agreement).value, 2) == 0.85
    assert round(number(found.kappa).value, 2) == kappa


def test_kappa_of_two_clinicians() -> None:
    """Sim and Wright (2005), The kappa statistic in reliability studies, Physical Therapy 85: 39 patients, of whom
    both call 22 relevant and 11 not; kappa is 0.67."""
    found = number(accuracy(Confusion(22, 2, 4, 11), 0, 0).kappa)
    assert round(found.value, 2) == 0.67
    # Its standard error by hand, after Fleiss, Cohen and Everitt (1969): 0.124.
    assert math.isclose(found.high - found.low, 2 * 1.96 * 0.1238, abs_tol=0.002)


@pytest.mark.parametrize(
    ("table", "kappa"),
    [(Confusion(20, 5, 10, 15), 0.4), (Confusion(45, 15, 25, 15), 0.1304), (Confusion(25, 35, 5, 35), 0.2593)],
)
def test_kappa_of_the_usual_examples(table: Confusion, kappa: float) -> None:
    """The worked examples of the article "Cohen's kappa" in Wikipedia: 50 grant proposals; 100 with like agreement."""
    assert round(number(accuracy(table, 0, 0).kappa).value, 4) == kappa


def test_agreement_on_all_of_few_labels_is_no_certainty() -> None:
    """Wilson's lower end for 30 of 30 is 0.8865; chance would agree in 5/9, so kappa is at least 0.745."""
    found = number(accuracy(Confusion(true_pass=20, true_fail=10), 20, 10).kappa)
    assert (found.value, found.high) == (1.0, 1.0)
    assert math.isclose(found.low, 0.7446, abs_tol=1e-3)
    assert number(accuracy(Confusion(true_pass=2000, true_fail=1000), 2000, 1000).kappa).low > 0.99


def test_sensitivity_and_specificity_are_weighted_back_to_all_verdicts() -> None:
    """Begg and Greenes (1983), Assessment of diagnostic tests when disease verification is subject to selection bias,
    Biometrics 39, on the liver scans of Drum and Christacopoulos (1972): 429 of 650 were positive, 263 of those and 81
    of the others were verified. Sensitivity falls from 0.90 to 0.84 (0.79 to 0.88), specificity rises from 0.63 to
    0.74 (0.66 to 0.81)."""
    verified = Confusion(true_pass=231, false_pass=32, false_fail=27, true_fail=54)
    naive = accuracy(verified, 263, 81)
    assert round(number(naive.sensitivity).value, 2) == 0.90
    assert round(number(naive.specificity).value, 2) == 0.63
    found = accuracy(verified, 429, 221)
    sensitivity, specificity = number(found.sensitivity), number(found.specificity)
    assert [round(part, 2) for part in (sensitivity.value, sensitivity.high)] == [0.84, 0.88]
    assert [round(part, 2) for part in (specificity.value, specificity.low, specificity.high)] == [0.74, 0.66, 0.81]
    assert math.isclose(sensitivity.low, 0.79, abs_tol=0.0075), "a Wald interval there, Wilson's here"


def test_the_worked_example_of_the_documents() -> None:
    found = accuracy(Confusion(true_pass=45, false_pass=5, false_fail=10, true_fail=40), passed=800, failed=200)
    sensitivity, specificity = number(found.sensitivity), number(found.specificity)
    assert number(found.agreement).value == 0.85
    assert math.isclose(sensitivity.value, 720 / 760)
    assert math.isclose(specificity.value, 160 / 240)
    rate = (0.8 + specificity.value - 1) / (sensitivity.value + specificity.value - 1)
    assert math.isclose(rate, 0.76)


def test_when_every_verdict_is_labelled_the_intervals_are_those_of_plain_shares() -> None:
    found = accuracy(Confusion(40, 3, 7, 20), 43, 27)
    assert found.sensitivity == share(40, 47)
    assert found.specificity == share(20, 23)


def test_no_miss_among_few_labelled_failures_does_not_prove_that_there_is_none() -> None:
    found = number(accuracy(Confusion(50, 0, 0, 10), passed=100, failed=900).sensitivity)
    assert found.value == 1.0
    assert found.low < 0.5, "every tenth of 900 failures may still be wrong"


def test_labels_of_verdicts_that_are_not_stored_any_more_still_count() -> None:
    assert accuracy(Confusion(40, 3, 7, 20), 0, 0) == accuracy(Confusion(40, 3, 7, 20), 43, 27)


@pytest.mark.parametrize(
    ("confusion", "sensitivity", "specificity"),
    [
        (Confusion(10, 1, 2, 10), "not_enough_labels: 23 of 30 labels", "not_enough_labels: 23 of 30 labels"),
        (Confusion(40, 2, 3, 3), "", "not_enough_labels: people fail 5 of the labelled verdicts; it takes 10"),
        (Confusion(2, 3, 3, 40), "not_enough_labels: people pass 5 of the labelled verdicts; it takes 10", ""),
        (
            Confusion(30, 20, 0, 0),
            "not_enough_labels: no verdict that failed was labelled, of 7",
            "not_enough_labels: no verdict that failed was labelled, of 7",
        ),
    ],
)
def test_too_few_labels_are_said_plainly(confusion: Confusion, sensitivity: str, specificity: str) -> None:
    found = accuracy(confusion, 60, 7)
    for part, told in ((found.sensitivity, sensitivity), (found.specificity, specificity)):
        assert (why(part) if told else "") == told
        assert isinstance(part, NoEstimate) or not told


def test_kappa_needs_both_outcomes() -> None:
    assert "chance would agree as well" in why(accuracy(Confusion(true_pass=40), 40, 0).kappa)


@given(confusions, st.integers(0, 100_000), st.integers(0, 100_000), st.sampled_from([ANY, Minimum()]))
def test_every_number_is_in_its_interval_and_every_interval_is_possible(
    confusion: Confusion, passed: int, failed: int, minimum: Minimum
) -> None:
    if not confusion.labels or (minimum == ANY and 0 in _people(confusion)):
        return
    found = accuracy(confusion, passed, failed, minimum)
    for part in (getattr(found, field.name) for field in fields(Accuracy)):
        if isinstance(part, Estimate):
            assert -1 <= part.low <= part.value <= part.high <= 1
            assert part.n > 0


@given(confusions.filter(lambda one: one.labels > 0 and 0 not in _people(one)))
def test_more_unlabelled_verdicts_of_the_same_mix_do_not_move_the_estimate(confusion: Confusion) -> None:
    few = accuracy(confusion, confusion.passed, confusion.failed, ANY)
    many = accuracy(confusion, 50 * confusion.passed, 50 * confusion.failed, ANY)
    for part in ("sensitivity", "specificity"):
        before, after = getattr(few, part), getattr(many, part)
        assert math.isclose(before.value, after.value, abs_tol=1e-9)


@given(st.permutations([(passed, right) for passed in (True, False) for right in (True, False)] * 2))
def test_counting_does_not_depend_on_the_order(found: list[tuple[bool, bool]]) -> None:
    confusion = Confusion()
    for passed, right in found:
        confusion = confusion.counting(passed=passed, right=right)
    assert confusion == Confusion(2, 2, 2, 2)


def _people(confusion: Confusion) -> tuple[int, int]:
    """How many labelled verdicts people pass, and fail."""
    return confusion.true_pass + confusion.false_fail, confusion.false_pass + confusion.true_fail
