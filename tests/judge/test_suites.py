"""Suites: what a file says, and which sessions its cases are about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from extractors.trajectory import Trajectory, Versions
from judge.documents import DocumentError
from judge.suites import Match, Suite, expectations_for, parse_suite, parse_suites, same_skill
from tests.judge.trajectories import trajectory

FULL = """
name: shop
version: "3"
cases:
  - id: refund
    match:
      task_contains: refund
      service: [shop-*, store]
      attributes: {deployment.environment.name: "prod*", canary: false}
    risk: high
    expected_skill: refunds
    ordered: true
    required_steps:
      - tool: find_order
        arguments: {order: "4*", limit: 1}
      - skill: refunds
      - tool: "pay_*"
        arguments: "*EUR*"
    forbidden_events:
      - tool: delete_*
      - skill: admin
      - answer_contains: guarantee
    answer_contains: [refund, days]
    budgets: {tool_calls: 8, repeated_calls: 0, seconds: 60, tokens: 20000}
"""

SESSION = replace(
    trajectory(task="I want a Refund for order 41"),
    versions=Versions(service="shop-eu", agent="support"),
    attributes={"deployment.environment.name": "production", "canary": False},
)


def _suite(match: str) -> Suite:
    return parse_suite(f"name: s\nversion: a\ncases:\n  - id: c\n    match: {match}\n", "s.yaml")


def _is_about(match: str, session: Trajectory = SESSION) -> bool:
    return bool(expectations_for(session, [_suite(match)]))


def _problems(text: str) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_suite(text, "s.yaml")
    return str(caught.value)


def test_a_full_case_is_read() -> None:
    (case,) = parse_suite(FULL, "s.yaml").cases
    assert (case.key, case.high_risk, case.expected_skill, case.ordered) == ("shop/refund", True, "refunds", True)
    assert [step.tool or step.skill for step in case.required_steps] == ["find_order", "refunds", "pay_*"]
    assert case.required_steps[0].arguments == {"order": "4*", "limit": 1}
    assert case.answer_contains == ("refund", "days")
    assert (case.budgets.tool_calls, case.budgets.repeated_calls) == (8, 0)
    assert case.match == Match(
        task_contains=("refund",),
        service=("shop-*", "store"),
        attributes={"deployment.environment.name": "prod*", "canary": False},
    )


def test_a_session_that_fits_every_condition_has_the_case() -> None:
    assert [case.key for case in expectations_for(SESSION, [parse_suite(FULL, "s.yaml")])] == ["shop/refund"]


@pytest.mark.parametrize(
    "match",
    [
        "{}",
        "{task_contains: [refund, ORDER]}",
        "{task_matches: ['x*', '*order 41']}",
        "{service: shop-eu}",
        "{agent: sup*}",
        "{attributes: {spanjudge.harness: testing, service.name: shop-*}}",
        "{attributes: {canary: false}}",
    ],
)
def test_conditions_that_hold(match: str) -> None:
    assert _is_about(match)


@pytest.mark.parametrize(
    "match",
    [
        "{task_contains: [refund, invoice]}",
        "{task_matches: '*order'}",
        "{task_matches: '*refund*'}",
        "{service: shop}",
        "{agent: support, service: other}",
        "{attributes: {canary: true}}",
        "{attributes: {canary: 0}}",
        "{attributes: {unheard.of: '*'}}",
    ],
)
def test_conditions_that_do_not_hold(match: str) -> None:
    assert not _is_about(match)


@pytest.mark.parametrize("match", ["{task_contains: a}", "{task_matches: '*'}", "{service: '*'}", "{agent: '*'}"])
def test_a_condition_on_what_was_not_recorded_does_not_hold(match: str) -> None:
    assert not _is_about(match, trajectory(task=None))
    assert _is_about("{}", trajectory(task=None))


def test_a_plain_name_stands_for_the_skill_of_any_plugin() -> None:
    assert same_skill("pdf", "pdf")
    assert same_skill("pdf", "office:pdf")
    assert not same_skill("office:pdf", "pdf")
    assert not same_skill("other:pdf", "office:pdf")
    assert not same_skill("PDF", "pdf")


def test_every_mistake_is_told_with_its_line() -> None:
    text = (
        "name: s\nversion: 1\ncases:\n  - id: a b\n    match: {}\n    budget: {}\n    required_steps:\n"
        "      - {tool: a, skill: b}\n      - {skill: b, arguments: x}\n    forbidden_events: [{}]\n"
        "  - id: c\n    risk: extreme\n"
    )
    problems = _problems(text)
    assert "s.yaml:2: version: must be text: put it in quotes" in problems
    assert "s.yaml:4: cases[0].id: " in problems
    assert "s.yaml:6: cases[0].budget: unknown key: did you mean budgets?" in problems
    assert "s.yaml:8: cases[0].required_steps[0]: give either tool or skill" in problems
    assert "s.yaml:9: cases[0].required_steps[1]: arguments go with tool, not with skill" in problems
    assert "s.yaml:10: cases[0].forbidden_events[0]: give one of tool, skill and answer_contains" in problems
    assert "s.yaml:11: cases[1].match: is required: add it" in problems
    assert "s.yaml:12: cases[1].risk: must be 'normal' or 'high'" in problems
    assert len(problems.splitlines()) == 8


def test_two_cases_of_one_id_are_a_problem() -> None:
    text = "name: s\nversion: a\ncases:\n  - {id: c, match: {}}\n  - {id: c, match: {}}\n"
    assert "c is there more than once" in _problems(text)


def test_an_empty_condition_text_is_a_problem_because_it_would_fit_everything() -> None:
    assert "cases[0].match.task_contains[0]" in _problems(
        "name: s\nversion: a\ncases:\n  - {id: c, match: {task_contains: ['']}}\n"
    )


def test_two_files_may_not_share_a_suite_name() -> None:
    text = "name: s\nversion: a\ncases: [{id: c, match: {}}]\n"
    with pytest.raises(DocumentError) as caught:
        parse_suites({"a.yaml": text, "b.yaml": text, "c.yaml": "nam: t"})
    assert "b.yaml:1: name: another file has a suite called s: rename one" in str(caught.value)
    assert "c.yaml:1: nam: unknown key: did you mean name?" in str(caught.value)
    assert [suite.name for suite in parse_suites({"a.yaml": text})] == ["s"]
