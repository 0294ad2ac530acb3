"""What lets a question through, and what is said of why it waits."""

from __future__ import annotations

import pytest

from collector.judge_queue.gate import MESSAGE_BATCHES, Gate, Waiting
from collector.metrics import Metrics
from collector.store.obstacles import Obstacle
from collector.store.store import Held, OfModel
from judge.breaker import CircuitPolicy
from judge.budget import Limit, Refusal
from judge.concurrency import Concurrency, Pace
from judge.errors import JudgeError, JudgeMisconfigured, JudgeUnavailable

DOWN = JudgeUnavailable("judge_unavailable", "529")
SECOND = 1_000_000_000


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def gate(metrics: Metrics) -> Gate:
    policy = CircuitPolicy(failures=1, first_s=5)
    return Gate(policy, Concurrency(4), Pace(120), metrics.judge, default_model="usual")


def _refusal(evaluator: str | None = None) -> Refusal:
    return Refusal(Limit("hour", "tokens", 10, evaluator), 100 * SECOND, hopeless=False, detail="nothing is left")


def test_the_narrowest_bound_decides(gate: Gate) -> None:
    assert gate.room(0, in_flight=0) == 2, "120 a minute are two a second"
    assert gate.room(0, in_flight=3) == 1
    assert gate.room(0, in_flight=9) == 0


def test_an_open_circuit_lets_nothing_through_then_one(gate: Gate) -> None:
    call = gate.begins(0, "usual", ["q"])
    assert call
    assert gate.failed(call, DOWN, 0)
    assert gate.room(SECOND, 0) == 0
    assert gate.begins(SECOND, "usual", ["q"]) is None
    assert gate.waiting(SECOND) == Waiting("judge_unavailable", "529")
    assert gate.room(5 * SECOND, 0) == 1
    probe = gate.begins(5 * SECOND, "usual", ["q"])
    assert probe
    assert probe.probe
    assert gate.room(5 * SECOND, 1) == 0
    gate.answered(probe, 5 * SECOND)
    assert gate.waiting(5 * SECOND) is None


def test_a_spent_budget_holds_until_its_window_ends(gate: Gate) -> None:
    gate.hold(_refusal(), high_risk=False)
    assert gate.held(99 * SECOND) == [Held(None, high_risk=False)]
    assert gate.waiting(99 * SECOND, "any") == Waiting("budget_spent", "nothing is left")
    assert gate.waiting(99 * SECOND, "any", high_risk=True) is None
    assert gate.held(100 * SECOND) == []


def test_a_budget_of_one_evaluator_is_no_reason_for_another(gate: Gate) -> None:
    gate.hold(_refusal("dear"), high_risk=True)
    assert gate.waiting(0, "dear", high_risk=True) == Waiting("budget_spent", "nothing is left")
    assert gate.waiting(0, "cheap") is None
    assert gate.waiting(0) is not None, "somebody's questions wait"


def test_money_that_comes_back_lifts_the_hold(gate: Gate) -> None:
    gate.hold(_refusal(), high_risk=True)
    gate.spent_less()
    assert gate.held(0) == []


def test_a_refused_model_holds_its_own_questions_and_those_without_one_if_it_is_the_usual(gate: Gate) -> None:
    refused = JudgeMisconfigured("judge_not_authorised", "403", "model")
    for model in ("dear", "usual"):
        call = gate.begins(0, model, ["q"])
        assert call
        assert not gate.failed(call, refused, 0)
    assert gate.refused() == [OfModel("dear"), OfModel("usual"), OfModel(None)]
    assert gate.room(SECOND, 0) > 0
    assert gate.begins(SECOND, "dear", ["r"]) is None
    assert gate.waiting(SECOND, "any") == Waiting("judge_not_authorised", "usual: 403")
    assert gate.waiting(SECOND, "any", model="dear") == Waiting("judge_not_authorised", "dear: 403")
    assert gate.waiting(SECOND, "any", model="cheap") is None
    assert gate.to_try(5 * SECOND) == ["dear", "usual"]


