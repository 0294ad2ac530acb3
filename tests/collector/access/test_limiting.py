"""How often an address may be wrong."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.access.limiting import FailureLimit

SECOND = 10**9


def test_the_tenth_failure_makes_an_address_wait_and_waiting_helps() -> None:
    limit = FailureLimit()
    for _ in range(9):
        limit.failed("10.0.0.1", 0)
        assert limit.wait_s("10.0.0.1", 0) == 0
    limit.failed("10.0.0.1", 0)
    assert limit.wait_s("10.0.0.1", 0) == 6
    assert limit.wait_s("10.0.0.1", 6 * SECOND) == 0


def test_other_addresses_do_not_wait() -> None:
    limit = FailureLimit()
    for _ in range(20):
        limit.failed("10.0.0.1", 0)
    waiting = [n for n in range(2, 250) if limit.wait_s(f"10.0.0.{n}", 0)]
    assert len(waiting) < 5  # of 4096 slots


def test_the_addresses_of_one_ipv6_subscriber_are_one() -> None:
    limit = FailureLimit()
    for n in range(10):
        limit.failed(f"2001:db8::{n}", 0)
    assert limit.wait_s("2001:db8::ffff", 0) > 0


@given(st.lists(st.tuples(st.text(max_size=20), st.integers(0, 100 * SECOND)), max_size=50))
def test_whoever_comes_nobody_waits_for_more_than_one_failure_to_be_forgotten(seen: list[tuple[str, int]]) -> None:
    limit = FailureLimit(slots=4)
    now_ns = 0
    for address, later_ns in seen:
        now_ns += later_ns
        limit.failed(address, now_ns)
        assert 0 <= limit.wait_s(address, now_ns) <= 6
