"""Who waits for whom, so that a session's record is paid for once."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from collector.judge_queue.prefixes import WORTH_WAITING, Prefixes
from collector.store.store import PendingQuestion
from judge.question import Scale
from tests.collector.judge_queue.desk import ask

LONG = "x" * WORTH_WAITING
MINUTE = 60 * 1_000_000_000


def _about(session: str, count: int) -> list[PendingQuestion]:
    return [ask(f"q{number}", session, prefix=f"{session} {LONG}") for number in range(count)]


def test_one_of_each_session_goes_first() -> None:
    prefixes = Prefixes(once=False)
    first, second = _about("s-1", 3), _about("s-2", 3)
    assert prefixes.choose([*first, *second], 6, 0) == [first[0], second[0]]
    prefixes.ended(first[0].question, 0, answered=True)
    assert prefixes.choose([*first[1:], *second[1:]], 6, 0) == first[1:]


def test_a_failed_first_leaves_the_next_to_go_first() -> None:
    prefixes = Prefixes(once=False)
    first, second, third = _about("s-1", 3)
    prefixes.choose([first], 1, 0)
    prefixes.ended(first.question, 0, answered=False)
    assert prefixes.choose([second, third], 2, 0) == [second]


def test_after_some_minutes_the_record_has_to_be_paid_for_again() -> None:
    prefixes = Prefixes(once=False)
    first, *others = _about("s-1", 3)
    prefixes.choose([first], 1, 0)
    prefixes.ended(first.question, 0, answered=True)
    assert prefixes.choose(others, 2, 5 * MINUTE) == others[:1]


def test_another_form_of_answer_shares_nothing_and_does_not_wait() -> None:
    prefixes = Prefixes(once=False)
    one, other = _about("s-1", 2)
    other = replace(other, question=replace(other.question, scale=Scale({"Good": 1.0, "Bad": 0.0})))
    assert prefixes.choose([one, other], 2, 0) == [one, other]


def test_questions_of_other_labels_wait_too_where_they_share_the_form_of_answer() -> None:
    prefixes = Prefixes(once=True)
    one, other = _about("s-1", 2)
    one, other = (replace(each, question=replace(each.question, choices=("Yes", "No", "Bad"))) for each in (one, other))
    bad = replace(other.question, scale=Scale({"Yes": 1.0, "Bad": 0.0}))
    other = replace(other, question=bad)
    assert prefixes.choose([one, other], 2, 0) == [one]
    prefixes.ended(one.question, 0, answered=True)
    assert prefixes.choose([other], 2, 0) == [other]


def test_of_the_same_question_one_goes_and_the_others_find_its_answer() -> None:
    same = [ask("a", f"s-{number}", text="Same?") for number in range(3)]
    assert Prefixes(once=True).choose(same, 3, 0) == same[:1]
    assert Prefixes(once=False).choose(same, 3, 0) == same


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=60), st.integers(1, 5))
def test_no_question_waits_for_ever(steps: list[tuple[int, bool]], most: int) -> None:
    prefixes = Prefixes(once=True)
    waiting = [one for session in range(3) for one in _about(f"s-{session}", 4)]
    for count, (skip, answered) in enumerate([*steps, *[(0, True)] * 12]):
        for one in prefixes.choose(waiting[skip:], most, count):
            prefixes.ended(one.question, count, answered=answered)
            if answered:
                waiting.remove(one)
    assert waiting == []
