"""Which session stands beside which."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from judge.case_results import JudgedSession
from judge.pairing import pair
from judge.verdict import SessionRef
from tests.judge.trajectories import trajectory


def session(name: str, task: str | None = "Do it", *cases: str) -> JudgedSession:
    return JudgedSession(SessionRef(name), trajectory(task=task), (), cases)


def pairs(before: list[JudgedSession], after: list[JudgedSession]) -> list[tuple[str, str]]:
    return [(one.ref.session_id, other.ref.session_id) for _, one, other in pair(before, after).pairs]


def test_sessions_of_one_case_belong_together_though_the_task_is_worded_differently() -> None:
    assert pairs([session("a", "Refund 1", "s/c")], [session("b", "Refund 2", "s/c")]) == [("a", "b")]


def test_the_same_task_goes_first_among_sessions_of_one_case() -> None:
    before = [session("a", "one", "s/c"), session("b", "two", "s/c")]
    after = [session("y", "two", "s/c"), session("x", "one", "s/c")]
    assert pairs(before, after) == [("a", "x"), ("b", "y")]


def test_without_cases_the_task_decides_whatever_its_white_space() -> None:
    assert pairs([session("a", "Do  it\n")], [session("b", "Do it"), session("c", "Do that")]) == [("a", "b")]


def test_what_has_no_counterpart_is_left_over_on_its_side() -> None:
    found = pair([session("a", "one"), session("n", None)], [session("b", "two")])
    assert found.pairs == ()
    assert [one.ref.session_id for one in found.only_before] == ["a", "n"]
    assert [one.ref.session_id for one in found.only_after] == ["b"]


def test_sessions_whose_trajectory_could_not_be_read_are_left_over() -> None:
    unread = replace(session("a"), trajectory=None)
    assert pair([unread], [session("b")]).pairs == ()


SESSIONS = st.lists(
    st.builds(
        lambda number, task, case: session(str(number), task, *([case] if case else [])),
        st.integers(),
        st.sampled_from([None, "one", "two"]),
        st.sampled_from(["", "s/c", "s/d"]),
    ),
    max_size=6,
)


@given(SESSIONS, SESSIONS)
def test_every_session_is_used_once(before: list[JudgedSession], after: list[JudgedSession]) -> None:
    found = pair(before, after)
    assert len(found.pairs) + len(found.only_before) == len(before)
    assert len(found.pairs) + len(found.only_after) == len(after)
