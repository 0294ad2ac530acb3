"""One session's record is rendered once while all evaluators plan, and kept no longer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from extractors.trajectory import Trajectory
from judge.catalog import build, plan_all
from judge.evaluators import goal_completion
from judge.evaluators.asking import Asking
from judge.options import EvaluatorOptions
from judge.question import Question
from judge.redaction import NOTHING, Redaction
from judge.session_record import session_record, shared_record
from judge.suites import Case
from judge.transcript import Transcript, transcript
from judge.verdict import Verdict
from tests.judge.trajectories import call, trajectory

SESSION = trajectory(call("find", {"q": 1}), call("move", {"id": 7}), answer="Moved.")


class Reader:
    """An evaluator that keeps the record it was given."""

    version = "1"

    def __init__(self, name: str, tokens: int = 10_000, options: EvaluatorOptions | None = None) -> None:
        self.id = name
        self._asking = Asking("goal_completion", "1", goal_completion.SCALE, options or EvaluatorOptions(), tokens)
        self.read: list[Transcript] = []

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        self.read.append(self._asking.transcript(trajectory))
        return []


def test_evaluators_of_one_plan_share_a_record_and_a_later_plan_has_its_own() -> None:
    one, other = Reader("one"), Reader("other")
    plan_all(SESSION, [], [one, other])
    plan_all(SESSION, [], [one])
    assert one.read[0] is other.read[0]
    assert one.read[1] == one.read[0]
    assert one.read[1] is not one.read[0]


def test_another_limit_or_another_redaction_has_a_record_of_its_own() -> None:
    usual, short = Reader("usual"), Reader("short", tokens=5_000)
    masked = Reader("masked", options=EvaluatorOptions(redaction=Redaction()))
    plan_all(SESSION, [], [usual, short, masked])
    assert len({id(reader.read[0]) for reader in (usual, short, masked)}) == 3


def test_another_session_is_rendered_for_itself() -> None:
    before = trajectory(call("find", {"q": 1}))
    with shared_record(SESSION):
        assert session_record(before, 1_000, NOTHING) == transcript(before, 1_000, NOTHING)
        assert session_record(before, 1_000, NOTHING) is not session_record(before, 1_000, NOTHING)


def test_nothing_is_shared_after_an_evaluator_failed() -> None:
    with pytest.raises(KeyError), shared_record(SESSION):
        raise KeyError("a defect")
    assert session_record(SESSION, 1_000, NOTHING) is not session_record(SESSION, 1_000, NOTHING)


def test_questions_are_the_same_with_and_without_sharing() -> None:
    evaluators = build()
    together = plan_all(SESSION, [], evaluators).questions
    alone = [one for evaluator in evaluators for one in plan_all(SESSION, [], [evaluator]).questions]
    assert list(together) == alone
    assert together
