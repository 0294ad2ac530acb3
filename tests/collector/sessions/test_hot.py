"""What was seen lately is remembered, and never more than there is room for."""

from __future__ import annotations

from collector.sessions.hot import OUTSIDE, HotTraces, hot
from collector.sessions.keys import Naming

MOST = 100_000


def _trace(number: int) -> bytes:
    return number.to_bytes(16, "big")


def _held(traces: HotTraces) -> int:
    """Traces, sessions and tenants of both generations."""
    return sum(1 + len(found) for generation in (traces._young, traces._old) for found in generation.values())


def test_a_trace_is_known_to_its_tenant_only() -> None:
    traces = HotTraces(0)
    traces.put("bakery", _trace(1), OUTSIDE)
    assert traces.get("bakery", _trace(1)) is OUTSIDE
    assert traces.get("smithy", _trace(1)) is None


def test_a_session_is_known_by_how_it_is_spelled() -> None:
    traces = HotTraces(0)
    ann = hot(Naming("ann", 0), ("session.id",), 3, 1, b"head")
    traces.put("", _trace(1), ann)
    assert traces.spelled("", ann.wire) is ann


def test_what_was_not_seen_for_two_generations_is_forgotten() -> None:
    traces = HotTraces(0)
    traces.put("", _trace(1), OUTSIDE)
    traces.turn(60_000, 60_000)
    assert traces.get("", _trace(1)) is OUTSIDE
    traces.turn(119_999, 60_000)
    assert traces.get("", _trace(1)) is OUTSIDE
    traces.turn(120_000, 60_000)
    assert traces.get("", _trace(1)) is None


def test_tenants_without_end_take_no_more_room_than_one() -> None:
    traces = HotTraces(0)
    for number in range(3 * MOST):
        traces.put(f"tenant-{number}", _trace(number), OUTSIDE)
        if number % 50_000 == 0:
            assert _held(traces) <= 2 * MOST + 2
    assert _held(traces) <= 2 * MOST + 2
    assert traces.get(f"tenant-{number}", _trace(number)) is OUTSIDE


def test_looking_for_tenants_without_end_takes_no_more_room_either() -> None:
    traces = HotTraces(0)
    for number in range(3 * MOST):
        assert traces.get(f"tenant-{number}", _trace(number)) is None
    assert _held(traces) <= 2 * MOST + 2


def test_many_tenants_with_many_traces_each_are_bounded_together() -> None:
    traces = HotTraces(0)
    for number in range(5 * MOST):
        traces.put(f"tenant-{number % 40}", _trace(number), OUTSIDE)
    assert _held(traces) <= 2 * (MOST + 40)


def test_a_trace_that_is_put_again_and_again_pushes_nobody_out() -> None:
    traces = HotTraces(0)
    traces.put("", _trace(1), OUTSIDE)
    for _ in range(3 * MOST):
        traces.put("", _trace(2), OUTSIDE)
    assert traces.get("", _trace(1)) is OUTSIDE
