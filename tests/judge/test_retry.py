"""RetryPolicy: patience that grows, and ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import JudgeDeclined, JudgeError, JudgeMisconfigured, JudgeUnavailable
from judge.retry import RetryPolicy

POLICY = RetryPolicy(max_attempts=4, first_s=2, max_s=10)
OVERLOADED = JudgeUnavailable("judge_unavailable", "529")


def test_waits_double_up_to_the_longest_and_then_end() -> None:
    waits = [POLICY.wait_s(OVERLOADED, attempts, jitter=0) for attempts in range(1, 6)]
    assert waits == [2, 4, 8, None, None]
    assert RetryPolicy(max_attempts=9, first_s=2, max_s=10).wait_s(OVERLOADED, 8, jitter=0) == 10


def test_the_service_is_not_asked_before_it_wants_to_be() -> None:
    told = JudgeUnavailable("judge_unavailable", "429", retry_after_s=60)
    assert POLICY.wait_s(told, 1, jitter=0) == 60
    assert POLICY.wait_s(told, 1, jitter=1) == 62


def test_a_short_retry_after_does_not_undo_the_backoff() -> None:
    told = JudgeUnavailable("judge_unavailable", "429", retry_after_s=0)
    assert POLICY.wait_s(told, 3, jitter=0) == 8


def test_an_absurd_retry_after_does_not_strand_the_question() -> None:
    told = JudgeUnavailable("judge_unavailable", "429", retry_after_s=1e9)
    assert POLICY.wait_s(told, 1, jitter=0) == 3600


@pytest.mark.parametrize(
    "error", [JudgeDeclined("judge_refused", "x"), JudgeMisconfigured("judge_not_authorised", "x")]
)
def test_only_an_unavailable_judge_is_asked_again(error: JudgeError) -> None:
    assert POLICY.wait_s(error, 1, jitter=0) is None


@given(
    attempts=st.integers(1, 10**6),
    jitter=st.floats(0, 1),
    retry_after=st.none() | st.floats(0, 1e12),
)
def test_every_wait_lies_between_half_the_first_and_the_limits(
    attempts: int, jitter: float, retry_after: float | None
) -> None:
    policy = RetryPolicy(max_attempts=10**7)
    wait_s = policy.wait_s(JudgeUnavailable("judge_unavailable", "x", retry_after), attempts, jitter)
    assert wait_s is not None
    assert policy.first_s / 2 <= wait_s <= policy.max_retry_after_s + policy.first_s
