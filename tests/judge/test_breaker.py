"""The circuit between us and the judge."""

from __future__ import annotations

import pytest

from judge.breaker import Circuit, CircuitPolicy
from judge.errors import JudgeMisconfigured, JudgeUnavailable

SECOND = 1_000_000_000
DOWN = JudgeUnavailable("judge_unavailable", "529 overloaded")
NO_KEY = JudgeMisconfigured("judge_not_authorised", "401 invalid key", "account")


@pytest.fixture
def circuit() -> Circuit:
    return Circuit(CircuitPolicy(failures=3, first_s=5, max_s=20))


def _open(circuit: Circuit, now_ns: int = 0) -> None:
    for _ in range(3):
        circuit.failed(DOWN, now_ns, probe=False)


def test_failures_in_a_row_open_it_and_an_answer_between_them_does_not(circuit: Circuit) -> None:
    for _ in range(5):
        circuit.failed(DOWN, 0, probe=False)
        circuit.failed(DOWN, 0, probe=False)
        circuit.answered()
    assert circuit.state(0) == "closed"
    _open(circuit)
    assert (circuit.state(0), circuit.why) == ("open", DOWN)
    assert not circuit.may_ask(4 * SECOND)


def test_after_its_time_one_question_tries_and_its_answer_closes(circuit: Circuit) -> None:
    _open(circuit)
    now_ns = 5 * SECOND
    assert circuit.may_ask(now_ns)
    assert circuit.begins(now_ns)
    assert not circuit.may_ask(now_ns), "one at a time"
    circuit.answered()
    assert (circuit.state(now_ns), circuit.why) == ("closed", None)
    assert not circuit.begins(now_ns)


def test_each_failed_try_doubles_the_wait_up_to_the_longest(circuit: Circuit) -> None:
    _open(circuit)
    now_ns, waits = 0, []
    for wait_s in (5, 10, 20, 20):
        assert not circuit.may_ask(now_ns + wait_s * SECOND - 1)
        now_ns += wait_s * SECOND
        assert circuit.may_ask(now_ns)
        waits.append(circuit.begins(now_ns))
        circuit.failed(DOWN, now_ns, probe=True)
    assert waits == [True] * 4


def test_after_an_answer_the_wait_starts_short_again(circuit: Circuit) -> None:
    _open(circuit)
    circuit.begins(5 * SECOND)
    circuit.failed(DOWN, 5 * SECOND, probe=True)
    circuit.begins(15 * SECOND)
    circuit.answered()
    _open(circuit, 20 * SECOND)
    assert circuit.may_ask(25 * SECOND)


def test_the_service_may_ask_for_a_longer_wait_but_not_for_years(circuit: Circuit) -> None:
    circuit.failed(DOWN, 0, probe=False)
    circuit.failed(DOWN, 0, probe=False)
    circuit.failed(JudgeUnavailable("judge_unavailable", "429", retry_after_s=90), 0, probe=False)
    assert not circuit.may_ask(89 * SECOND)
    assert circuit.may_ask(90 * SECOND)
    circuit.begins(90 * SECOND)
    circuit.failed(JudgeUnavailable("judge_unavailable", "429", retry_after_s=1e9), 90 * SECOND, probe=True)
    assert circuit.may_ask((90 + 3600) * SECOND)


def test_a_refused_key_opens_it_at_once_and_is_nobodys_attempt(circuit: Circuit) -> None:
    assert not circuit.failed(NO_KEY, 0, probe=False)
    assert (circuit.state(0), circuit.why) == ("open", NO_KEY)


def test_only_failures_of_a_closed_circuit_count_as_attempts(circuit: Circuit) -> None:
    assert [circuit.failed(DOWN, 0, probe=False) for _ in range(5)] == [True, True, True, False, False]
    circuit.begins(5 * SECOND)
    assert not circuit.failed(DOWN, 5 * SECOND, probe=True)


def test_calls_begun_before_it_opened_do_not_lengthen_the_wait(circuit: Circuit) -> None:
    _open(circuit)
    circuit.failed(DOWN, 3 * SECOND, probe=False)
    assert circuit.may_ask(5 * SECOND)


def test_a_try_that_was_not_made_leaves_room_for_the_next(circuit: Circuit) -> None:
    _open(circuit)
    assert circuit.begins(5 * SECOND)
    circuit.abandoned(probe=True)
    assert circuit.may_ask(5 * SECOND)
