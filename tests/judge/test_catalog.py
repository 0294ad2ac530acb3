"""The catalog: all evaluators look at a session, and none can spoil it for the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import judge.evaluators
from extractors.registry import UNRECOGNISED
from extractors.trajectory import Trajectory
from judge.catalog import NAMES, Evaluator, Plan, build, option_problems, plan_all, rubric_entry
from judge.options import EvaluatorOptions
from judge.question import Question
from judge.rubrics import parse_rubrics
from judge.suites import Case, Match
from judge.verdict import NotApplicable, NotJudged, SessionRef, Verdict, verdict_id
from tests.judge.trajectories import call, case, failed, load, skills, trajectory

SESSION = trajectory(
    call("find", {"q": 1}),
    failed("read", {"p": 1}),
    failed("read", {"p": 2}),
    skill_invocations=(load("pdf"), load("pdf")),
    offered_skills=skills("pdf", "xls"),
    answer="done",
)


TONE = """\
id: tone
version: "1"
question: Was it kind?
labels:
  Kind: {score: 1, means: it was}
  Rude: {score: 0, means: it was not}
"""


class _Broken:
    """Fails after its first finding, as a generator does."""

    id = "broken"
    version = "1"

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        return list(self._findings(trajectory))

    def _findings(self, trajectory: Trajectory) -> Iterator[Verdict]:
        raise KeyError(trajectory.task)


def _findings(plan: Plan) -> list[Verdict | Question]:
    return [*plan.verdicts, *plan.questions]


def test_every_evaluator_file_is_in_the_catalog() -> None:
    folder = Path(judge.evaluators.__path__[0])
    shared = {"__init__", "cases", "asking", "next_call", "rubric"}
    assert {file.stem for file in folder.glob("*.py")} - shared == set(NAMES)


def test_every_evaluator_says_something_about_every_session() -> None:
    plan = plan_all(SESSION, [case("expected_skill: pdf")], build())
    assert {found.evaluator for found in _findings(plan)} == set(NAMES)
    assert plan.errors == ()
    empty = plan_all(Trajectory("s", "testing"), [], build())
    assert {found.evaluator for found in _findings(empty)} == set(NAMES)


def test_an_evaluator_that_raises_is_not_judged_and_its_neighbours_go_on() -> None:
    others = build()
    plan = plan_all(SESSION, [], (_Broken(), *others))
    (broken,) = [verdict for verdict in plan.verdicts if verdict.evaluator == "broken"]
    assert broken.outcome == NotJudged("evaluator_error", "KeyError")
    assert [(name, type(error)) for name, error in plan.errors] == [("broken", KeyError)]
    alone = plan_all(SESSION, [], others)
    assert (plan.verdicts[1:], plan.questions) == (alone.verdicts, alone.questions)


def test_a_session_nobody_understood_gets_no_verdicts() -> None:
    plan = plan_all(Trajectory("s", UNRECOGNISED), [case("expected_skill: pdf")], build())
    assert (plan.verdicts, plan.questions) == ((), ())


def test_planning_twice_gives_the_same_ids_and_no_two_alike() -> None:
    cases = [case("expected_skill: pdf\nbudgets: {tool_calls: 1, tokens: 5}\nrequired_steps: [{tool: find}]")]
    first, second = plan_all(SESSION, cases, build()), plan_all(SESSION, cases, build())
    assert first == second
    found = [(item.evaluator, item.evaluator_version, item.case, item.subject) for item in _findings(first)]
    assert len(set(found)) == len(found)
    ids = [verdict_id(SessionRef("s"), verdict) for verdict in first.verdicts]
    assert len(set(ids)) == len(ids)


def test_a_disabled_evaluator_is_left_out() -> None:
    some = build({"goal_completion": EvaluatorOptions(enabled=False), "budgets": EvaluatorOptions(enabled=False)})
    assert {evaluator.id for evaluator in some} == set(NAMES) - {"goal_completion", "budgets"}


def test_options_reach_the_question() -> None:
    options = {"goal_completion": EvaluatorOptions(model="m", effort="low", prompt_version="v1", system_prompt="Hm.")}
    (question,) = _questions("goal_completion", options)
    assert (question.model, question.effort, question.prompt.system) == ("m", "low", "Hm.")
    (usual,) = _questions("goal_completion", {})
    assert (usual.model, usual.effort) == (None, None)
    assert usual.evaluator_version == "1+v2"
    assert question.evaluator_version.startswith("1+v1+system-"), "another yardstick is another version"


def _questions(name: str, options: dict[str, EvaluatorOptions]) -> list[Question]:
    plan = plan_all(SESSION, [], build(options))
    return [question for question in plan.questions if question.evaluator == name]


def test_votes_reach_the_question_and_are_part_of_the_version() -> None:
    (question,) = _questions("goal_completion", {"goal_completion": EvaluatorOptions(votes=3)})
    assert (question.votes, question.evaluator_version) == (3, "1+v2+votes-3")


def test_questions_of_all_evaluators_have_one_form_of_answer_that_offers_all_their_labels() -> None:
    ask = EvaluatorOptions(ask=True)
    rubric = parse_rubrics({"tone.yaml": TONE}, frozenset())[0]
    evaluators = build({"tool_selection": ask}, custom={"tone": rubric_entry(rubric)})
    plan = plan_all(SESSION, [], evaluators)
    labelled = [question for question in plan.questions if question.shape == "label"]
    assert {question.evaluator for question in labelled} >= {"skill_selection", "goal_completion", "tone"}
    (offered,) = {question.offered for question in labelled}
    assert offered == (
        *("Sensible", "Wrong", "Yes", "No", "Complete", "Partial", "Failed"),
        *("Faithful", "Partly", "Unfaithful", "Kind", "Rude"),
    )
    assert len({question.prompt.system for question in labelled}) == 1
    whole = [question for question in labelled if question.evaluator != "tool_selection"]
    assert len({question.prompt.prefix for question in whole}) == 1, "a call is judged by what came before it"
    assert all(question.offered == question.scale.labels for question in plan.questions if question.shape == "steps")


@pytest.mark.parametrize("own", [EvaluatorOptions(system_prompt="Hm."), EvaluatorOptions(prompt_version="v1")])
def test_a_prompt_that_does_not_tell_labels_apart_is_answered_in_a_form_of_its_own(own: EvaluatorOptions) -> None:
    (question,) = _questions("goal_completion", {"goal_completion": own})
    assert question.offered == ("Complete", "Partial", "Failed")


def test_only_and_limits_leave_a_trace_for_built_in_evaluators_too() -> None:
    only = EvaluatorOptions(only=Match(service=("elsewhere",)))
    plan = plan_all(SESSION, [], build(dict.fromkeys(NAMES, only)))
    assert plan.questions == ()
    told = {verdict.evaluator: verdict.outcome for verdict in plan.verdicts}
    assert told == {name: NotApplicable(f"filtered out by evaluators.{name}.only") for name in NAMES}
    loads = tuple(load("pdf", number=number) for number in range(5))
    many = trajectory(skill_invocations=loads)
    plan = plan_all(many, [], build({"skill_selection": EvaluatorOptions(max_questions=2)}))
    assert sum(question.evaluator == "skill_selection" for question in plan.questions) == 2
    (left_out,) = [verdict for verdict in plan.verdicts if verdict.evaluator == "skill_selection"]
    told_of = "3 of 5 questions were not asked: evaluators.skill_selection.max_questions is 2"
    assert left_out.outcome == NotJudged("over_limit", told_of)


def test_a_session_of_thousands_of_calls_is_planned_with_few_questions() -> None:
    calls = [call(f"t{number % 7}", {"n": number}, number=number, result="r" * 50) for number in range(3_000)]
    session = trajectory(*calls, answer="done", tool_definitions=())
    ask = EvaluatorOptions(ask=True)
    plan = plan_all(session, [], build({"tool_selection": ask, "argument_correctness": ask}))
    assert plan.errors == ()
    assert len([one for one in plan.questions if one.subject.kind == "tool_call"]) == 2 * ask.max_questions


def test_a_high_risk_case_makes_its_questions_urgent() -> None:
    evaluators: tuple[Evaluator, ...] = build()
    risky = plan_all(SESSION, [case("risk: high")], evaluators)
    assert all(question.high_risk for question in risky.questions)
    assert not any(question.high_risk for question in plan_all(SESSION, [case("risk: normal")], evaluators).questions)


def test_wrong_options_are_all_told_at_once() -> None:
    options = {
        "skill_selektion": EvaluatorOptions(),
        "budgets": EvaluatorOptions(model="m", effort="low"),
        "goal_completion": EvaluatorOptions(prompt_version="v99", ask=True),
        "sensitive_data": EvaluatorOptions(kinds=("shoe_size",)),
    }
    assert [key for key, _ in option_problems(options)] == [
        "skill_selektion",
        "budgets.model",
        "budgets.effort",
        "goal_completion.ask",
        "goal_completion.prompt_version",
        "sensitive_data.kinds",
    ]
    with pytest.raises(ValueError, match=r"evaluators\.goal_completion\.prompt_version: .* there are v1"):
        build(options)
