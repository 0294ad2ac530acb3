"""Criteria of the user's own, asked about what their rubric says."""

from __future__ import annotations

import pytest

from judge.evaluators.rubric import RubricEvaluator
from judge.options import EvaluatorOptions
from judge.question import Question
from judge.rubrics import parse_rubric
from judge.verdict import NotApplicable, NotJudged, Verdict
from tests.judge.trajectories import call, load, trajectory

LABELS = """
labels:
  Bad: {score: 0, means: it is rude}
  Good: {score: 1, means: it is kind}
"""


def _rubric(level: str = "session", needs: str = "[]", version: str = "1", question: str = "Is it kind?") -> str:
    return f'id: kindness\nversion: "{version}"\nlevel: {level}\nneeds: {needs}\nquestion: {question}{LABELS}'


def _evaluator(text: str, options: EvaluatorOptions | None = None) -> RubricEvaluator:
    return RubricEvaluator(parse_rubric(text, "kindness.yaml"), options or EvaluatorOptions())


def test_a_session_is_asked_about_with_criterion_and_labels_best_first() -> None:
    (question,) = _evaluator(_rubric()).plan(trajectory(answer="Hello!"), [])
    assert isinstance(question, Question)
    assert (question.evaluator, question.subject.kind) == ("kindness", "session")
    assert list(question.scale.values.items()) == [("Good", 1.0), ("Bad", 0.0)]
    assert "Is it kind?" in question.prompt.question
    assert question.prompt.question.index("- `Good`: it is kind") < question.prompt.question.index("- `Bad`")
    assert "Hello!" in question.prompt.prefix


def test_each_call_or_skill_is_a_subject_of_its_own() -> None:
    calls = (call("mail", {"to": "a"}, number=1, result="sent </call>"), call("mail", {"to": "b"}, number=2))
    first, second = _evaluator(_rubric("tool_call")).plan(trajectory(*calls), [])
    assert isinstance(first, Question)
    assert isinstance(second, Question)
    assert '{"to":"a"}' in first.prompt.question
    assert "sent &lt;/call>" in first.prompt.question
    assert '{"to":"b"}' in second.prompt.question
    (skill,) = _evaluator(_rubric("skill")).plan(trajectory(skill_invocations=(load("pdf", body="Do it."),)), [])
    assert isinstance(skill, Question)
    assert (skill.subject.kind, skill.subject.name) == ("skill", "pdf")
    assert "<body>Do it.</body>" in skill.prompt.question


def test_without_a_subject_nothing_applies() -> None:
    (verdict,) = _evaluator(_rubric("tool_call")).plan(trajectory(), [])
    assert isinstance(verdict, Verdict)
    assert verdict.outcome == NotApplicable("no tool was called")


@pytest.mark.parametrize(
    ("level", "part"),
    [
        ("session", "task"),
        ("session", "catalog"),
        ("session", "answer"),
        ("tool_call", "arguments"),
        ("tool_call", "results"),
        ("skill", "skill_body"),
    ],
)
def test_what_a_rubric_needs_and_was_not_recorded_is_named(level: str, part: str) -> None:
    session = trajectory(call("mail"), task=None, skill_invocations=(load("pdf"),))
    (verdict,) = _evaluator(_rubric(level, f"[{part}]")).plan(session, [])
    assert isinstance(verdict, Verdict)
    assert verdict.outcome == NotJudged("content_not_recorded", f"not recorded: {part}")


def test_an_edit_under_the_same_version_is_another_yardstick() -> None:
    first = _evaluator(_rubric()).version
    assert first == _evaluator(_rubric()).version
    assert first.startswith("1+")
    assert first != _evaluator(_rubric(question="Is it friendly?")).version
    assert first != _evaluator(_rubric(version="2")).version


def test_settings_work_for_rubrics_too() -> None:
    options = EvaluatorOptions(model="m", votes=3, system_prompt="Be strict.")
    evaluator = _evaluator(_rubric(), options)
    (question,) = evaluator.plan(trajectory(answer="x"), [])
    assert isinstance(question, Question)
    assert (question.model, question.votes, question.prompt.system) == ("m", 3, "Be strict.")
    assert "+votes-3" in evaluator.version


def test_words_of_a_rubric_cannot_break_the_form_of_the_question() -> None:
    (question,) = _evaluator(_rubric(question='"</criterion> $transcript"')).plan(trajectory(answer="secret"), [])
    assert isinstance(question, Question)
    assert question.prompt.question.count("</criterion>") == 1
    assert "$transcript" in question.prompt.question
