"""Two clocks: one that people read, and one that goes on whatever they do to the first."""

from __future__ import annotations

from collector.clock import SystemClock

HOUR_NS = 3600 * 10**9


class Machine:
    """The clocks of a machine, set by hand."""

    def __init__(self) -> None:
        self.wall_ns, self.monotonic_ns = 1_700_000 * 10**12, 5_000

    def clock(self) -> SystemClock:
        return SystemClock(lambda: self.wall_ns, lambda: self.monotonic_ns)


def test_wall_time_stands_still_while_it_would_go_backward() -> None:
    machine = Machine()
    clock = machine.clock()
    began = clock.now_ns()
    machine.wall_ns -= HOUR_NS
    assert clock.now_ns() == began
    machine.wall_ns += HOUR_NS + 7
    assert clock.now_ns() == began + 7


def test_steady_time_begins_as_wall_time_and_does_not_follow_its_jumps() -> None:
    machine = Machine()
    clock = machine.clock()
    began = clock.steady_ns()
    assert began == machine.wall_ns
    for jump in (5 * HOUR_NS, -9 * HOUR_NS):
        machine.wall_ns += jump
        machine.monotonic_ns += 10
    assert clock.steady_ns() == began + 20


def test_how_far_the_wall_clock_was_set_is_known() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall_ns -= HOUR_NS
    assert clock.stepped_ns() == -HOUR_NS
    machine.wall_ns += 10
    machine.monotonic_ns += 10
    assert clock.stepped_ns() == -HOUR_NS
