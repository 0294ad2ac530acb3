"""Why a question is open, in words that an engineer can act on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collector.store.obstacles import Obstacle, OpenQuestion, Told
from collector.waiting import Why, why_open
from tests.fakes.verdicts import NOW_NS

SECOND = 1_000_000_000
ASKED = OpenQuestion("q", "goal_completion", None, high_risk=False, asked=0, next_ns=NOW_NS, created_ns=NOW_NS)
NOW = NOW_NS + 600 * SECOND


def test_a_question_that_nothing_holds_up_waits_for_its_turn() -> None:
    told = "waiting for a judge for 10 min; no attempt counted against it yet; its turn comes after those before it"
    assert why_open(ASKED, None, NOW) == Why(told)
    assert why_open(ASKED, Told(NOW_NS), NOW) == Why(told)


def test_attempts_what_they_met_and_the_next_try_are_told() -> None:
    tried = replace(ASKED, asked=2, next_ns=NOW + 40 * SECOND, trouble="judge_unavailable: 529 overloaded")
    assert why_open(tried, Told(NOW_NS), NOW).told == (
        "waiting for a judge for 10 min; 2 attempts failed, the last met judge_unavailable: 529 overloaded; "
        "next try in 40 s"
    )


def test_an_open_circuit_is_the_cause_and_says_when_it_is_tried() -> None:
    key = Obstacle("judge_not_authorised", "401 invalid key", NOW + 30 * SECOND)
    assert why_open(ASKED, Told(NOW - 20 * SECOND, (key,)), NOW) == Why(
        "waiting for a judge for 10 min; no attempt counted against it yet; held up by judge_not_authorised: "
        "401 invalid key (said 20 s ago); next try in 30 s",
        "judge_not_authorised",
    )
    assert why_open(ASKED, Told(NOW, (replace(key, until_ns=NOW),)), NOW).told.endswith("tried again at any moment")


@pytest.mark.parametrize(
    ("obstacle", "question", "concerned"),
    [
        (Obstacle("budget_spent", "gone", evaluator="faithfulness"), ASKED, False),
        (Obstacle("budget_spent", "gone", evaluator="goal_completion"), ASKED, True),
        (Obstacle("budget_spent", "gone", spares_high_risk=True), replace(ASKED, high_risk=True), False),
        (Obstacle("budget_spent", "gone"), replace(ASKED, high_risk=True), True),
        (Obstacle("judge_request_rejected", "404", models=("dear",)), ASKED, False),
        (Obstacle("judge_request_rejected", "404", models=("usual", None)), ASKED, True),
        (Obstacle("judge_request_rejected", "404", models=("dear",)), replace(ASKED, model="dear"), True),
    ],
)
def test_only_what_concerns_the_question_holds_it_up(
    obstacle: Obstacle, question: OpenQuestion, concerned: bool
) -> None:
    assert why_open(question, Told(NOW, (obstacle,)), NOW).cause == (obstacle.reason if concerned else "")


def test_a_question_in_a_batch_is_on_its_way() -> None:
    told = Told(NOW, (Obstacle("judge_unavailable", "529"),))
    assert why_open(replace(ASKED, in_batch=True), told, NOW).told.endswith("on its way in a message batch")


@pytest.mark.parametrize(
    ("seconds", "length"),
    [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7_199, "119 min"), (7_200, "2 h"), (172_800, "2 days")],
)
def test_a_length_is_told_in_the_largest_unit_that_says_enough(seconds: int, length: str) -> None:
    told = why_open(ASKED, None, NOW_NS + seconds * SECOND).told
    assert told.startswith(f"waiting for a judge for {length};")
