"""Calls belong to the turn that asked for them and skill loads to their call, also when a model counts ids anew."""

from __future__ import annotations

from dataclasses import replace

from extractors.skills import LoadedBy
from judge.before import known_before
from judge.events import things_done
from judge.origins import asking_turns, loading_calls
from judge.transcript import transcript
from tests.judge.trajectories import call, load, step, trajectory

TURNS = tuple(step(at, f"turn {at}", number=at, call_ids=("call_0",)) for at in (10, 30, 50))
CALLS = tuple(
    call("tool", {"n": at}, number=at, call_id="call_0", start_ns=at, end_ns=at + 5, result=f"result {at}")
    for at in (15, 35, 55)
)
SESSION = trajectory(*CALLS, steps=TURNS)


def test_an_id_of_its_own_is_enough() -> None:
    calls = (call("a", call_id="c1"), call("b", call_id="c2"), call("c"), call("d", call_id="c2", agent="helper"))
    turn = step(99, call_ids=("c1", "c2"))
    assert asking_turns(trajectory(*calls, steps=(turn,))) == (turn, turn, None, None)


def test_of_several_turns_with_an_id_the_last_that_had_begun_asked() -> None:
    assert asking_turns(SESSION) == TURNS


def test_calls_without_times_belong_to_turns_of_their_id_in_order() -> None:
    timeless = [replace(one, start_ns=None, end_ns=None) for one in CALLS]
    assert asking_turns(trajectory(*timeless, steps=TURNS)) == TURNS
    assert asking_turns(trajectory(*timeless[1:], steps=TURNS)) == TURNS[1:]


def test_results_of_earlier_turns_are_known_though_the_ids_are_the_same() -> None:
    known = known_before(SESSION, CALLS[2])
    assert known.tool_calls == CALLS[:2]
    assert [turn.text for turn in known.steps] == ["turn 10", "turn 30", "turn 50"]


def test_calls_without_times_stand_after_their_own_turns() -> None:
    timeless = [replace(one, start_ns=None, end_ns=None) for one in CALLS]
    text = transcript(trajectory(*timeless, steps=TURNS)).text
    told = ["turn 10", "result 15", "turn 30", "result 35", "turn 50", "result 55"]
    assert sorted(told, key=text.index) == told


def test_a_load_comes_from_the_call_in_its_place() -> None:
    loads = (load("pdf", number=35, call_id="call_0"), load("csv", number=55, call_id="call_0"))
    session = replace(SESSION, skill_invocations=loads)
    assert loading_calls(session) == (1, 2)
    assert [thing.what for thing in things_done(session)] == [CALLS[0], CALLS[1], loads[0], CALLS[2], loads[1]]
    assert known_before(session, CALLS[2]).skill_invocations == loads[:1]


def test_a_load_that_is_told_elsewhere_comes_from_the_call_of_its_id() -> None:
    told = load("pdf", number=99, call_id="c1")
    assert loading_calls(trajectory(call("a", call_id="c1"), skill_invocations=(told,))) == (0,)


def test_what_the_person_loaded_came_from_no_call() -> None:
    told = load("pdf", number=99, loaded_by=LoadedBy.USER)
    assert loading_calls(trajectory(call("a"), skill_invocations=(told,))) == (None,)
