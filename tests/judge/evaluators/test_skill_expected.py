"""skill_expected: the skill the suite names, or none."""

from __future__ import annotations

import pytest

from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from judge.evaluators.skill_expected import SkillExpected
from judge.verdict import NotApplicable, NotJudged, Outcome, Score
from tests.judge.trajectories import call, case, load, trajectory

REFUSED = load("pdf", LoadOutcome.REFUSED, refusal="Skill 'pdf' not found")
UNANSWERED = load("pdf", LoadOutcome.UNANSWERED)


def _outcome(expected: str, *loads: SkillInvocation) -> Outcome:
    session = trajectory(skill_invocations=loads)
    (verdict,) = SkillExpected().plan(session, [case(f"expected_skill: {expected}")])
    assert verdict.case == "s/c"
    return verdict.outcome


@pytest.mark.parametrize(
    ("expected", "loads", "label"),
    [
        ("pdf", [load("pdf")], "as_expected"),
        ("pdf", [load("office:pdf")], "as_expected"),
        ("pdf", [load("xls"), load("pdf")], "as_expected"),
        ("pdf", [REFUSED, load("pdf")], "as_expected"),
        ("pdf", [load("pdf", loaded_by=LoadedBy.USER)], "as_expected"),
        ("pdf", [load("pdf", agent="helper")], "as_expected"),
        ("pdf", [], "not_loaded"),
        ("pdf", [REFUSED], "refused"),
        ("pdf", [load("xls")], "other_skill"),
        ("pdf", [load("PDF")], "other_skill"),
        ("office:pdf", [load("pdf")], "other_skill"),
        ("none", [], "as_expected"),
        ("none", [load("pdf")], "unexpected_skill"),
        ("none", [REFUSED], "unexpected_skill"),
        ("none", [load(None)], "unexpected_skill"),
        ("none", [load("pdf", loaded_by=LoadedBy.USER)], "as_expected"),
    ],
)
def test_labels(expected: str, loads: list[SkillInvocation], label: str) -> None:
    outcome = _outcome(expected, *loads)
    assert isinstance(outcome, Score)
    assert (outcome.label, outcome.value) == (label, float(label == "as_expected"))


def test_the_explanation_has_the_refusal() -> None:
    outcome = _outcome("pdf", REFUSED)
    assert isinstance(outcome, Score)
    assert outcome.explanation == ("skill pdf was asked for and refused: pdf (refused: Skill 'pdf' not found)")


@pytest.mark.parametrize("loads", [[load(None)], [UNANSWERED], [load("xls"), load(None)], [REFUSED, UNANSWERED]])
def test_what_the_telemetry_hides_is_not_judged(loads: list[SkillInvocation]) -> None:
    outcome = _outcome("pdf", *loads)
    assert isinstance(outcome, NotJudged)
    assert outcome.reason == "content_not_recorded"


HIDDEN, SHOWN = call("Bash"), call("Bash", {"command": "ls"})


@pytest.mark.parametrize(("expected", "loads"), [("pdf", []), ("pdf", [load("xls")]), ("none", [])])
def test_that_no_skill_was_loaded_is_not_claimed_where_what_tools_read_was_not_recorded(
    expected: str, loads: list[SkillInvocation]
) -> None:
    cases = [case(f"expected_skill: {expected}")]
    hidden, shown = (
        SkillExpected().plan(trajectory(tool, skill_invocations=tuple(loads)), cases)[0].outcome
        for tool in (HIDDEN, SHOWN)
    )
    assert isinstance(hidden, NotJudged)
    assert hidden.reason == "content_not_recorded"
    assert isinstance(shown, Score)


@pytest.mark.parametrize(("expected", "label"), [("pdf", "as_expected"), ("none", "unexpected_skill")])
def test_a_skill_that_was_seen_counts_whatever_else_was_not_recorded(expected: str, label: str) -> None:
    session = trajectory(HIDDEN, skill_invocations=(load("pdf"),))
    (verdict,) = SkillExpected().plan(session, [case(f"expected_skill: {expected}")])
    assert isinstance(verdict.outcome, Score)
    assert verdict.outcome.label == label


def test_each_case_gets_its_own_verdict_and_risk() -> None:
    cases = [case("expected_skill: pdf\nrisk: high"), case("expected_skill: none"), case("risk: high")]
    verdicts = SkillExpected().plan(trajectory(skill_invocations=(load("pdf"),)), cases)
    assert [
        (verdict.high_risk, verdict.outcome.value) for verdict in verdicts if isinstance(verdict.outcome, Score)
    ] == [
        (True, 1.0),
        (False, 0.0),
    ]


def test_without_an_expectation_nothing_applies() -> None:
    (verdict,) = SkillExpected().plan(trajectory(skill_invocations=(load("pdf"),)), [case("risk: high")])
    assert verdict.outcome == NotApplicable("no case expects a skill")
