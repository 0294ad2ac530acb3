"""Sequences side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from judge.alignment import align

Items = list[tuple[str, int]]
ITEMS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1)), max_size=8)


def aligned(left: Items, right: Items) -> list[tuple[int, int]]:
    return align([n for n, _ in left], [n for n, _ in right], lambda one, other: left[one][1] == right[other][1])


def longest(left: Sequence[str], right: Sequence[str]) -> int:
    """By trying everything."""
    if not left or not right:
        return 0
    without = max(longest(left[1:], right), longest(left, right[1:]))
    return max(without, 1 + longest(left[1:], right[1:])) if left[0] == right[0] else without


@given(ITEMS, ITEMS)
def test_pairs_are_equal_rise_and_are_as_many_as_can_be(left: Items, right: Items) -> None:
    pairs = aligned(left, right)
    assert all(left[one][0] == right[other][0] for one, other in pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs))
    assert len(pairs) == longest([name for name, _ in left], [name for name, _ in right])


@given(ITEMS, ITEMS)
def test_as_many_pairs_are_alike_either_way_round(left: Items, right: Items) -> None:
    there = sum(left[one] == right[other] for one, other in aligned(left, right))
    back = sum(right[one] == left[other] for one, other in aligned(right, left))
    assert there == back


def test_of_two_choices_the_one_that_is_more_alike_is_taken() -> None:
    assert aligned([("a", 1)], [("a", 0), ("a", 1)]) == [(0, 1)]
