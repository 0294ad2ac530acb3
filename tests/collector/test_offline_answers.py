"""What became of the questions that a command put to the judge."""

from __future__ import annotations

from dataclasses import replace

from collector.offline import Examined
from collector.offline_answers import Asked, Silence, asked_about, judge_gate
from judge.gates import Status
from judge.verdict import NotJudged, Outcome, Score
from tests.fakes.verdicts import answered, closed, pending

YES = Score(1.0, "Yes", "It fits.")
CUT = NotJudged("answer_cut_off", "too long")
QUESTIONS = tuple(pending(ref=f"span:q/{number}") for number in range(4))
BEFORE = Examined(closed(), (), QUESTIONS, ())


def after(*outcomes: Outcome) -> Examined:
    verdicts = tuple(answered(one, outcome) for one, outcome in zip(QUESTIONS, outcomes, strict=False))
    return replace(BEFORE, verdicts=verdicts, questions=())


def test_questions_without_an_answer_are_counted_by_evaluator_and_reason() -> None:
    found = asked_about([BEFORE], [after(YES, CUT, CUT, NotJudged("judge_refused"))])
    assert (found.total, found.answered) == (4, 1)
    assert found.silences == (
        Silence("skill_selection", 2, "answer_cut_off", "too long"),
        Silence("skill_selection", 1, "judge_refused", ""),
    )
    assert found.reasons == ("answer_cut_off", "judge_refused")
    assert [str(one) for one in found.silences] == [
        "skill_selection: 2 x answer_cut_off (too long)",
        "skill_selection: 1 x judge_refused",
    ]


def test_a_question_whose_verdict_is_not_there_is_not_taken_for_answered() -> None:
    found = asked_about([BEFORE], [after(YES)])
    assert (found.total, found.answered) == (4, 1)


def test_all_answered_passes_and_nothing_to_ask_does_not_apply() -> None:
    assert judge_gate(asked_about([BEFORE], [after(YES, YES, YES, YES)])).status is Status.PASSED
    assert judge_gate(asked_about([], [])).status is Status.NOT_APPLICABLE


def test_nothing_answered_and_an_evaluator_without_an_answer_leave_the_gate_open() -> None:
    nothing = judge_gate(asked_about([BEFORE], [after(CUT, CUT, CUT, CUT)]))
    assert (nothing.status, nothing.explanation) == (Status.UNDECIDED, "none of 4 questions was answered")
    silent = Asked({"a": 2, "b": 1}, (Silence("b", 1, "judge_refused", ""),))
    assert silent.mute == ("b",)
    assert judge_gate(silent).status is Status.UNDECIDED
    assert judge_gate(silent).explanation == "2 of 3 questions answered, and none of b"


def test_a_part_without_an_answer_passes_and_says_how_many() -> None:
    part = judge_gate(asked_about([BEFORE], [after(YES, YES, YES, CUT)]))
    assert (part.status, part.explanation) == (Status.PASSED, "3 of 4 questions answered")
    assert part.details == ("skill_selection: 1 x answer_cut_off (too long)",)
