"""`spanjudge label` and `spanjudge calibrate` on a store in a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from typer.testing import CliRunner, Result

from collector.cli import app
from collector.data_directory import STORE_FILE
from collector.store.labels import GivenLabel, Label
from collector.store.sqlite import SqliteStore
from judge.verdict import Judged, NotJudged, Score
from tests.fakes.verdicts import NOW_NS, closed, judged

T = TypeVar("T")
SESSIONS = 60


def goal(number: int) -> Judged:
    """Every fourth failed."""
    outcome = Score(0.0, "Failed", "Nothing was done.") if number % 4 == 0 else Score(1.0, "Complete", "All was done.")
    one = judged(f"s-{number:02}", "goal_completion", outcome, skill=None, ref="session")
    verdict = replace(one.verdict, evaluator_version="1+v1", judge_model="model-a", prompt_version="v1")
    return replace(one, verdict=verdict)


def with_store(data_dir: Path, work: Callable[[SqliteStore], Awaitable[T]]) -> T:
    async def run() -> T:
        store = SqliteStore.open(data_dir / STORE_FILE)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    async def fill(store: SqliteStore) -> None:
        for number in range(SESSIONS):
            await store.finish(closed(goal(number).session.session_id), [goal(number)], (), ())
        two = [judged("two"), judged("two", "budgets")]
        await store.finish(closed("two"), [*two, judged("two", "faithfulness", NotJudged("judge_refused"))], (), ())

    with_store(tmp_path, fill)
    return tmp_path


def run(data_dir: Path, *arguments: str, said: str = "") -> Result:
    command, *rest = arguments
    options = [command, *rest, "--data-dir", str(data_dir)]
    return CliRunner(env={"SPANJUDGE_AUTHOR": "ana"}).invoke(app, options, input=said)


def given(data_dir: Path) -> list[GivenLabel]:
    return with_store(data_dir, lambda store: store.labels.given())


def label_many(data_dir: Path, count: int) -> None:
    """So many, half on failed verdicts; people disagree with every tenth."""

    async def add(store: SqliteStore) -> None:
        failed = [number for number in range(SESSIONS) if number % 4 == 0]
        passed = [number for number in range(SESSIONS) if number % 4]
        for place, number in enumerate([*failed[: count // 2], *passed[: count // 2]]):
            agrees = place % 10 != 0
            passes = (number % 4 != 0) == agrees
            assert await store.labels.add(Label(goal(number).id, "ana", NOW_NS + place, agrees, passes, "I read it."))

    with_store(data_dir, add)


def test_a_verdict_is_labelled_by_the_beginning_of_its_id(data_dir: Path) -> None:
    shown = run(data_dir, "label", goal(1).id[:12], "--agree", "--reason", "refunded, and said so")
    assert shown.exit_code == 0, shown.stderr
    assert "goal_completion  Complete 1.00: ana agrees" in shown.stdout
    (one,) = given(data_dir)
    assert (one.label.verdict_id, one.label.author, one.label.reason) == (goal(1).id, "ana", "refunded, and said so")


def test_a_session_stands_for_its_only_verdict(data_dir: Path) -> None:
    shown = run(data_dir, "label", "s-01", "--disagree", "--label", "Partial", "--reason", "no receipt")
    assert "ana disagrees, Partial would be right" in shown.stdout
    (one,) = given(data_dir)
    assert (one.label.right_label, one.label.passes) == ("Partial", True)


def test_several_are_labelled_at_once(data_dir: Path) -> None:
    assert run(data_dir, "label", "s-01", "s-02", "--agree", "--reason", "fine", "--author", "bo").exit_code == 0
    assert [one.label.author for one in given(data_dir)] == ["bo", "bo"]


def test_a_session_with_several_verdicts_lists_them(data_dir: Path) -> None:
    shown = run(data_dir, "label", "two", "--agree", "--reason", "fine")
    assert shown.exit_code == 1
    assert f"{judged('two', 'budgets').id}  budgets" in shown.stderr
    assert run(data_dir, "label", "two", "--evaluator", "budgets", "--agree", "--reason", "fine").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name verdicts or sessions to label"),
        (["s-01"], "--agree or --disagree"),
        (["s-01", "--agree"], "why with --reason"),
        (["s-01", "--next", "goal_completion"], "name verdicts or sessions"),
        (["--next", "goal_completion", "--agree"], "--next asks for these"),
        (["--next", "unknown"], "no unlabelled verdict of unknown"),
        (["absent", "--agree", "--reason", "r"], "no session absent"),
        (["0" * 32, "--agree", "--reason", "r"], f"no verdict and no session {'0' * 32}"),
        (["s-01", "--agree", "--reason", "r", "--author", "a\u202eb"], "author has characters that cannot be seen"),
        (["s-01", "--agree", "--reason", " "], "reason is missing"),
        (["s-01", "--disagree", "--label", "Nice", "--reason", "r"], "it has Complete, Partial, Failed"),
        (["two", "--evaluator", "faithfulness", "--agree", "--reason", "r"], "no verdict of faithfulness with a score"),
    ],
)
def test_what_cannot_be_labelled_says_why_and_keeps_nothing(data_dir: Path, arguments: list[str], message: str) -> None:
    shown = run(data_dir, "label", *arguments)
    assert shown.exit_code == 1
    assert message in shown.stderr
    assert given(data_dir) == []


def test_without_a_store_none_is_made(tmp_path: Path) -> None:
    shown = run(tmp_path, "label", "s-01", "--agree", "--reason", "r")
    assert "there is no verdict store" in shown.stderr
    assert not (tmp_path / STORE_FILE).exists()


def test_a_walk_shows_verdicts_of_both_sides_in_turn(data_dir: Path) -> None:
    shown = run(data_dir, "label", "--next", "goal_completion", said="a\nfine\n" * 6 + "q\n")
    assert shown.exit_code == 0, shown.stderr
    assert "task    Refund order 7" in shown.stdout
    assert "6 labelled, 0 skipped" in shown.stdout
    assert sorted(one.passed for one in given(data_dir)) == [False] * 3 + [True] * 3


def test_a_walk_asks_which_label_is_right_where_there_are_several(data_dir: Path) -> None:
    shown = run(data_dir, "label", "--next", "goal_completion", said="d\nPartial\nhalf of it\nq\n")
    assert "Which label is right (Complete, Partial, Failed)?" in shown.stdout
    assert [(one.label.right_label, one.label.reason) for one in given(data_dir)] == [("Partial", "half of it")]


def test_a_walk_skips_and_asks_again_after_a_mistake(data_dir: Path) -> None:
    said = "x\ns\nv\nd\nNice\nwrong\nd\n\nwrong\nq\n"
    shown = run(data_dir, "label", "--next", "goal_completion", said=said)
    assert "Type one of a, d, v, s, q." in shown.stderr
    assert "timeline" in shown.stdout
    assert "Not kept: goal_completion has no label Nice" in shown.stderr
    assert "1 labelled, 1 skipped" in shown.stdout
    assert len(given(data_dir)) == 1


def test_a_walk_ends_when_nothing_is_left(data_dir: Path) -> None:
    shown = run(data_dir, "label", "--next", "budgets", said="a\nfine\n")
    assert "Nothing is left to label." in shown.stdout


def test_too_few_labels_are_said_plainly(data_dir: Path) -> None:
    label_many(data_dir, 4)
    shown = run(data_dir, "calibrate").stdout
    assert "not enough labels" in shown
    assert "goal_completion 1+v1: 4 of 30 labels. spanjudge label --next goal_completion" in shown
    assert "nan" not in shown.lower()


def test_enough_labels_give_numbers_with_intervals(data_dir: Path) -> None:
    label_many(data_dir, 30)
    found = json.loads(run(data_dir, "calibrate", "--since", "3650d", "--json").stdout)
    (goals,) = [one for one in found["calibrations"] if one["evaluator"] == "goal_completion"]
    assert (goals["labels"], goals["judge_model"], goals["prompt_version"]) == (30, "model-a", "v1")
    assert goals["confusion"] == {"true_pass": 14, "false_pass": 1, "false_fail": 2, "true_fail": 13}
    for part in ("agreement", "kappa", "sensitivity", "specificity"):
        estimate = goals["accuracy"][part]
        assert estimate["low"] < estimate["value"] < estimate["high"]
    (rate,) = [one for one in found["rates"] if one["evaluator"] == "goal_completion"]
    assert rate["pass_ratio"] == 0.75
    assert rate["pass_ratio_corrected"]["low"] < rate["pass_ratio_corrected"]["value"]


def test_the_table_shows_them(data_dir: Path) -> None:
    label_many(data_dir, 30)
    shown = run(data_dir, "calibrate", "--evaluator", "goal_completion", "--since", "3650d").stdout
    assert "0.90 (0.74 to 0.97)" in shown, "27 of 30 agree"
    assert "as counted" in shown
    assert "budgets" not in shown


def test_without_verdicts_there_is_nothing_to_calibrate(data_dir: Path) -> None:
    assert (
        "No verdicts with a score of faithfulness" in run(data_dir, "calibrate", "--evaluator", "faithfulness").stderr
    )


def test_json_of_too_few_labels_has_the_reason_in_place_of_a_number(data_dir: Path) -> None:
    found: dict[str, Any] = json.loads(run(data_dir, "calibrate", "--json").stdout)
    (goals,) = found["calibrations"]
    assert goals["accuracy"]["kappa"] == {"reason": "not_enough_labels", "detail": "no labels"}
