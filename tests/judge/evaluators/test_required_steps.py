"""required_steps: what the suite wants done, in order where order matters."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.skills import LoadOutcome, SkillInvocation
from extractors.trajectory import CallOutcome, ToolCall
from judge.evaluators.required_steps import RequiredSteps
from judge.verdict import NotApplicable, NotJudged, Outcome, Score
from tests.judge.trajectories import call, case, failed, load, trajectory

FIND, PAY = call("find", {"order": "41"}, number=1), call("pay", {"sum": "5 EUR"}, number=2)
REFUSED_PAY = call("pay", {"sum": "5 EUR"}, CallOutcome.REFUSED)


def _outcome(
    steps: str, calls: list[ToolCall], loads: tuple[SkillInvocation, ...] = (), ordered: bool = False
) -> Outcome:
    wanted = case(f"ordered: {str(ordered).lower()}\nrequired_steps: {steps}")
    (verdict,) = RequiredSteps().plan(trajectory(*calls, skill_invocations=loads), [wanted])
    return verdict.outcome


def _score(
    steps: str, calls: list[ToolCall], loads: tuple[SkillInvocation, ...] = (), ordered: bool = False
) -> tuple[str, float]:
    outcome = _outcome(steps, calls, loads, ordered)
    assert isinstance(outcome, Score), outcome
    return outcome.label, round(outcome.value, 3)


@pytest.mark.parametrize(
    ("steps", "calls", "expected"),
    [
        ("[{tool: find}, {tool: pay}]", [FIND, PAY], ("followed", 1.0)),
        ("[{tool: find}, {tool: pay}]", [PAY, FIND], ("followed", 1.0)),
        ("[{tool: find}, {tool: pay}]", [FIND], ("incomplete", 0.5)),
        ("[{tool: find}, {tool: pay}]", [], ("incomplete", 0.0)),
        ("[{tool: p*}]", [PAY], ("followed", 1.0)),
        ("[{tool: pay}]", [REFUSED_PAY], ("incomplete", 0.0)),
        ("[{tool: pay}]", [failed("pay", {})], ("incomplete", 0.0)),
        ("[{tool: pay}]", [failed("pay", {}), PAY], ("followed", 1.0)),
        ("[{tool: find}, {tool: find}]", [FIND], ("incomplete", 0.5)),
        ("[{tool: find}, {tool: find}]", [FIND, FIND], ("followed", 1.0)),
        ("[{tool: '*'}, {tool: find}]", [FIND, PAY], ("followed", 1.0)),
        ("[{tool: pay, arguments: '*EUR*'}]", [PAY], ("followed", 1.0)),
        ("[{tool: pay, arguments: {sum: '5 *'}}]", [PAY], ("followed", 1.0)),
        ("[{tool: pay, arguments: {sum: '6 *'}}]", [PAY], ("incomplete", 0.0)),
        ("[{tool: pay, arguments: {other: '*'}}]", [PAY], ("incomplete", 0.0)),
        (
            "[{tool: a, arguments: {n: 3, b: true, l: '[1,2]'}}]",
            [call("a", {"n": 3, "b": True, "l": [1, 2]})],
            ("followed", 1.0),
        ),
        ("[{tool: a, arguments: {n: 1}}]", [call("a", {"n": True})], ("incomplete", 0.0)),
    ],
)
def test_unordered_steps(steps: str, calls: list[ToolCall], expected: tuple[str, float]) -> None:
    assert _score(steps, calls) == expected


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("abc", ("followed", 1.0)),
        ("xaxbxcx", ("followed", 1.0)),
        ("acb", ("out_of_order", 0.667)),
        ("cba", ("out_of_order", 0.333)),
        ("cabc", ("followed", 1.0)),
        ("ab", ("incomplete", 0.667)),
        ("ba", ("incomplete", 0.333)),
    ],
)
def test_ordered_steps(calls: str, expected: tuple[str, float]) -> None:
    steps = "[{tool: a}, {tool: b}, {tool: c}]"
    assert _score(steps, [call(name, {}) for name in calls], ordered=True) == expected


@given(st.lists(st.sampled_from("abcx"), max_size=8))
def test_ordered_steps_are_followed_exactly_when_they_are_a_subsequence(names: list[str]) -> None:
    remaining = iter(names)
    expected = all(name in remaining for name in "abc")
    label, _ = _score("[{tool: a}, {tool: b}, {tool: c}]", [call(name, {}) for name in names], ordered=True)
    assert (label == "followed") is expected


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_the_order_of_calls_does_not_matter_unless_asked_for(order: tuple[str, ...]) -> None:
    assert _score("[{tool: a}, {tool: b}, {tool: c}]", [call(name, {}) for name in order]) == ("followed", 1.0)


def test_a_skill_stands_where_the_call_that_loaded_it_stands() -> None:
    calls = [call("find", {}, number=1), call("Skill", {}, call_id="c2", number=2), call("pay", {}, number=3)]
    pdf = (load("office:pdf", call_id="c2", number=9),)
    assert _score("[{tool: find}, {skill: pdf}, {tool: pay}]", calls, pdf, ordered=True) == ("followed", 1.0)
    assert _score("[{skill: pdf}, {tool: find}]", calls, pdf, ordered=True) == ("out_of_order", 0.5)


def test_a_skill_without_a_known_place_counts_only_where_order_does_not_matter() -> None:
    pdf = (load("pdf", number=9),)
    assert _score("[{skill: pdf}, {tool: find}]", [FIND], pdf) == ("followed", 1.0)
    assert isinstance(_outcome("[{skill: pdf}, {tool: find}]", [FIND], pdf, ordered=True), NotJudged)


def test_a_refused_skill_is_no_step() -> None:
    assert _score("[{skill: pdf}]", [], (load("pdf", LoadOutcome.REFUSED),)) == ("incomplete", 0.0)


@pytest.mark.parametrize(
    "hidden", [call("pay"), call("pay", arguments_text='{"sum": "5 E')], ids=["not recorded", "cut"]
)
def test_arguments_that_decide_and_were_not_recorded_are_not_judged(hidden: ToolCall) -> None:
    outcome = _outcome("[{tool: pay, arguments: '*EUR*'}]", [hidden])
    assert isinstance(outcome, NotJudged)
    assert outcome.reason == "content_not_recorded"


def test_arguments_that_decide_nothing_need_not_be_recorded() -> None:
    assert _score("[{tool: pay}]", [call("pay")]) == ("followed", 1.0)
    assert _score("[{tool: pay, arguments: '*EUR*'}]", [call("pay"), PAY]) == ("followed", 1.0)
    assert _score("[{tool: find}, {tool: pay, arguments: '*EUR*'}]", [call("pay")]) == ("incomplete", 0.5)


def test_a_skill_that_a_hidden_read_may_have_loaded_is_not_called_missing() -> None:
    assert isinstance(_outcome("[{skill: pdf}]", [call("Bash")]), NotJudged)
    assert isinstance(_outcome("[{skill: pdf}]", [call("Bash", {"command": "ls"})]), Score)


def test_the_explanation_names_what_is_missing() -> None:
    outcome = _outcome("[{tool: find}, {tool: pay, arguments: '*EUR*'}, {skill: pdf}]", [FIND])
    assert isinstance(outcome, Score)
    assert outcome.explanation == "missing 2 of 3 required steps: pay with *EUR*, skill pdf"


def test_without_required_steps_nothing_applies() -> None:
    (verdict,) = RequiredSteps().plan(trajectory(FIND), [])
    assert verdict.outcome == NotApplicable("no case requires steps")
