"""Settings: which sessions an evaluator looks at, and how much it may ask."""

from __future__ import annotations

from collections.abc import Sequence

from extractors.trajectory import Trajectory, Versions
from judge.configured import Configured
from judge.options import EvaluatorOptions
from judge.question import Prompt, Question, Scale
from judge.suites import Case, Match
from judge.verdict import NotApplicable, NotJudged, Score, Subject, Verdict, whole_session
from tests.judge.trajectories import trajectory


class Curious:
    """Somebody's own evaluator: one verdict, and as many questions as it likes."""

    id = "curious"
    version = "7"

    def __init__(self, questions: int) -> None:
        self._questions = questions

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        prompt = Prompt("system", "prefix", "question", "own", "0")
        subjects = [Subject("step", f"step-{number}") for number in range(self._questions)]
        asked = [Question(self.id, self.version, one, prompt, Scale({"Y": 1.0, "N": 0.0})) for one in subjects]
        return [Verdict(self.id, self.version, whole_session(trajectory), Score(1.0, "ok", "")), *asked]


def _plan(options: EvaluatorOptions, questions: int = 3) -> Sequence[Question | Verdict]:
    session = trajectory(versions=Versions(service="shop-eu", service_version="2.1"))
    return Configured(Curious(questions), options).plan(session, [])


def test_a_session_that_is_filtered_out_says_so_in_one_verdict() -> None:
    (verdict,) = _plan(EvaluatorOptions(only=Match(service=("bank-*",))))
    assert isinstance(verdict, Verdict)
    assert verdict.outcome == NotApplicable("filtered out by evaluators.curious.only")
    assert (verdict.evaluator, verdict.evaluator_version) == ("curious", "7")


def test_a_session_that_fits_every_condition_is_looked_at() -> None:
    only = Match(service=("bank-*", "shop-*"), version=("2.*",), harness=("testing",))
    assert len(_plan(EvaluatorOptions(only=only))) == 4
    assert len(_plan(EvaluatorOptions(only=only.model_copy(update={"version": ("3.*",)})))) == 1


def test_questions_over_the_limit_are_counted_in_a_verdict() -> None:
    *found, left_out, first, second = _plan(EvaluatorOptions(max_questions=2), 5)
    assert isinstance(left_out, Verdict)
    told = "3 of 5 questions were not asked: evaluators.curious.max_questions is 2"
    assert left_out.outcome == NotJudged("over_limit", told)
    assert [one.subject.ref for one in (first, second)] == ["step-0", "step-1"]
    assert len(found) == 1


def test_within_the_limit_nothing_is_said_about_it() -> None:
    assert len(_plan(EvaluatorOptions(max_questions=3), 3)) == 4


def test_model_effort_and_votes_reach_questions_that_know_nothing_of_them() -> None:
    *_, question = _plan(EvaluatorOptions(model="m", effort="low", votes=3))
    assert isinstance(question, Question)
    assert (question.model, question.effort, question.votes) == ("m", "low", 3)
