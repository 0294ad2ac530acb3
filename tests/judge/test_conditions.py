"""Conditions hold as their words say; what was not recorded holds only where its absence is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from extractors.spans import Value
from judge.conditions import Condition, holds
from judge.suites import Match, is_about
from tests.judge.trajectories import trajectory


@pytest.mark.parametrize(
    ("condition", "value", "expected"),
    [
        ({"equals": "n*"}, "north", True),
        ({"equals": 1}, True, False),
        ({"equals": 1}, 1, True),
        ({"not": "north"}, "south", True),
        ({"not": "n*"}, "north", False),
        ({"not": "north"}, None, False),
        ({"contains": "REFUND"}, "please refund it", True),
        ({"contains": "refund"}, 7, False),
        ({"exists": True}, 0, True),
        ({"exists": True}, None, False),
        ({"exists": False}, None, True),
        ({"exists": False}, "", False),
        ({"in": ["a", "b*"]}, "bee", True),
        ({"in": "a"}, "a", True),
        ({"in": [1, 2]}, 3, False),
        ({"gt": 3}, 4, True),
        ({"gt": 3}, 3, False),
        ({"gt": 3}, True, False),
        ({"gt": 3}, "4", False),
        ({"lt": 0.5}, 0.25, True),
        ({"gt": 1, "lt": 3}, 2, True),
        ({"gt": 1, "lt": 3}, 5, False),
        ({"glob": "v*-beta"}, "v2-beta", True),
        ({"glob": "v*-beta"}, None, False),
    ],
)
def test_a_condition_holds_as_it_says(condition: dict[str, Any], value: Value, expected: bool) -> None:
    assert holds(Condition.model_validate(condition), value) is expected


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ({}, "give one of equals, not"),
        ({"exists": False, "gt": 1}, "exists: false goes alone"),
        ({"matches": "x"}, "Extra inputs"),
        ({"gt": float("inf")}, "finite"),
        ({"in": []}, "at least 1"),
    ],
)
def test_a_condition_that_says_nothing_or_too_much_is_a_problem(condition: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Condition.model_validate(condition)


def test_conditions_on_attributes_choose_sessions() -> None:
    match = Match.model_validate({"attributes": {"tier": {"in": ["gold", "silver"]}, "load": {"gt": 5}}})
    assert is_about(match, trajectory(attributes={"tier": "gold", "load": 6}))
    assert not is_about(match, trajectory(attributes={"tier": "gold"}))


def test_a_condition_is_told_in_the_words_of_the_file() -> None:
    assert str(Condition.model_validate({"not": "a", "gt": 2})) == "not 'a' and gt 2.0"