def test_batches_that_are_not_taken_are_no_reason_for_questions_of_high_risk(gate: Gate) -> None:
    call = gate.begins(0, MESSAGE_BATCHES, ["q"])
    assert call
    gate.failed(call, JudgeMisconfigured("judge_request_rejected", "404", "model"), 0)
    assert gate.begins(0, MESSAGE_BATCHES, ["q"]) is None
    assert gate.waiting(0, "any") == Waiting("judge_request_rejected", "message batches: 404")
    assert gate.waiting(0, "any", high_risk=True) is None
    assert gate.to_try(5 * SECOND) == [], "no single question can try"
    assert gate.begins(5 * SECOND, MESSAGE_BATCHES, ["q"])


REFUSED = JudgeMisconfigured("judge_not_authorised", "403 no permission", "model")


def _ends(gate: Gate, model: str, error: JudgeError | None, now_ns: int = 0) -> None:
    """One call put to the model, which is answered, or ends so."""
    call = gate.begins(now_ns, model, [f"{model}-{now_ns}"])
    assert call
    if error is None:
        gate.answered(call, now_ns)
    else:
        gate.failed(call, error, now_ns)


def _ready(metrics: Metrics) -> bool:
    return metrics.registry.get_sample_value("spanjudge_judge_ready") == 1


def test_judging_is_ready_while_one_model_answers_and_not_when_all_are_refused(gate: Gate, metrics: Metrics) -> None:
    assert _ready(metrics)
    _ends(gate, "usual", None)
    _ends(gate, "dear", REFUSED)
    assert _ready(metrics)
    assert gate.unready(0) is None
    assert gate.waiting(0) == Waiting("judge_not_authorised", "dear: 403 no permission"), "told all the same"
    _ends(gate, "usual", REFUSED)
    assert not _ready(metrics)
    told = "no other model answers; dear: 403 no permission; usual: 403 no permission"
    assert gate.unready(0) == gate.waiting(0) == Waiting("judge_not_authorised", told)
    _ends(gate, "dear", None, 5 * SECOND)
    assert _ready(metrics)


def test_an_answer_of_more_than_an_hour_ago_does_not_make_judging_ready(gate: Gate, metrics: Metrics) -> None:
    _ends(gate, "before", None)
    _ends(gate, "usual", REFUSED, 1)
    assert _ready(metrics)
    gate.room(3_600 * SECOND, 0)
    assert not _ready(metrics)
    assert gate.unready(3_600 * SECOND) == Waiting("judge_not_authorised", "usual: 403 no permission")


def test_judging_is_not_ready_while_the_account_is_refused(gate: Gate, metrics: Metrics) -> None:
    _ends(gate, "usual", JudgeMisconfigured("judge_not_authorised", "401 invalid key", "account"))
    assert not _ready(metrics)
    assert gate.unready(0) == Waiting("judge_not_authorised", "401 invalid key")


def test_a_batch_that_is_taken_shows_nothing_of_its_models_and_an_answer_in_it_does(
    gate: Gate, metrics: Metrics
) -> None:
    _ends(gate, MESSAGE_BATCHES, None)
    gate.refused_in_batch("usual", "q", REFUSED, 0)
    assert not _ready(metrics)
    gate.answered_in_batch("dear", 0)
    assert _ready(metrics)


def test_without_a_judge_judging_is_not_ready() -> None:
    assert not _ready(Metrics())


def test_all_that_keeps_questions_waiting_is_told_with_whom_it_concerns_and_until_when(gate: Gate) -> None:
    assert gate.obstacles(0) == ()
    for model in ("dear", "usual", MESSAGE_BATCHES):
        _ends(gate, model, REFUSED)
    gate.hold(_refusal("dear"), high_risk=False)
    no_key = JudgeMisconfigured("judge_not_authorised", "401 invalid key", "account")
    _ends(gate, "cheap", no_key)
    until_ns, said = 5 * SECOND, "403 no permission"
    assert gate.obstacles(SECOND) == (
        Obstacle("judge_not_authorised", "401 invalid key", until_ns),
        Obstacle("judge_not_authorised", f"dear: {said}", until_ns, models=("dear",)),
        Obstacle("judge_not_authorised", f"usual: {said}", until_ns, models=("usual", None)),
        Obstacle("judge_not_authorised", f"{MESSAGE_BATCHES}: {said}", until_ns, spares_high_risk=True),
        Obstacle("budget_spent", "nothing is left", 100 * SECOND, evaluator="dear", spares_high_risk=True),
    )
