"""faithfulness: is the answer true to what the tools returned?"""

from __future__ import annotations

import pytest

from extractors.trajectory import ToolCall
from judge.evaluators.faithfulness import Faithfulness
from judge.question import Question
from judge.verdict import NotApplicable, NotJudged, Outcome, Verdict
from tests.judge.trajectories import call, failed, trajectory


def _finding(*calls: ToolCall, answer: str | None = "It rains at noon.") -> Question | Verdict:
    (finding,) = Faithfulness().plan(trajectory(*calls, answer=answer), [])
    return finding


def test_answer_and_results_are_put_to_the_judge() -> None:
    question = _finding(call("weather", {}, result="rain 12:00"))
    assert isinstance(question, Question)
    assert list(question.scale.labels) == ["Faithful", "Partly", "Unfaithful"]
    assert "rain 12:00" in question.prompt.prefix
    assert "It rains at noon." in question.prompt.prefix


def test_an_error_is_something_to_be_true_to() -> None:
    assert isinstance(_finding(failed("book", error="no table left"), answer="Booked!"), Question)


def test_the_judge_is_told_of_results_that_were_not_recorded() -> None:
    question = _finding(call("weather", {}, result="rain"), call("wind", {}))
    assert isinstance(question, Question)
    assert "Of 1 call it was not recorded what came back." in question.prompt.question


@pytest.mark.parametrize(
    ("calls", "answer", "outcome"),
    [
        ([], "Hello.", NotApplicable("no tool was called: there is nothing to be true to")),
        ([call("t", result="r")], None, NotJudged("content_not_recorded", "the answer was not recorded")),
        ([call("t", result="r")], " ", NotApplicable("the agent gave no answer")),
        ([call("t")], "Done.", NotJudged("content_not_recorded", "what the tools returned was not recorded")),
    ],
)
def test_otherwise_nobody_is_asked(calls: list[ToolCall], answer: str | None, outcome: Outcome) -> None:
    verdict = _finding(*calls, answer=answer)
    assert isinstance(verdict, Verdict)
    assert verdict.outcome == outcome
