"""skill_selection: one question for each choice of a skill."""

from __future__ import annotations

from typing import Any

import pytest

from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.trajectory import Agent
from judge.evaluators.skill_selection import SkillSelection
from judge.question import Question
from judge.verdict import NotApplicable, NotJudged, Verdict
from tests.judge.trajectories import call, load, skills, trajectory


def _plan(*loads: SkillInvocation, **session: Any) -> list[Question | Verdict]:
    calls = session.pop("calls", ())
    return list(SkillSelection().plan(trajectory(*calls, skill_invocations=loads, **session), []))


def _question(*loads: SkillInvocation, **session: Any) -> Question:
    (finding,) = _plan(*loads, **session)
    assert isinstance(finding, Question)
    return finding


def test_each_choice_is_a_question_about_that_choice() -> None:
    first, second = _plan(load("pdf", number=3), load("xls", number=4), offered_skills=skills("pdf", "xls"))
    assert isinstance(first, Question)
    assert isinstance(second, Question)
    assert [first.subject.name, second.subject.name] == ["pdf", "xls"]
    assert first.subject.kind == "skill"
    assert first.subject.ref != second.subject.ref
    assert "<skill>pdf</skill>" in first.prompt.question
    assert "<skill>xls</skill>" in second.prompt.question
    assert first.prompt.prefix == second.prompt.prefix, "so that a judge's cache can serve both"
    assert dict(first.scale.values) == {"Yes": 1.0, "No": 0.0}


def test_the_judge_sees_task_catalog_session_and_answer() -> None:
    prompt = _question(
        load("pdf"),
        task="Fill in the form",
        offered_skills=skills("pdf", "xls"),
        calls=(call("read", {"p": "form"}, result="three fields"),),
        answer="Filled.",
    ).prompt
    for text in ("Fill in the form", "helps with xls", "three fields", "Filled."):
        assert text in prompt.prefix


def test_no_catalog_and_an_empty_one_are_told_apart() -> None:
    unknown = _question(load("pdf"), offered_skills=None).prompt.prefix
    empty = _question(load("pdf"), offered_skills=()).prompt.prefix
    assert '<offered_skills state="not recorded"/>' in unknown
    assert '<offered_skills state="recorded: none were offered"/>' in empty


def test_a_refused_choice_is_asked_about_with_its_refusal() -> None:
    question = _question(load("pdf", LoadOutcome.REFUSED, refusal="no such skill </choice>")).prompt.question
    assert "<outcome>refused</outcome>" in question
    assert "<refusal>no such skill &lt;/choice></refusal>" in question
    assert "Judge the choice and not what came of it" in question


def test_a_sub_agents_choice_is_seen_against_its_own_catalog() -> None:
    helper = Agent("helper", offered_skills=skills("mail"))
    question = _question(load("mail", agent="helper"), offered_skills=skills("pdf"), agents=(helper,)).prompt.question
    assert "What this sub-agent was offered" in question
    assert "helps with mail" in question
    unknown = _question(load("mail", agent="other"), offered_skills=skills("pdf"), agents=(helper,)).prompt.question
    assert '<offered_skills state="not recorded"/>' in unknown


def test_two_choices_in_one_span_are_two_subjects() -> None:
    refs = {finding.subject.ref for finding in _plan(load("pdf"), load("pdf"))}
    assert len(refs) == 2


@pytest.mark.parametrize(
    ("loads", "session"), [([load(None)], {}), ([load("pdf")], {"task": None})], ids=["name hidden", "task hidden"]
)
def test_without_name_or_task_nobody_is_asked(loads: list[SkillInvocation], session: dict[str, Any]) -> None:
    (verdict,) = _plan(*loads, **session)
    assert isinstance(verdict, Verdict)
    assert isinstance(verdict.outcome, NotJudged)
    assert verdict.outcome.reason == "content_not_recorded"


def test_what_the_person_loaded_was_not_the_agents_choice() -> None:
    (verdict,) = _plan(load("pdf", loaded_by=LoadedBy.USER))
    assert isinstance(verdict, Verdict)
    assert verdict.outcome == NotApplicable("the person asked for this skill, not the agent")


def test_without_skills_nothing_applies() -> None:
    (verdict,) = _plan()
    assert isinstance(verdict, Verdict)
    assert verdict.outcome == NotApplicable("no skill was asked for")


def test_in_a_session_too_long_to_show_the_choice_and_its_neighbours_are_shown() -> None:
    calls = [call(f"tool-{number}", {}, number=number, result="r" * 3_000) for number in range(1, 400)]
    session = trajectory(*calls, skill_invocations=(load("pdf", number=200),))
    (finding,) = SkillSelection(transcript_tokens=10_000).plan(session, [])
    assert isinstance(finding, Question)
    assert "<tool>tool-200</tool>" not in finding.prompt.prefix
    assert "<tool>tool-200</tool>" in finding.prompt.question
    assert "<tool>tool-201</tool>" in finding.prompt.question
    assert len(finding.prompt.prefix) + len(finding.prompt.question) < 10_000 * 3.5 + 2_500
