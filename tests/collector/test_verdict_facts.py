"""What is counted of a verdict, and which of them count as the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collector.verdict_facts import Example, example_of, facts_of
from judge.verdict import Judged, NotApplicable, NotJudged, Outcome, Score
from tests.fakes.verdicts import NOW_NS, TRACE_ID, judged


@pytest.mark.parametrize(
    ("outcome", "label", "score", "not_judged"),
    [
        (Score(0.5, "partly", "half"), "partly", 0.5, None),
        (NotApplicable("no skill"), "not_applicable", None, None),
        (NotJudged("judge_refused", "policy"), "not_judged", None, "judge_refused"),
    ],
)
def test_a_verdict_without_a_score_has_none(
    outcome: Outcome, label: str, score: float | None, not_judged: str | None
) -> None:
    facts = facts_of(judged(outcome=outcome))
    assert (facts.label, facts.score, facts.not_judged) == (label, score, not_judged)


def test_verdicts_of_two_sessions_that_say_the_same_have_the_same_facts() -> None:
    first, second = judged("s-1"), judged("s-2", outcome=Score(1.0, "yes", "In other words."))
    assert facts_of(first) == facts_of(second)
    assert facts_of(first) != facts_of(replace(first, agent_version="8"))


def test_only_a_skill_is_named() -> None:
    about_skill = judged(skill="refunds")
    subject = replace(about_skill.verdict.subject, kind="tool_call", name="search")
    about_tool = replace(about_skill, verdict=replace(about_skill.verdict, subject=subject))
    assert (facts_of(about_skill).skill, facts_of(about_tool).skill) == ("refunds", None)


def test_an_example_without_an_anchor_names_the_session_alone() -> None:
    assert example_of(judged()) == Example(TRACE_ID, "s-1", NOW_NS)
    assert example_of(judged(anchor=None)) == Example(None, "s-1", NOW_NS)


def test_the_case_is_told_of_what_fails_a_gate_and_of_nothing_else() -> None:
    def about(outcome: Outcome) -> Judged:
        made = judged(evaluator="forbidden_events", outcome=outcome)
        return replace(made, verdict=replace(made.verdict, case="desk/never-delete"))

    violated, clean = facts_of(about(Score(0.0, "violated", ""))), facts_of(about(Score(1.0, "clean", "")))
    assert (violated.failed_gate, violated.case) == ("forbidden_events", "desk/never-delete")
    assert (clean.failed_gate, clean.case) == (None, "")
