"""`spanjudge sessions`, `spanjudge show` and `spanjudge inspect --stored` on a store in a file."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from collector.cli import app
from collector.commands.session_view import verdict_lines
from collector.data_directory import STORE_FILE
from collector.store.sqlite import SqliteStore
from collector.store.store import ClosedSession
from extractors.registry import extract
from extractors.trajectory import Trajectory
from judge.subjects import subjects_of
from judge.verdict import Judged, NotJudged, Score, SessionRef, Subject, Verdict
from tests.extractors.fixtures import session
from tests.fakes.verdicts import NOW_NS, judged

TRAJECTORY = replace(extract(session("strands/refused-unknown-name")), session_id="reader-4471")


def closing(session_id: str, revision: int = 1, tenant: str = "", trajectory: Trajectory = TRAJECTORY) -> ClosedSession:
    ref = SessionRef(session_id, revision, tenant)
    return ClosedSession(ref, NOW_NS + revision, "idle", 0.25, trajectory, 9, 0)


def verdict(session_id: str, subject: Subject, outcome: Score | NotJudged, name: str = "skill_selection") -> Judged:
    made = judged(session_id, name, outcome)
    return replace(made, id=f"{session_id}/{name}/{subject.ref}", verdict=Verdict(name, "1", subject, outcome))


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Two sessions of one beginning, one of them with two closings, and one id that two tenants use."""
    load = subjects_of(TRAJECTORY.skill_invocations)[0]
    whole = Subject("session", "session")
    verdicts = [
        verdict("reader-4471", load, Score(0.0, "No", "A [bold]wrong[/] choice\x1b[2J.")),
        verdict("reader-4471", whole, NotJudged("no_judge_configured", "no key"), "goal_completion"),
    ]

    async def fill() -> None:
        store = SqliteStore.open(tmp_path / STORE_FILE)
        await store.finish(closing("reader-4471"), verdicts, (), ())
        await store.finish(closing("reader-4471", 2), [], (), ())
        await store.finish(closing("reader-4472"), [], (), ())
        await store.finish(closing("shared", tenant="north"), [], (), ())
        await store.finish(closing("shared", tenant="south"), [], (), ())
        await store.close()

    asyncio.run(fill())
    return tmp_path


def run(data_dir: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--data-dir", str(data_dir)])


def test_a_verdict_stands_beside_what_it_judges(data_dir: Path) -> None:
    lines = run(data_dir, "show", "reader-4471", "--revision", "1").stdout.splitlines()
    refused = next(number for number, line in enumerate(lines) if "refused renewals" in line)
    assert "refusal: Skill 'renewals' not found" in lines[refused + 1]
    assert "FAIL  skill_selection  No 0.00" in lines[refused + 2]


def test_how_many_votes_agreed_stands_beside_the_model() -> None:
    voted = judged(outcome=Score(1.0, "Yes", ""))
    voted = replace(voted, verdict=replace(voted.verdict, judge_model="model-a", agreement=2 / 3))
    alone = replace(voted, verdict=replace(voted.verdict, agreement=None))
    assert [line.plain.endswith("by model-a, 67% of votes") for line in verdict_lines(voted, 80)] == [True]
    assert [line.plain.endswith("by model-a") for line in verdict_lines(alone, 80)] == [True]


def test_text_of_a_judge_is_neither_markup_nor_control_sequence(data_dir: Path) -> None:
    shown = run(data_dir, "show", "reader-4471", "--revision", "1").stdout
    assert "A [bold]wrong[/] choice\\x1b[2J." in shown
    assert "\x1b" not in shown


def test_a_missing_score_says_what_to_do(data_dir: Path) -> None:
    shown = run(data_dir, "show", "reader-4471", "--revision", "1").stdout
    assert "no_judge_configured (1)  set ANTHROPIC_API_KEY" in shown


def test_the_newest_closing_is_shown_and_older_ones_say_that_they_are_superseded(data_dir: Path) -> None:
    assert "revision 2 of 2" in run(data_dir, "show", "reader-4471").stdout
    assert "revision 1 of 2, superseded" in run(data_dir, "show", "reader-4471", "--revision", "1").stdout


def test_sampling_is_said(data_dir: Path) -> None:
    assert "25.000% of sessions are kept" in run(data_dir, "show", "reader-4472").stdout


def test_the_beginning_of_an_id_suffices_where_it_is_the_only_one(data_dir: Path) -> None:
    assert run(data_dir, "show", "shar", "--tenant", "north").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reader"], "begins the ids of 2 sessions: reader-4471, reader-4472"),
        (["reader-447x"], "did you mean reader-4472, reader-4471?"),
        (["nothing-like-it"], "spanjudge sessions lists what there is"),
        (["shared"], "choose with --tenant north, south"),
        (["reader-4471", "--revision", "9"], "has no revision 9; it has 2, 1"),
    ],
)
def test_an_id_that_names_no_one_session_is_an_error_that_helps(
    data_dir: Path, arguments: list[str], message: str
) -> None:
    shown = run(data_dir, "show", *arguments)
    assert shown.exit_code == 1
    assert message in shown.stderr


def test_json_has_the_session_and_every_verdict(data_dir: Path) -> None:
    document = json.loads(run(data_dir, "show", "reader-4471", "--revision", "1", "--json").stdout)
    assert document["session"]["trajectory"]["harness"] == "strands"
    assert len(document["verdicts"]) == 2
    assert document["revisions"] == [2, 1]


def test_sessions_can_be_filtered_to_those_that_failed(data_dir: Path) -> None:
    found = run(data_dir, "sessions", "--failed", "--json").stdout.splitlines()
    assert [json.loads(line)["ref"]["session_id"] for line in found] == ["reader-4471"]


def test_sessions_are_listed_with_their_counts(data_dir: Path) -> None:
    shown = run(data_dir, "sessions", "--text", "447").stdout
    assert "reader-4471 (revision 2)" in shown
    assert "reader-4472" in shown


def test_a_bad_duration_says_how_to_write_one(data_dir: Path) -> None:
    assert "30m, 12h, 7d" in run(data_dir, "sessions", "--since", "yesterday").stderr


def test_a_stored_session_can_be_inspected(data_dir: Path) -> None:
    shown = run(data_dir, "inspect", "--stored", "reader-4471").stdout
    assert "refused renewals  ← span 6e688ee32aa238fa" in shown


def test_without_a_store_it_says_how_to_name_one(tmp_path: Path) -> None:
    shown = run(tmp_path, "sessions")
    assert shown.exit_code == 1
    assert "--data-dir" in shown.stderr
