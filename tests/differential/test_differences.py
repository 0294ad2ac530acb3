"""Comparing two readings, without the other reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.differential.differences import Difference, Explanation, Kind, between, explanations, idle, unexplained

EMPTY: dict[str, Any] = {"catalog": None, "loads": [], "calls": [], "prompts": [], "answers": []}
LOADED = {"name": "berths", "outcome": "loaded", "refusal": None, "body": "Look first."}


def call(name: str, result: str, *, failed: bool = False) -> dict[str, Any]:
    return {"name": name, "arguments": {"at": 1}, "failed": failed, "result": result}


def kinds(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Kind]:
    return {one.signal: one.kind for one in between("acme/one", EMPTY | ours, EMPTY | theirs)}


def test_equal_readings_do_not_differ() -> None:
    told = {"catalog": ["a"], "loads": [LOADED], "calls": [call("look", "3")], "prompts": ["Hi"], "answers": ["Ho"]}
    assert kinds(told, told) == {}


def test_the_order_of_calls_is_no_difference() -> None:
    assert kinds({"calls": [call("a", "1"), call("b", "2")]}, {"calls": [call("b", "2"), call("a", "1")]}) == {}


def test_who_tells_more_is_said() -> None:
    assert kinds({"prompts": ["Hi", "And?"]}, {"prompts": ["Hi"]}) == {"prompts": Kind.ONLY_WE}
    assert kinds({}, {"answers": ["Ho"]}) == {"answer": Kind.ONLY_THEY}
    assert kinds({"catalog": ["a"]}, {"catalog": ["b"]}) == {"catalog": Kind.OTHERWISE}


def test_details_are_compared_only_where_both_tell_of_the_same_calls() -> None:
    ours = {"calls": [call("look", "1"), call("look", "2"), call("ask", "5")]}
    theirs = {"calls": [call("look", "2"), call("ask", "6")]}
    assert kinds(ours, theirs) == {"calls": Kind.ONLY_WE, "results": Kind.OTHERWISE}
    (results,) = [one for one in between("s", EMPTY | ours, EMPTY | theirs) if one.signal == "results"]
    assert results.ours == ('["ask", "5"]',)


def test_a_text_that_is_not_told_is_no_text() -> None:
    assert kinds({"loads": [LOADED]}, {"loads": [LOADED | {"body": None}]}) == {"skill texts": Kind.ONLY_WE}


def test_a_reader_that_raised_is_a_difference() -> None:
    (found,) = between("acme/one", EMPTY, {"problem": "KeyError: x"})
    assert (found.signal, found.kind, found.theirs) == ("session", Kind.ONLY_WE, ("KeyError: x",))


HERE = Difference("acme/one", "loads", Kind.ONLY_WE, ("x",), ())


@pytest.mark.parametrize(
    ("explanation", "covers"),
    [
        (Explanation(("loads",), Kind.ONLY_WE, ("acme/*",), "because"), True),
        (Explanation(("calls", "loads"), Kind.ONLY_WE, ("other/*", "acme/one"), "because"), True),
        (Explanation(("loads",), Kind.OTHERWISE, ("acme/*",), "because"), False),
        (Explanation(("calls",), Kind.ONLY_WE, ("acme/*",), "because"), False),
        (Explanation(("loads",), Kind.ONLY_WE, ("acme/two",), "because"), False),
    ],
)
def test_an_explanation_covers_its_signals_kind_and_fixtures(explanation: Explanation, covers: bool) -> None:
    assert (unexplained([HERE], [explanation]) == []) is covers


def test_every_part_of_an_explanation_must_hold() -> None:
    broad = Explanation(("loads", "calls"), Kind.ONLY_WE, ("acme/*", "gone/*"), "because")
    assert idle([HERE], [broad]) == ["loads, calls; only we tell; gone/*", "calls; only we tell; acme/*, gone/*"]
    assert idle([HERE], [Explanation(("loads",), Kind.ONLY_WE, ("acme/*",), "because")]) == []


def test_an_explanation_without_a_reason_is_not_taken(tmp_path: Path) -> None:
    file = tmp_path / "explanations.yaml"
    file.write_text('- {signals: [loads], kind: only we tell, where: ["*"], why: " "}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="an explanation needs signals"):
        explanations(file)
