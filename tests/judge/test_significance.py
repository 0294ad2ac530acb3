"""The test of rates, against published examples."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.significance import Count, compare, holm, lower_p_value

COUNTS = st.builds(Count, st.integers(0, 60), st.integers(0, 60))


@pytest.mark.parametrize(
    ("current", "baseline", "expected"),
    [
        # R. A. Fisher, The Design of Experiments (1935), ch. II: eight cups of tea, three of four told rightly.
        (Count(1, 3), Count(3, 1), 17 / 70),
        # The same, all four told rightly.
        (Count(0, 4), Count(4, 0), 1 / 70),
        # Wikipedia, "Fisher's exact test": 1 of 12 men and 9 of 12 women who study; 0.001379728 given there.
        (Count(1, 11), Count(9, 3), 0.001379728),
    ],
)
def test_published_examples_come_out(current: Count, baseline: Count, expected: float) -> None:
    assert lower_p_value(current, baseline) == pytest.approx(expected, rel=1e-5)


def test_holm_s_example_comes_out() -> None:
    # The worked example of the article "Holm-Bonferroni method" in Wikipedia: 0.01, 0.04, 0.03, 0.005 at 0.05 reject
    # the first and the last.
    adjusted = holm([0.01, 0.04, 0.03, 0.005])
    assert adjusted == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [one < 0.05 for one in adjusted] == [True, False, False, True]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_a_correction_never_makes_a_p_value_smaller_or_more_than_one(p_values: list[float]) -> None:
    assert all(raw <= corrected <= 1 for raw, corrected in zip(p_values, holm(p_values), strict=True))


def test_a_clear_fall_is_found_and_a_rise_is_none() -> None:
    good, bad = Count(95, 5), Count(60, 40)
    (fell,) = compare({"composite": (good, bad)}, 0.05, 20)
    (rose,) = compare({"composite": (bad, good)}, 0.05, 20)
    assert (fell.fell, rose.fell) == (True, False)
    assert "60.0% of 100 now, 95.0% of 100 in the baseline" in str(fell)


def test_the_example_of_the_documentation_comes_out() -> None:
    # docs/baselines.md, "In CI" and "Rates"
    assert lower_p_value(Count(28, 2), Count(30, 0)) == pytest.approx(0.25, abs=0.005)
    assert lower_p_value(Count(22, 8), Count(30, 0)) == pytest.approx(0.0023, abs=0.00005)
    found = [good for good in range(21) if lower_p_value(Count(good, 20 - good), Count(20, 0)) < 0.05]
    assert sum(math.comb(20, good) * 0.8**good * 0.2 ** (20 - good) for good in found) < 0.5


def test_too_small_a_sample_is_said_and_not_tested() -> None:
    (found,) = compare({"composite": (Count(19, 0), Count(0, 100))}, 0.05, 20)
    assert (found.p_value, found.fell) == (None, False)
    assert "not enough data to tell" in str(found)


def test_many_rates_need_stronger_evidence_than_one() -> None:
    before, now = Count(30, 2), Count(24, 8)
    (alone,) = compare({"a": (before, now)}, 0.05, 20)
    many = compare({f"r{n}": (before, before if n else now) for n in range(5)}, 0.05, 20)
    assert alone.fell
    assert not any(one.fell for one in many)


@given(COUNTS, COUNTS)
def test_a_p_value_is_a_probability(current: Count, baseline: Count) -> None:
    for one in compare({"a": (baseline, current)}, 0.05, 1):
        assert (one.p_value is None) == (min(current.total, baseline.total) == 0)
        assert one.p_value is None or 0 <= one.p_value <= 1
