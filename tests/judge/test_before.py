"""What was known before a call: nothing that came of it, and nothing later."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from extractors.skills import LoadedBy, LoadOutcome
from extractors.trajectory import CallOutcome, Prompt, Trajectory
from judge.before import known_before
from judge.transcript import transcript
from tests.judge.trajectories import anchor, call, load, step, trajectory

FIRST = call("find", {"q": 1}, number=1, call_id="c1", start_ns=10, end_ns=20, result="first result")
SECOND = call("read", {"p": 2}, number=2, call_id="c2", start_ns=30, end_ns=40, result="second result")
THIRD = call("mail", {"to": 3}, number=3, call_id="c3", start_ns=50, end_ns=60, result="third result")
SESSION = trajectory(
    FIRST,
    SECOND,
    THIRD,
    steps=(
        step(5, "I look for it", number=11, call_ids=("c1",)),
        step(25, "I read it", number=12, call_ids=("c2",)),
        step(45, "I mail it", number=13, call_ids=("c3",)),
    ),
    answer="Mailed.",
)


def test_the_call_itself_what_came_of_it_and_everything_later_are_not_there() -> None:
    known = known_before(SESSION, SECOND)
    assert known.tool_calls == (FIRST,)
    assert [turn.text for turn in known.steps] == ["I look for it", "I read it"]
    assert known.answer is None
    text = transcript(known).text
    assert "first result" in text
    for later in ("second result", "third result", "I mail it", "Mailed."):
        assert later not in text


def test_a_later_prompt_was_not_known() -> None:
    prompts = (Prompt("Find it", anchor(), 0), Prompt("Now mail it", anchor(), 42))
    session = replace(SESSION, prompts=prompts)
    assert known_before(session, SECOND).task == "Find it"
    assert known_before(session, THIRD).task == "Find it\n\nNow mail it"


def test_results_of_calls_made_side_by_side_were_not_known() -> None:
    side = trajectory(
        replace(FIRST, end_ns=20),
        replace(SECOND, start_ns=21),
        steps=(step(5, "Both at once", number=11, call_ids=("c1", "c2")),),
    )
    (beside,) = known_before(side, side.tool_calls[1]).tool_calls
    assert (beside.outcome, beside.result) == (CallOutcome.UNANSWERED, None)


def test_a_call_that_was_still_running_had_returned_nothing() -> None:
    caller = replace(FIRST, end_ns=100)
    (running,) = known_before(trajectory(caller, SECOND), SECOND).tool_calls
    assert running.result is None


def test_a_skill_loaded_later_was_not_known_and_one_loaded_by_the_person_was() -> None:
    loads = (
        load("mine", number=3, call_id="c3"),
        load("early", number=1, call_id="c1"),
        load("theirs", number=9, loaded_by=LoadedBy.USER),
    )
    known = known_before(replace(SESSION, skill_invocations=loads), SECOND)
    assert [one.name for one in known.skill_invocations] == ["early", "theirs"]


def test_what_came_of_a_skill_asked_for_at_the_same_time_was_not_known() -> None:
    running = replace(FIRST, end_ns=100)
    session = trajectory(running, SECOND, skill_invocations=(load("pdf", number=1, call_id="c1", body="Do this."),))
    (one,) = known_before(session, SECOND).skill_invocations
    assert (one.outcome, one.body) == (LoadOutcome.UNANSWERED, None)


@given(st.permutations(range(5)), st.integers(0, 4))
def test_no_result_of_the_call_or_of_a_later_one_is_known(order: list[int], at: int) -> None:
    calls = [
        call(f"t{n}", {}, number=n, start_ns=10 * n + 1, end_ns=10 * n + 5, result=f"result-{n}-") for n in range(5)
    ]
    session: Trajectory = trajectory(*(calls[n] for n in order))
    text = transcript(known_before(session, calls[at])).text
    assert [n for n in range(5) if f"result-{n}-" in text] == list(range(at))
