"""The judge's circuit and those of its models, and who tries next."""

from __future__ import annotations

import pytest

from collector.judge_queue.circuits import Circuits
from judge.breaker import CircuitPolicy
from judge.errors import JudgeMisconfigured, JudgeUnavailable

SECOND = 1_000_000_000
DOWN = JudgeUnavailable("judge_unavailable", "529 overloaded")
NO_KEY = JudgeMisconfigured("judge_not_authorised", "401 invalid key", "account")
NO_MODEL = JudgeMisconfigured("judge_request_rejected", "404 no such model", "model")


@pytest.fixture
def circuits() -> Circuits:
    return Circuits(CircuitPolicy(failures=2, first_s=5, max_s=20))


def test_a_refused_model_is_not_asked_and_the_others_are(circuits: Circuits) -> None:
    assert not circuits.refuses(circuits.begins(0, "a", ["q"]), NO_MODEL, 0)
    assert not circuits.may_ask(0, "a")
    assert circuits.may_ask(0, "b")
    assert circuits.may_ask(0)
    assert (circuits.refused(), circuits.why, circuits.to_try(0)) == ({"a": NO_MODEL}, None, [])


def test_one_question_at_a_time_tries_a_refused_model_and_its_answer_lets_all_in(circuits: Circuits) -> None:
    circuits.refuses(circuits.begins(0, "a", ["q"]), NO_MODEL, 0)
    now_ns = 5 * SECOND
    assert circuits.to_try(now_ns) == ["a"]
    assert circuits.tried("a") == {"q"}
    call = circuits.begins(now_ns, "a", ["r"])
    assert (call.model_probe, call.probe, circuits.to_try(now_ns)) == (True, False, [])
    circuits.answered(call)
    assert (circuits.refused(), circuits.tried("a")) == ({}, frozenset())


def test_a_try_that_was_not_made_or_met_an_outage_leaves_room_for_the_next(circuits: Circuits) -> None:
    circuits.refuses(circuits.begins(0, "a", ["q"]), NO_MODEL, 0)
    now_ns = 5 * SECOND
    circuits.abandoned(circuits.begins(now_ns, "a", ["r"]))
    assert circuits.to_try(now_ns) == ["a"]
    assert circuits.failed(circuits.begins(now_ns, "a", ["r"]), DOWN, now_ns), "the judge's circuit is closed"
    assert circuits.to_try(now_ns) == ["a"]


def test_a_refused_model_shows_that_the_judge_is_back(circuits: Circuits) -> None:
    circuits.failed(circuits.begins(0, "a", ["q"]), NO_KEY, 0)
    circuits.refuses(circuits.begins(5 * SECOND, "a", ["r"]), NO_MODEL, 5 * SECOND)
    assert (circuits.why, circuits.tried()) == (None, frozenset())
    assert circuits.refused() == {"a": NO_MODEL}


def test_a_question_refused_again_after_others_were_answered_is_itself_at_fault(circuits: Circuits) -> None:
    circuits.refuses(circuits.begins(0, "a", ["bad"]), NO_MODEL, 0)
    circuits.answered(circuits.begins(5 * SECOND, "a", ["good"]))
    assert circuits.refuses(circuits.begins(6 * SECOND, "a", ["bad"]), NO_MODEL, 6 * SECOND)
    assert circuits.refused() == {}
    assert not circuits.refuses(circuits.begins(7 * SECOND, "a", ["good"]), NO_MODEL, 7 * SECOND)


def test_a_refused_key_is_nobody_s_fault_however_often(circuits: Circuits) -> None:
    for now_ns in (0, 10 * SECOND):
        assert not circuits.failed(circuits.begins(now_ns, "a", ["q"]), NO_KEY, now_ns)
        circuits.answered(circuits.begins(now_ns + 5 * SECOND, "a", ["r"]))


def test_only_failures_that_are_no_attempts_count_as_tries(circuits: Circuits) -> None:
    assert [circuits.failed(circuits.begins(0, "a", [str(n)]), DOWN, 0) for n in range(3)] == [True, True, False]
    assert circuits.tried() == {"2"}
    circuits.start_over()
    assert circuits.tried() == frozenset()


def test_what_tried_in_vain_is_remembered_within_bounds(circuits: Circuits) -> None:
    circuits.failed(circuits.begins(0, "a", ["first"]), NO_KEY, 0)
    circuits.failed(circuits.begins(0, "a", [str(n) for n in range(1_000)]), NO_KEY, 0)
    assert len(circuits.tried()) == 1_000
    assert "first" not in circuits.tried()
