"""Nothing filed is looked at too early, nor forgotten."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from collector.sessions.wheel import STEP_MS, Wheel

START_MS = 1_800_000_000_500


@given(st.lists(st.integers(-5000, 20_000), max_size=20), st.lists(st.integers(1, 3000), min_size=1, max_size=20))
def test_everything_comes_up_once_within_a_step_of_its_time(delays: list[int], pauses: list[int]) -> None:
    wheel = Wheel(START_MS)
    for ref, delay in enumerate(delays):
        wheel.file(ref, START_MS + delay)
    now_ms, last_ms = START_MS, START_MS
    seen: list[int] = []
    for pause in [*pauses, 30_000]:
        now_ms += pause
        for ref in wheel.take(now_ms):
            due_ms = START_MS + delays[ref]
            assert due_ms <= now_ms
            assert max(due_ms, START_MS) + 2 * STEP_MS > last_ms
            seen.append(ref)
        last_ms = now_ms
    assert sorted(seen) == list(range(len(delays)))


def test_what_is_due_at_different_times_does_not_come_up_all_at_once() -> None:
    wheel = Wheel(START_MS)
    for ref in range(1000):
        wheel.file(ref, START_MS + ref)
    looks = [len(list(wheel.take(START_MS + at))) for at in range(0, 1400, STEP_MS)]
    assert sum(looks) == 1000
    assert max(looks) <= STEP_MS + 1


def test_what_is_filed_during_a_look_comes_up_in_a_later_one() -> None:
    wheel = Wheel(START_MS)
    wheel.file(1, START_MS)
    for ref in wheel.take(START_MS + 1000):
        wheel.file(ref + 1, 0)
    assert list(wheel.take(START_MS + 2000)) == [2]


def test_a_clock_that_stands_still_brings_nothing_up_twice() -> None:
    wheel = Wheel(START_MS)
    wheel.file(1, START_MS)
    assert list(wheel.take(START_MS + 1000)) == [1]
    assert list(wheel.take(START_MS + 1000)) == []


@given(st.lists(st.integers(0, 3000), max_size=30), st.integers(1, 5))
def test_what_is_not_taken_comes_up_again(delays: list[int], most: int) -> None:
    wheel = Wheel(START_MS)
    for ref, delay in enumerate(delays):
        wheel.file(ref, START_MS + delay)
    seen: list[int] = []
    while taken := list(islice(wheel.take(START_MS + 5000), most)):
        assert len(taken) <= most
        seen += taken
    assert sorted(seen) == list(range(len(delays)))
