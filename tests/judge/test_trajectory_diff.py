"""What is told about two trajectories of one case, and what is no difference."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from extractors.trajectory import CallOutcome, ToolCall, Trajectory
from judge.trajectory_diff import (
    MAX_CALLS,
    ArgumentsChanged,
    LatencyDelta,
    NotCompared,
    RecoveryLoops,
    StepDelta,
    Tolerance,
    ToolAdded,
    ToolRemoved,
    ToolReordered,
    differences,
    recovery_loops,
)
from tests.judge.trajectories import call, failed, step, trajectory

SECOND_NS = 1_000_000_000
CALLS = st.lists(
    st.builds(
        call,
        st.sampled_from(["find", "pay", "mail"]),
        st.sampled_from([None, {"id": 1}, {"id": 2}]),
        st.sampled_from([CallOutcome.OK, CallOutcome.FAILED]),
    ),
    max_size=7,
)


def took(seconds: float) -> Trajectory:
    return trajectory(started_ns=SECOND_NS, ended_ns=SECOND_NS + int(seconds * SECOND_NS))


def kinds(calls: list[ToolCall], others: list[ToolCall]) -> Counter[str]:
    return Counter(one.kind for one in differences(trajectory(*calls), trajectory(*others)))


@given(CALLS)
def test_a_trajectory_does_not_differ_from_itself(calls: list[ToolCall]) -> None:
    assert differences(trajectory(*calls), trajectory(*calls)) == ()


@given(CALLS, CALLS)
def test_turned_round_what_was_added_is_removed_and_all_counts_stay(one: list[ToolCall], other: list[ToolCall]) -> None:
    there, back = kinds(one, other), kinds(other, one)
    assert there["tool_added"] == back["tool_removed"]
    assert there["tool_removed"] == back["tool_added"]
    for kind in ("tool_reordered", "arguments_changed", "step_delta", "recovery_loops"):
        assert there[kind] == back[kind]


@given(CALLS, CALLS)
def test_added_minus_removed_is_the_difference_in_calls(one: list[ToolCall], other: list[ToolCall]) -> None:
    found = kinds(one, other)
    assert found["tool_added"] - found["tool_removed"] == len(other) - len(one)


def test_a_tool_that_was_added_is_told_with_its_place() -> None:
    found = differences(trajectory(call("find")), trajectory(call("find"), call("mail")))
    assert found == (ToolAdded("mail", 1), StepDelta("tool calls", 1, 2))
    assert str(found[0]) == "calls mail as call 2, which the baseline does not"
    assert all(one.regression for one in found)


def test_a_tool_that_is_missing_is_a_regression_and_fewer_steps_are_not() -> None:
    found = differences(trajectory(call("find"), call("check")), trajectory(call("find")))
    assert found == (ToolRemoved("check", 1), StepDelta("tool calls", 2, 1))
    assert [one.regression for one in found] == [True, False]


def test_the_same_tools_in_another_order_are_reordered_and_nothing_else() -> None:
    (found,) = differences(trajectory(call("a"), call("b"), call("c")), trajectory(call("c"), call("a"), call("b")))
    assert found == ToolReordered("c", 2, 0)


def test_changed_arguments_are_named() -> None:
    old, new = call("pay", {"to": "x", "sum": 5}), call("pay", {"to": "x", "sum": 50})
    (found,) = differences(trajectory(old), trajectory(new))
    assert isinstance(found, ArgumentsChanged)
    assert found.names == ("sum",)
    assert "other arguments sum" in str(found)


def test_arguments_that_were_not_recorded_are_no_change() -> None:
    assert differences(trajectory(call("pay", {"sum": 5})), trajectory(call("pay", None))) == ()


def test_arguments_that_always_differ_can_be_ignored() -> None:
    pair = trajectory(call("pay", {"id": 1, "sum": 5})), trajectory(call("pay", {"id": 2, "sum": 5}))
    assert differences(*pair, Tolerance(ignore=("*.id",))) == ()
    assert len(differences(*pair, Tolerance(ignore=("mail.id",)))) == 1


def test_trying_again_after_a_failure_is_a_recovery_loop() -> None:
    old = trajectory(call("pay"))
    new = trajectory(failed("pay"), failed("pay"), call("pay"))
    loops = [one for one in differences(old, new) if isinstance(one, RecoveryLoops)]
    assert loops == [RecoveryLoops("pay", 0, 2)]
    assert loops[0].regression
    assert not RecoveryLoops("pay", 2, 0).regression


def test_a_call_after_a_success_or_of_another_agent_is_no_recovery_loop() -> None:
    calls = [failed("pay"), call("pay", agent="helper"), call("pay"), call("pay")]
    assert recovery_loops(calls) == {"pay": 1}


def test_latency_counts_only_past_both_tolerances() -> None:
    assert differences(took(1), took(1.9)) == (), "less than a second"
    assert differences(took(100), took(120)) == (), "less than a quarter"
    (slower,) = differences(took(10), took(14))
    assert slower == LatencyDelta(10 * SECOND_NS, 14 * SECOND_NS)
    assert slower.regression
    assert str(slower) == "took 4.0 s longer: 10.0 s became 14.0 s"
    assert not differences(took(14), took(10))[0].regression


def test_times_and_turns_that_were_not_recorded_are_no_difference() -> None:
    assert differences(trajectory(steps=(step(1), step(2))), trajectory()) == ()
    assert differences(took(10), trajectory()) == ()


def test_more_model_turns_are_told() -> None:
    old, new = trajectory(steps=(step(1),)), trajectory(steps=(step(1), step(2), step(3)))
    (found,) = differences(old, new)
    assert str(found) == "+2 model turns: 1 became 3"


def test_the_calls_past_the_bound_are_counted_and_not_compared() -> None:
    long = [call("find") for _ in range(MAX_CALLS)]
    found = differences(trajectory(*long), trajectory(*long, call("mail")))
    assert [one for one in found if isinstance(one, NotCompared)] == [NotCompared(0, 1)]
