"""How many questions at a time, and how many a minute."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from judge.concurrency import Concurrency, Pace

SECOND = 1_000_000_000


def test_it_grows_by_one_a_round_up_to_the_most() -> None:
    concurrency = Concurrency(6)
    assert concurrency.limit == 4
    for _ in range(5):
        concurrency.answered()
    assert concurrency.limit == 5
    for _ in range(100):
        concurrency.answered()
    assert concurrency.limit == 6


def test_trouble_halves_it_once_for_all_calls_that_were_on_their_way() -> None:
    concurrency = Concurrency(4)
    for _ in range(4):
        concurrency.overloaded(began_ns=0, now_ns=SECOND)
    assert concurrency.limit == 2
    concurrency.overloaded(began_ns=SECOND + 1, now_ns=2 * SECOND)
    assert concurrency.limit == 1


@given(st.integers(1, 50), st.lists(st.booleans(), max_size=200))
def test_it_stays_between_1_and_the_most(most: int, outcomes: list[bool]) -> None:
    concurrency = Concurrency(most)
    for now_ns, well in enumerate(outcomes):
        if well:
            concurrency.answered()
        else:
            concurrency.overloaded(now_ns, now_ns)
        assert 1 <= concurrency.limit <= most


def test_a_pace_of_none_sets_no_bound() -> None:
    assert Pace(None).room(0) is None


@given(st.integers(1, 600), st.lists(st.integers(0, 5 * SECOND), min_size=1, max_size=100))
def test_no_more_begin_than_the_pace_allows(per_minute: int, steps: list[int]) -> None:
    pace, now_ns, begun = Pace(per_minute), 0, 0
    for step in steps:
        now_ns += step
        for _ in range(pace.room(now_ns) or 0):
            pace.begins(now_ns)
            begun += 1
    burst = max(1.0, per_minute / 60)
    assert begun <= burst + per_minute * now_ns / (60 * SECOND) + 1e-6


def test_a_slow_pace_lets_the_next_one_through_in_time() -> None:
    pace = Pace(6)
    assert pace.room(0) == 1
    pace.begins(0)
    assert pace.room(9 * SECOND) == 0
    assert pace.room(10 * SECOND) == 1
