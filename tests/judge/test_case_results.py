"""What became of cases, and what is counted for rates."""

from __future__ import annotations

from dataclasses import replace

from judge.case_results import (
    CaseResult,
    JudgedSession,
    Standing,
    case_results,
    session_counts,
    session_rates,
    verdict_rates,
)
from judge.significance import Count
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, SessionRef, Subject, Verdict
from judge.yardstick import Yardstick

SESSION = Subject("session", "session")
CASE = "desk/refund"


def verdict(evaluator: str, outcome: Outcome, case: str | None = CASE, *, high_risk: bool = False) -> Verdict:
    return Verdict(evaluator, "1", SESSION, outcome, case=case, high_risk=high_risk)


def score(value: float, label: str = "some") -> Score:
    return Score(value, label, f"because of {label}")


def session(*verdicts: Verdict, cases: tuple[str, ...] = (), name: str = "s-1") -> JudgedSession:
    return JudgedSession(SessionRef(name), None, verdicts, cases)


def result(*verdicts: Verdict) -> CaseResult:
    (found,) = case_results([session(*verdicts, cases=(CASE,))])
    return found


def test_a_case_passes_when_its_composite_does() -> None:
    found = result(verdict("skill_expected", score(1)), verdict("required_steps", score(1)))
    assert (found.standing, found.total, found.adherence, found.reasons) == (Standing.PASSED, 1, 1, ())


def test_adherence_that_was_not_judged_is_told_apart_from_adherence_that_does_not_apply() -> None:
    unanswered = verdict("skill_instruction_following", NotJudged("judge_refused", "no answer"), case=None)
    found = result(verdict("skill_expected", score(1)), unanswered)
    assert (found.adherence, found.adherence_unknown) == (None, "skill_instruction_following: no answer")
    for_the_case = result(verdict("required_steps", score(0.5)), unanswered)
    assert (for_the_case.adherence, for_the_case.adherence_unknown) == (0.5, "")
    assert result(verdict("skill_expected", score(1))).adherence_unknown == ""


def test_a_case_fails_by_what_the_composite_does_not_know() -> None:
    for broken in (
        verdict("forbidden_events", score(0, "violated")),
        verdict("budgets", score(0, "over")),
        verdict("step_efficiency", score(0.9, "over_budget")),
    ):
        found = result(verdict("skill_expected", score(1)), broken)
        assert found.standing is Standing.FAILED
        assert found.reasons[0].startswith(broken.evaluator)


def test_a_violation_decides_even_where_something_else_was_not_judged() -> None:
    found = result(verdict("skill_expected", NotJudged("pending")), verdict("budgets", score(0, "over")))
    assert found.standing is Standing.FAILED


def test_what_was_not_judged_is_neither_right_nor_wrong() -> None:
    found = result(
        verdict("skill_expected", score(1)), verdict("budgets", NotJudged("content_not_recorded", "no times"))
    )
    assert (found.standing, found.reasons) == (Standing.NOT_JUDGED, ("budgets: no times",))


def test_a_case_that_only_forbids_passes_when_nothing_forbidden_happened() -> None:
    assert result(verdict("forbidden_events", score(1, "clean"))).standing is Standing.PASSED


def test_a_case_about_which_nothing_was_found_is_not_judged() -> None:
    assert result(verdict("budgets", NotApplicable("none"), case=None)).standing is Standing.NOT_JUDGED


def test_a_stored_composite_is_taken_as_it_is() -> None:
    found = result(verdict("skill_expected", score(1)), verdict("composite", score(0.4, "fail")))
    assert (found.standing, found.total) == (Standing.FAILED, 0.4)


def test_risk_is_known_from_the_suite_or_from_the_verdicts() -> None:
    good = verdict("skill_expected", score(1))
    risky = verdict("skill_expected", score(1), high_risk=True)
    assert [one.high_risk for one in case_results([session(good), session(risky)])] == [False, True]
    assert case_results([session(good)], frozenset({CASE}))[0].high_risk


def test_a_session_counts_once_for_an_evaluator_and_only_with_a_score() -> None:
    sessions = [
        session(verdict("tool_selection", score(1)), verdict("tool_selection", score(0))),
        session(verdict("tool_selection", score(1)), verdict("tool_selection", score(1))),
        session(verdict("tool_selection", NotJudged("pending"))),
    ]
    assert session_counts(sessions) == {"tool_selection": Count(1, 1)}
    assert verdict_rates(one for each in sessions for one in each.verdicts) == {TOOL: Count(3, 1)}


TOOL = Yardstick("tool_selection", "1")


def by(model: str | None, outcome: Outcome) -> Verdict:
    return replace(verdict("tool_selection", outcome), judge_model=model, prompt_version="v1")


def test_scores_of_different_judges_are_counted_apart_and_their_session_once() -> None:
    sessions = [session(by("a", score(1)), by("b", score(0))), session(by("a", score(1)))]
    a, b = (Yardstick("tool_selection", "1", model, "v1") for model in "ab")
    assert session_rates(sessions) == {a: Count(2, 0), b: Count(0, 1)}
    assert session_counts(sessions) == {"tool_selection": Count(1, 1)}


def test_a_session_with_an_open_question_counts_only_if_something_failed() -> None:
    silent = by(None, NotJudged("judge_unavailable"))
    assert session_counts([session(by("a", score(1)), silent)]) == {}
    assert session_counts([session(by("a", score(0)), silent)]) == {"tool_selection": Count(0, 1)}
    gap = verdict("tool_selection", NotJudged("content_not_recorded"))
    assert session_counts([session(verdict("tool_selection", score(1)), gap)]) == {"tool_selection": Count(1, 0)}


def test_a_composite_counts_by_its_label() -> None:
    assert session_counts([session(verdict("composite", score(0.8, "fail")))]) == {"composite": Count(0, 1)}
