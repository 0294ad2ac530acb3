"""skill_abstention: was it right to do without every skill on offer?"""

from __future__ import annotations

from typing import Any

import pytest

from judge.evaluators.skill_abstention import SkillAbstention
from judge.question import Question
from judge.verdict import NotApplicable, NotJudged, Outcome, Verdict
from tests.judge.trajectories import call, load, skills, trajectory


def _finding(**session: Any) -> Question | Verdict:
    (finding,) = SkillAbstention().plan(trajectory(**session), [])
    return finding


def test_declining_what_was_offered_is_a_question_about_the_session() -> None:
    question = _finding(task="Say hello", offered_skills=skills("pdf", "xls"), answer="Hello!")
    assert isinstance(question, Question)
    assert question.subject.kind == "session"
    assert dict(question.scale.values) == {"Yes": 1.0, "No": 0.0}
    for text in ("Say hello", "helps with pdf", "Hello!"):
        assert text in question.prompt.prefix


@pytest.mark.parametrize(
    ("session", "outcome"),
    [
        ({"offered_skills": None}, NotJudged("content_not_recorded", "which skills were on offer was not recorded")),
        ({"offered_skills": ()}, NotApplicable("no skill was on offer")),
        ({"skill_invocations": (load("pdf"),)}, NotApplicable("a skill was asked for")),
        ({"task": None}, NotJudged("content_not_recorded", "the task was not recorded")),
    ],
)
def test_otherwise_nobody_is_asked(session: dict[str, Any], outcome: Outcome) -> None:
    verdict = _finding(**({"offered_skills": skills("pdf")} | session))
    assert isinstance(verdict, Verdict)
    assert verdict.outcome == outcome


def test_a_catalog_that_a_long_record_may_have_lost_is_shown_again() -> None:
    calls = [call(f"tool-{number}", {}, number=number, result="r" * 3_000) for number in range(1, 400)]
    session = trajectory(*calls, offered_skills=skills("pdf", "xls"))
    (question,) = SkillAbstention(transcript_tokens=10_000).plan(session, [])
    assert isinstance(question, Question)
    assert "helps with xls" in question.prompt.question
