"""Two processes with one name are told, and members that come and go as usual are not."""

from __future__ import annotations

from collector.kafka.joins import Joins


def _after(joins: Joins, *times_s: int) -> str | None:
    for at_s in times_s:
        joins.joined(at_s * 1000)
    return joins.problem(times_s[-1] * 1000)


def test_a_name_that_two_processes_have_is_told_until_one_of_them_is_gone() -> None:
    joins = Joins("pod-0")
    assert _after(joins, 0, 1, 2, 3, 4) is None
    assert "kafka.instance_id 'pod-0'" in (_after(joins, 5) or "")
    assert joins.problem(61_000) is None


def test_a_share_that_is_handed_out_now_and_then_is_no_problem() -> None:
    assert _after(Joins("pod-0"), *range(0, 600, 20)) is None


def test_without_a_name_a_group_may_be_as_restless_as_it_likes() -> None:
    assert _after(Joins(None), *range(20)) is None
