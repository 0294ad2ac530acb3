"""What may be spent, by the hour and the day."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from judge.budget import HOUR_NS, Amount, Budget, HourSpent, Limit, window_end_ns, window_start_ns
from judge.prices import NANO

NOON_NS = 1_767_225_600 * NANO + 12 * HOUR_NS  # 2026-01-01 12:00 UTC
HOURLY = Limit("hour", "tokens", 1000)


def _spent(tokens: int, hour_ns: int = NOON_NS, evaluator: str = "goal") -> HourSpent:
    return HourSpent(hour_ns, evaluator, Amount(tokens, tokens))


def test_what_fits_may_be_spent_and_what_does_not_waits_for_the_window() -> None:
    budget = Budget((HOURLY,))
    assert budget.refusal([_spent(900)], Amount(100), "goal", NOON_NS + 5, high_risk=False) is None
    refusal = budget.refusal([_spent(901)], Amount(100), "goal", NOON_NS + 5, high_risk=False)
    assert refusal is not None
    assert (refusal.until_ns, refusal.hopeless) == (NOON_NS + HOUR_NS, False)
    assert refusal.detail == "nothing is left of judge.budget.tokens_per_hour (1,000 tokens)"


def test_the_next_hour_begins_with_nothing_spent() -> None:
    assert Budget((HOURLY,)).refusal([_spent(1000)], Amount(1), "goal", NOON_NS + HOUR_NS, high_risk=False) is None


def test_the_day_counts_all_its_hours_and_the_longest_wait_is_told() -> None:
    budget = Budget((HOURLY, Limit("day", "dollars", 1500)))
    spent = [_spent(800, NOON_NS - 11 * HOUR_NS), _spent(700)]
    refusal = budget.refusal(spent, Amount(400, 1), "goal", NOON_NS, high_risk=True)
    assert refusal is not None
    assert refusal.limit.window == "day"
    assert refusal.until_ns == NOON_NS + 12 * HOUR_NS


def test_a_limit_of_one_evaluator_binds_nobody_else() -> None:
    budget = Budget((Limit("hour", "tokens", 10, "goal"),))
    spent = [_spent(10), _spent(5000, evaluator="skill")]
    assert budget.refusal(spent, Amount(1), "skill", NOON_NS, high_risk=False) is None
    refusal = budget.refusal(spent, Amount(1), "goal", NOON_NS, high_risk=False)
    assert refusal is not None
    assert refusal.limit.key == "judge.budget.evaluators.goal.tokens_per_hour"


def test_a_share_is_kept_for_questions_of_high_risk() -> None:
    budget = Budget((HOURLY,), high_risk_share=0.2)
    refusal = budget.refusal([_spent(790)], Amount(11), "goal", NOON_NS, high_risk=False)
    assert refusal is not None
    assert refusal.detail.endswith("(1,000 tokens, 200 tokens of it kept for high risk)")
    assert budget.refusal([_spent(790)], Amount(210), "goal", NOON_NS, high_risk=True) is None


def test_a_question_that_no_window_has_room_for_is_hopeless() -> None:
    refusal = Budget((Limit("day", "dollars", NANO),)).refusal(
        [], Amount(1, 2 * NANO), "goal", NOON_NS, high_risk=False
    )
    assert refusal is not None
    assert refusal.hopeless
    assert refusal.detail == "one question may cost $2.0000, more than judge.budget.dollars_per_day ($1.0000)"


def test_the_share_that_remains_is_never_below_0() -> None:
    budget = Budget((HOURLY, Limit("hour", "tokens", 0)))
    assert [share for _, share in budget.remaining([_spent(250)], NOON_NS)] == [0.75, 0.0]
    assert budget.remaining([_spent(5000)], NOON_NS)[0][1] == 0.0


@given(st.integers(0, 2**62), st.sampled_from(["hour", "day"]))
def test_every_moment_is_inside_its_window(now_ns: int, window: str) -> None:
    limit = Limit(window, "tokens", 1)  # type: ignore[arg-type]
    assert window_start_ns(limit.window, now_ns) <= now_ns < window_end_ns(limit.window, now_ns)


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 300), st.booleans()), max_size=60))
def test_whatever_calls_turn_out_to_cost_the_limit_holds(calls: list[tuple[int, int, bool]]) -> None:
    """Set aside before, corrected after: with an estimate that is no less than the cost, nothing gets over."""
    budget, total = Budget((HOURLY,), high_risk_share=0.1), 0
    for estimate, cost, high_risk in calls:
        if budget.refusal([_spent(total)], Amount(estimate), "goal", NOON_NS, high_risk=high_risk) is None:
            assert total + estimate <= 1000
            total += min(cost, estimate)
    assert total <= 1000
