"""tool_selection: was each call a sensible next step?"""

from __future__ import annotations

from extractors.trajectory import ToolDefinition
from judge.evaluators.tool_selection import ToolSelection
from judge.options import EvaluatorOptions
from judge.question import Question
from judge.verdict import NotApplicable, NotJudged, Score, Verdict
from tests.judge.trajectories import call, case, trajectory

ASK = EvaluatorOptions(ask=True)
FIND = call("find_order", {"q": "77"}, number=1, start_ns=10, end_ns=20, result="order 77: one kayak")
DELETE = call("delete_order", {"id": 77}, number=2, start_ns=30, end_ns=40, result="order 77 is gone for good")
CASE = case("required_steps: [{tool: find_*}]\nforbidden_events: [{tool: delete_*}]")


def test_code_decides_where_a_case_names_the_tool() -> None:
    required, forbidden = ToolSelection().plan(trajectory(FIND, DELETE), [CASE])
    assert isinstance(required, Verdict)
    assert isinstance(forbidden, Verdict)
    assert required.outcome == Score(1.0, "expected", "required: find_*")
    assert forbidden.outcome == Score(0.0, "forbidden", 'forbidden: delete_order {"id":77}')
    assert (forbidden.subject.kind, forbidden.case) == ("tool_call", "s/c")


def test_a_call_that_may_be_forbidden_is_not_judged_without_its_arguments() -> None:
    rule = case("forbidden_events: [{tool: bash, arguments: '*rm*'}]")
    (verdict,) = ToolSelection().plan(trajectory(call("bash")), [rule])
    assert isinstance(verdict, Verdict)
    assert isinstance(verdict.outcome, NotJudged)


def test_calls_that_no_case_names_are_not_scored_unless_a_judge_is_asked() -> None:
    (verdict,) = ToolSelection().plan(trajectory(FIND), [case("expected_skill: pdf")])
    assert isinstance(verdict, Verdict)
    assert isinstance(verdict.outcome, NotApplicable)
    (question,) = ToolSelection(ASK).plan(trajectory(FIND), [case("expected_skill: pdf")])
    assert isinstance(question, Question)
    required, question = ToolSelection(ASK).plan(trajectory(FIND, DELETE), [case("required_steps: [{tool: find_*}]")])
    assert isinstance(required, Verdict)
    assert isinstance(question, Question)
    assert question.subject.name == "delete_order"


def test_the_judge_sees_what_the_agent_knew_and_nothing_that_came_of_it() -> None:
    tools = (ToolDefinition("delete_order", "Deletes an order for good"), ToolDefinition("pay_back", "Pays back"))
    session = trajectory(FIND, DELETE, task="Give me my money back", answer="Deleted.", tool_definitions=tools)
    _, question = ToolSelection(ASK).plan(session, [])
    assert isinstance(question, Question)
    shown = question.prompt.prefix + question.prompt.question
    for known in ("Give me my money back", "order 77: one kayak", '{"id":77}', "Pays back"):
        assert known in shown
    for unknown in ("gone for good", "Deleted."):
        assert unknown not in shown


def test_tools_that_were_not_recorded_and_none_are_told_apart() -> None:
    for definitions, state in ((None, "not recorded"), ((), "none")):
        (question,) = ToolSelection(ASK).plan(trajectory(FIND, tool_definitions=definitions), [])
        assert isinstance(question, Question)
        assert f'<tools state="{state}"/>' in question.prompt.question


def test_of_many_calls_some_are_asked_about_and_the_rest_is_counted() -> None:
    calls = [call("find", {"q": number}, number=number) for number in range(30)]
    findings = ToolSelection(EvaluatorOptions(ask=True, max_questions=4)).plan(trajectory(*calls), [])
    questions = [one for one in findings if isinstance(one, Question)]
    (left_out,) = [one for one in findings if isinstance(one, Verdict)]
    assert len(questions) == 4
    told = "26 of 30 questions were not asked: evaluators.tool_selection.max_questions is 4"
    assert left_out.outcome == NotJudged("over_limit", told)


def test_without_calls_nothing_applies_and_without_the_task_nobody_is_asked() -> None:
    (none,) = ToolSelection(ASK).plan(trajectory(), [])
    assert isinstance(none, Verdict)
    assert none.outcome == NotApplicable("no tool was called")
    (gap,) = ToolSelection(ASK).plan(trajectory(FIND, task=None), [])
    assert isinstance(gap, Verdict)
    assert gap.outcome == NotJudged("content_not_recorded", "the task was not recorded")
