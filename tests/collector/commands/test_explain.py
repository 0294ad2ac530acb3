"""`spanjudge explain` on a store in a file, with a configuration."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from collector.cli import app
from collector.clock import SystemClock
from collector.data_directory import STORE_FILE
from collector.sampling import Included
from collector.store.labels import Label
from collector.store.obstacles import Obstacle, Told
from collector.store.sqlite import SqliteStore
from judge.catalog import NAMES
from judge.verdict import Judged, NotApplicable, NotJudged, Outcome, Score
from tests.fakes.verdicts import NOW_NS, closed, judged, pending

SUITE = """
name: desk
version: "1"
cases:
  - id: refund
    match: {service: shop}
    expected_skill: refunds
  - id: elsewhere
    match: {service: bank, task_contains: loan}
    expected_skill: loans
  - id: new
    match: {service: shop}
    answer_contains: [done]
"""
CONFIG = """
data_dir: .
suites: [suite.yaml]
evaluators:
  faithfulness: {enabled: false}
"""


def verdict(evaluator: str, outcome: Outcome, **parts: Any) -> Judged:
    one = judged(evaluator=evaluator, outcome=outcome, skill=None, ref=evaluator)
    return replace(one, verdict=replace(one.verdict, **parts), system_prompt_hash="5e5e", tool_definitions_hash="70 01")


VERDICTS = [
    verdict(
        "goal_completion",
        Score(1.0, "Complete", "All was done."),
        evaluator_version="1+v1",
        judge_model="model-a",
        prompt_version="v1",
        prompt_hash="ab" * 32,
        agreement=2 / 3,
    ),
    verdict("skill_expected", Score(0.0, "not_loaded", "refunds was expected"), case="desk/refund"),
    verdict("skill_abstention", NotApplicable("a skill was asked for")),
    verdict("budgets", NotApplicable("filtered out by evaluators.budgets.only")),
    verdict("skill_instruction_following", NotJudged("answer_cut_off", "8000 tokens")),
    verdict("retired", Score(1.0, "fine", "")),
]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "spanjudge.yaml").write_text(CONFIG)

    async def fill() -> None:
        store = SqliteStore.open(tmp_path / STORE_FILE)
        await store.finish(closed(), VERDICTS, [pending()], ())
        await store.finish(replace(closed("late"), judged=False, note="it came too late"), (), (), ())
        await store.labels.add(Label(VERDICTS[0].id, "ana", NOW_NS, False, False, "no receipt", "Failed"))
        await store.close()

    asyncio.run(fill())
    return tmp_path


def run(directory: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["explain", *arguments, "-c", str(directory / "spanjudge.yaml")])


def document(directory: Path, session: str = "s-1") -> dict[str, Any]:
    shown = run(directory, session, "--json")
    assert shown.exit_code == 0, shown.stderr
    # Logs go to standard error in a real process; here they come first.
    found: dict[str, Any] = json.loads(shown.stdout.splitlines()[-1])
    return found


def standings(found: list[dict[str, Any]]) -> dict[str, str]:
    return {one["of"]: one["standing"] for one in found}


def test_it_says_by_which_rule_of_sampling_the_session_was_kept(directory: Path) -> None:
    async def fill() -> None:
        store = SqliteStore.open(directory / STORE_FILE)
        note = "; ".join((*Included(1.0, "keep.errors").notes, "a span was lost"))
        await store.finish(replace(closed("kept"), note=note), (), (), ())
        await store.close()

    asyncio.run(fill())
    assert document(directory, "kept")["sampled_by"] == "sampling.keep.errors"
    assert document(directory)["sampled_by"] == "sampling.rate"
    assert "(sampling.keep.errors)" in run(directory, "kept").stdout


def test_every_evaluator_has_its_reason(directory: Path) -> None:
    found = standings(document(directory)["evaluators"])
    assert found.keys() >= set(NAMES)
    assert {name: found[name] for name in ("goal_completion", "skill_abstention", "budgets", "faithfulness")} == {
        "goal_completion": "score",
        "skill_abstention": "not_applicable",
        "budgets": "filtered_out",
        "faithfulness": "disabled",
    }
    assert found["skill_selection"] == "waiting"
    assert found["skill_instruction_following"] == "not_judged"
    assert found["tool_selection"] == "no_verdict", "it was not there when the session closed"
    assert found["retired"] == "score", "it judged the session and is gone"


def test_every_case_has_its_reason(directory: Path) -> None:
    found = document(directory)["cases"]
    assert standings(found) == {"desk/refund": "score", "desk/elsewhere": "does_not_match", "desk/new": "no_verdict"}
    why = {one["of"]: one["why"] for one in found}
    assert why["desk/elsewhere"] == "task_contains wants loan; the task is another; service wants bank; it is 'shop'"
    assert "came into the suites after the session closed" in why["desk/new"]


def test_what_has_no_score_says_what_to_do(directory: Path) -> None:
    shown = run(directory, "s-1").stdout
    assert "answer_cut_off: 8000 tokens" in shown
    assert "what to do: the answer ran into judge.max_output_tokens: raise it" in shown


def test_a_verdict_shows_all_that_it_can_be_traced_by(directory: Path) -> None:
    shown = run(directory, "s-1", "--evaluator", "goal_completion").stdout
    for fact in (
        f"verdict {VERDICTS[0].id}",
        "evaluator 1+v1",
        "judge model model-a",
        "agreement of votes 0.67",
        f"prompt v1 {'ab' * 32}",
        "service shop 1.2.0",
        "agent clerk 7",
        "models model-a",
        "system prompt 5e5e",
        "tools 70 01",
        "close reason idle",
        "revision 1",
        "inclusion 0.5",
    ):
        assert fact in shown
    assert "ana disagrees (Failed) on 2026-01-01 00:00:00: no receipt" in shown


def test_a_verdict_of_an_older_version_says_so(directory: Path) -> None:
    found = {one["of"]: one["why"] for one in document(directory)["evaluators"]}
    assert "by version v1; this configuration has" in found["skill_expected"]


def test_a_session_that_was_not_judged_says_why_everywhere(directory: Path) -> None:
    found = document(directory, "late")
    whys = {one["why"] for one in [*found["evaluators"], *found["cases"]]}
    assert whys == {"the session was not judged: it came too late"}


def test_an_unknown_evaluator_is_an_error(directory: Path) -> None:
    shown = run(directory, "s-1", "--evaluator", "nothing")
    assert shown.exit_code == 1
    assert "there is no evaluator nothing" in shown.stderr


def test_without_suites_it_says_how_to_name_them(directory: Path) -> None:
    shown = CliRunner().invoke(app, ["explain", "s-1", "--data-dir", str(directory)])
    assert "this configuration has no suites" in shown.stdout


def _tell(directory: Path, *obstacles: Obstacle) -> None:
    async def tell() -> None:
        store = SqliteStore.open(directory / STORE_FILE)
        await store.obstacles.tell(Told(SystemClock().now_ns(), obstacles))
        await store.postpone_question(pending().id, 3, 0, "judge_unavailable: 529 overloaded")
        await store.close()

    asyncio.run(tell())


def test_a_question_that_waits_says_what_for_and_what_to_do_about_it(directory: Path) -> None:
    _tell(directory, Obstacle("judge_not_authorised", "401 invalid key"))
    (waiting,) = [one for one in document(directory)["evaluators"] if one["standing"] == "waiting"]
    assert (waiting["reason"], waiting["cause"]) == ("pending", "judge_not_authorised")
    assert "3 attempts failed, the last met judge_unavailable: 529 overloaded" in waiting["why"]
    assert "held up by judge_not_authorised: 401 invalid key" in waiting["why"]
    assert waiting["what_to_do"].startswith("the judge refused the key")


def test_a_damaged_verdict_costs_no_other_its_explanation(directory: Path) -> None:
    with closing(sqlite3.connect(directory / STORE_FILE)) as connection:
        connection.execute("UPDATE verdicts SET record = '{' WHERE evaluator = 'goal_completion'")
        connection.commit()
    found = {one["of"]: one for one in document(directory)["evaluators"]}
    assert (found["goal_completion"]["standing"], found["goal_completion"]["reason"]) == (
        "not_judged",
        "verdict_unreadable",
    )
    assert "What is left of it: Complete 1.00" in found["goal_completion"]["why"]
    assert found["skill_abstention"]["standing"] == "not_applicable"


def test_a_damaged_session_is_explained_as_far_as_it_goes(directory: Path) -> None:
    with closing(sqlite3.connect(directory / STORE_FILE)) as connection:
        connection.execute("UPDATE sessions SET record = '{'")
        connection.commit()
    found = {one["of"]: one for one in document(directory)["evaluators"]}
    assert found["skill_abstention"]["standing"] == "not_applicable"
    assert "the stored session cannot be read" in found["tool_selection"]["why"]
