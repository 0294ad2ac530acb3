"""What other people's evaluators return, and how little it may harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from extractors.trajectory import Trajectory
from judge.catalog import build, plan_all, plugin_entry
from judge.plugins import MAX_LABEL, MAX_TEXT, BadFinding, Plugin
from judge.question import Prompt, Question, Scale
from judge.suites import Case
from judge.verdict import NotApplicable, NotJudged, Score, Subject, Verdict
from tests.judge.trajectories import call, trajectory

SESSION = trajectory(call("find", {"q": 1}), answer="done")
WHOLE = Subject("session", "session")
FINE = Verdict("tone", "1", WHOLE, Score(1.0, "polite", "It said please."))
ASKED = Question("tone", "1", WHOLE, Prompt("", "", "Was it polite?", "v1", "ab"), Scale({"Yes": 1.0, "No": 0.0}))


class Tone:
    """An evaluator that finds whatever it is told to."""

    id = "tone"
    version = "1"

    def __init__(self, *findings: Any) -> None:
        self._findings = findings

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        return self._findings


def _plan(*findings: Any) -> Sequence[Question | Verdict]:
    return Plugin(Tone(*findings)).plan(SESSION, [])


def _odd(record: Any, **fields: Any) -> Any:
    """The record with fields of any type at all."""
    return replace(record, **fields)


def _with(outcome: Any) -> Verdict:
    return replace(FINE, outcome=outcome)


def test_what_is_as_it_should_be_is_passed_on_as_it_is() -> None:
    other = replace(ASKED, subject=Subject("tool_call", "span:a/b", SESSION.root_anchor, "find"))
    assert _plan(FINE, other) == [FINE, other]
    assert _plan(_with(NotJudged("no_licence"))) == [_with(NotJudged("no_licence"))]


@pytest.mark.parametrize(
    ("finding", "why"),
    [
        ("Yes", "a finding is a str, neither Verdict nor Question"),
        (None, "a finding is a NoneType"),
        (replace(FINE, evaluator="goal_completion"), "Verdict.evaluator is not tone"),
        (replace(ASKED, evaluator="composite"), "Question.evaluator is not tone"),
        (_odd(FINE, evaluator_version=2), "Verdict.evaluator_version cannot be a int"),
        (_odd(FINE, subject=None), "Verdict.subject cannot be a NoneType"),
        (_odd(FINE, subject=Subject("planet", "x")), "Verdict.subject.kind cannot be a str"),  # type: ignore[arg-type]
        (_odd(FINE, high_risk="no"), "Verdict.high_risk cannot be a str"),
        (_odd(FINE, input_tokens=True), "Verdict.input_tokens cannot be a bool"),
        (replace(FINE, agreement=float("nan")), "Verdict.agreement must be a share"),
        (_with(0.7), "Verdict.outcome cannot be a float"),
        (_with(None), "Verdict.outcome cannot be a NoneType"),
        (_with(Score(1, 5, "x")), "Verdict.outcome.label cannot be a int"),  # type: ignore[arg-type]
        (_with(Score(1, "ok", None)), "Verdict.outcome.explanation cannot be a NoneType"),  # type: ignore[arg-type]
        (_with(Score(1, "", "x")), "Score.label must have 1 to"),
        (_with(Score(1, "l" * (MAX_LABEL + 1), "x")), "Score.label must have 1 to"),
        (_with(Score(1, "ok", "x" * (MAX_TEXT + 1))), "a text of Score has more than"),
        (_with(NotApplicable("x" * (MAX_TEXT + 1))), "a text of NotApplicable has more than"),
        (replace(ASKED, prompt=replace(ASKED.prompt, question="")), "Question.prompt.question is empty"),
        (replace(ASKED, prompt=_odd(ASKED.prompt, prefix=7)), "Question.prompt.prefix cannot be a int"),
        (replace(ASKED, scale=Scale({})), "Question.scale needs labels"),
        (replace(ASKED, scale=Scale({"Yes": 7.0})), "Question.scale needs labels"),
        (replace(ASKED, scale=Scale({"Yes": float("nan")})), "Question.scale needs labels"),
        (replace(ASKED, scale=Scale({1: 1.0})), "a key of Question.scale.values cannot be a int"),  # type: ignore[dict-item]
        (replace(ASKED, votes=0), "Question.votes must be"),
        (replace(ASKED, votes=2), "Question.votes must be"),
        (_odd(ASKED, shape="essay"), "Question.shape cannot be a str"),
    ],
)
def test_a_finding_that_nothing_could_be_made_of_is_told_by_its_place(finding: object, why: str) -> None:
    with pytest.raises(BadFinding) as caught:
        _plan(finding)
    assert str(caught.value).startswith(why)


def test_two_findings_about_the_same_are_told_since_one_would_be_lost() -> None:
    with pytest.raises(BadFinding, match="same subject"):
        _plan(FINE, _with(Score(0.0, "rude", "It did not.")))
    with pytest.raises(BadFinding, match="same subject"):
        _plan(FINE, ASKED)
    assert len(_plan(FINE, replace(FINE, case="shop/refund"))) == 2


def test_nothing_found_is_said() -> None:
    (verdict,) = _plan()
    assert isinstance(verdict, Verdict)
    assert isinstance(verdict.outcome, NotApplicable)
    assert (verdict.evaluator, verdict.evaluator_version) == ("tone", "1")


def _exits() -> Sequence[Verdict]:
    raise SystemExit(3)


@pytest.mark.parametrize("behave", [_exits, lambda: ["Yes"], lambda: [_with(0.7)], lambda: None])
def test_neighbours_of_a_bad_plugin_go_on(behave: Callable[[], Any]) -> None:
    class Bad(Tone):
        def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
            found: Sequence[Question | Verdict] = behave()
            return found

    plan = plan_all(SESSION, [], build(custom={"tone": plugin_entry(Plugin(Bad()))}))
    alone = plan_all(SESSION, [], build())
    assert [one for one in plan.verdicts if one.evaluator != "tone"] == list(alone.verdicts)
    assert plan.questions == alone.questions
    (verdict,) = [one for one in plan.verdicts if one.evaluator == "tone"]
    assert isinstance(verdict.outcome, NotJudged)
    assert verdict.outcome.reason == "evaluator_error"


def test_a_version_that_changes_its_mind_or_fails_later_is_read_once() -> None:
    class Fickle(Tone):
        read = 0

        @property
        def version(self) -> str:  # type: ignore[override]
            Fickle.read += 1
            if Fickle.read > 1:
                raise RuntimeError("gone")
            return "1"

    plugin = Plugin(Fickle(FINE))
    assert (plugin.version, plugin.version) == ("1", "1")


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("id", 7, "id must be text"),
        ("id", "", "id must be text"),
        ("id", "Tone of voice", "id is 'Tone of voice'; it must have lower-case letters"),
        ("id", "t" * 61, "at most 60"),
        ("version", None, "version must be text"),
        ("plan", [], "plan must be a method"),
    ],
)
def test_what_is_no_evaluator_is_not_taken_for_one(name: str, value: object, why: str) -> None:
    evaluator = Tone()
    setattr(evaluator, name, value)
    with pytest.raises(TypeError, match=why):
        Plugin(evaluator)
