"""`spanjudge suite run` and `spanjudge suite add`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import Result

from collector.clock import SystemClock
from collector.data_directory import STORE_FILE
from collector.offline import ALWAYS_ASKING, by_code
from collector.store.ledger import Charge, Reservation
from collector.store.sqlite import SqliteStore
from collector.store.store import ClosedSession
from extractors.skills import LoadOutcome
from extractors.trajectory import Versions
from judge.budget import Amount, window_start_ns
from judge.catalog import build
from judge.evaluators.goal_completion import GoalCompletion
from judge.suites import parse_suite
from judge.verdict import Judged, Score, SessionRef, verdict_id
from tests.collector.commands.desk_recordings import SUITE, record, spanjudge, suite_file
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub, Reply, Request, cut_off, fails, refuses, says
from tests.fakes.verdicts import judged
from tests.judge.trajectories import call, failed, load, trajectory


def run(tmp_path: Path, *arguments: str | Path) -> Result:
    return spanjudge("suite", "run", tmp_path / "recordings", "--suite", tmp_path / "desk.yaml", *arguments)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    suite_file(tmp_path)
    record(tmp_path / "recordings", "s-1")
    return tmp_path


def test_good_sessions_exit_with_0(good: Path) -> None:
    shown = run(good)
    assert shown.exit_code == 0, shown.output
    assert "pass  desk/refund  1.00  s-1" in shown.stdout
    assert "pass  high_risk: all 1 results of high risk are right" in shown.stdout


def test_a_failed_case_exits_with_1_and_says_why(good: Path) -> None:
    record(good / "recordings", "s-2", ["find_order"])
    shown = run(good)
    assert shown.exit_code == 1
    assert "FAIL  desk/refund" in shown.stdout
    assert "FAIL  cases: 3 of 4 passed" in shown.stdout


def test_something_forbidden_exits_with_1(good: Path) -> None:
    record(good / "recordings", "s-2", ["find_order", "pay_back", "delete_order"])
    shown = run(good)
    assert shown.exit_code == 1
    assert "forbidden: delete_order" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recordings", "--stored"], "either files to read, or --stored"),
        ([], "either files to read, or --stored"),
        (["recordings"], "no suite: name one with --suite"),
        (["recordings", "--suite", "absent.yaml"], "there is no suite file absent.yaml"),
        (["recordings", "--suite", "broken.yaml"], "cases: is required"),
        (["empty", "--suite", "desk.yaml"], "there is no session to judge in the files"),
        (["recordings", "--suite", "desk.yaml", "--agent-version", "99"], "there is no session to judge in the files"),
        (["recordings", "--suite", "desk.yaml", "--baseline", "v1", "--data-dir", "absent"], "no verdict store"),
        (["recordings", "--suite", "desk.yaml", "--judge"], "--judge needs a key"),
        (["recordings", "--no-such-option"], "No such option"),
    ],
)
def test_bad_input_exits_with_2_and_says_what_to_do(
    good: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(good)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    (good / "empty").mkdir()
    (good / "broken.yaml").write_text("name: x\nversion: '1'\n")
    shown = spanjudge("suite", "run", *arguments)
    assert shown.exit_code == 2
    assert message in shown.output


def test_a_damaged_recording_exits_with_2_though_the_rest_passes(good: Path) -> None:
    (good / "recordings" / "traces-9.bin").write_bytes(b"\xff\xff not a request")
    shown = run(good)
    assert shown.exit_code == 2
    assert "traces-9.bin" in shown.stderr
    assert "pass  desk/refund" in shown.stdout


def test_a_case_of_high_risk_that_no_session_falls_under_leaves_its_gate_open(good: Path) -> None:
    suite_file(good, SUITE.replace('service: "*"', "service: other"))
    shown = run(good)
    assert shown.exit_code == 1
    assert "open  high_risk" in shown.stdout
    assert "desk/careful: no session falls under it" in shown.stdout


def test_results_are_written_as_json_and_junit(good: Path) -> None:
    shown = run(good, "--json", good / "out.json", "--junit", good / "out.xml")
    assert shown.exit_code == 0
    document = json.loads((good / "out.json").read_text())
    assert document["passed"] is True
    assert [one["standing"] for one in document["results"]] == ["passed", "passed"]
    assert ElementTree.parse(good / "out.xml").getroot().attrib["failures"] == "0"


def test_json_on_standard_output_stands_there_alone(good: Path) -> None:
    assert json.loads(run(good, "--json", "-").stdout)["sessions"] == 1


def test_a_file_that_cannot_be_written_is_bad_input(good: Path) -> None:
    assert run(good, "--junit", good / "absent" / "out.xml").exit_code == 2


def test_thresholds_come_from_the_configuration(good: Path) -> None:
    record(good / "recordings", "s-2", ["find_order"])
    config = good / "spanjudge.yaml"
    config.write_text("suites: [desk.yaml]\ngates: {min_pass_rate: 0.5, min_adherence: 0.5}\n")
    assert spanjudge("suite", "run", good / "recordings", "-c", config).exit_code == 0


def asking(good: Path, stub: AnthropicStub, only: Sequence[str] = ("goal_completion",), **judge: object) -> Path:
    """A configuration with the stub as judge, of which only these evaluators ask."""
    suite_file(good, SUITE.replace("    answer_contains: [paid]\n", ""))
    config = good / "spanjudge.yaml"
    disabled = {name: {"enabled": False} for name in sorted(ALWAYS_ASKING - {*only})}
    settings = {"api_key": API_KEY, "base_url": stub.url, "max_attempts": 1, **judge}
    document = {"suites": ["desk.yaml"], "data_dir": "data", "judge": settings, "evaluators": disabled}
    config.write_text(json.dumps(document))
    return config


def test_with_judge_the_questions_are_asked_and_their_answers_count(good: Path) -> None:
    with AnthropicStub(says("Failed")) as stub:
        config = asking(good, stub)
        without = spanjudge("suite", "run", good / "recordings", "-c", config)
        assert (without.exit_code, len(stub.requests)) == (0, 0)
        shown = spanjudge("suite", "run", good / "recordings", "-c", config, "--judge")
        assert len(stub.requests) == 1
    assert shown.exit_code == 1
    assert "answer 0.00 (goal_completion)" in shown.stdout


def test_a_judge_that_fails_makes_results_that_are_not_judged(good: Path) -> None:
    with AnthropicStub(refuses()) as stub:
        shown = spanjudge("suite", "run", good / "recordings", "-c", asking(good, stub), "--judge", "--json", "-")
    assert json.loads(shown.stdout)["results"][0]["standing"] == "not_judged"


def test_a_judge_that_answers_nothing_is_bad_input_and_never_a_pass(good: Path) -> None:
    suite = SUITE.partition("  - id: careful")[0]  # which would pass by code alone
    with AnthropicStub(fails(404, "not_found_error", "model: claude-opsu")) as stub:
        config = asking(good, stub, model="claude-opsu")
        suite_file(good, suite)
        shown = spanjudge("suite", "run", good / "recordings", "-c", config, "--judge", "--json", good / "out.json")
        assert len(stub.requests) <= 2, "a model that there is not need not be tried for long"
    assert shown.exit_code == 2
    assert "the judge answered none of 1 question" in shown.stderr
    assert "claude-opsu: 404 not_found_error" in shown.stderr
    assert "check judge.model and judge.base_url" in shown.stderr
    document = json.loads((good / "out.json").read_text())
    assert document["passed"] is False
    assert {gate["name"]: gate["status"] for gate in document["gates"]}["judge"] == "undecided"


def test_a_judge_that_answers_in_part_is_told_with_how_much_and_why(good: Path) -> None:
    record(good / "recordings", "s-2", task="Give me my money back, please")
    with AnthropicStub() as stub:
        stub.script(cut_off())
        shown = spanjudge("suite", "run", good / "recordings", "-c", asking(good, stub), "--judge")
    assert "pass  judge: 1 of 2 questions answered" in shown.stdout
    assert "the judge did not answer 1 of 2 questions:" in shown.stderr
    assert "goal_completion: 1 x answer_cut_off" in shown.stderr
    assert "raise it" in shown.stderr


def test_an_evaluator_without_a_single_answer_leaves_the_gate_of_the_judge_open(good: Path) -> None:
    def half(request: Request) -> Reply:
        return (refuses() if "`Unfaithful`" in request.question else says())(request)

    with AnthropicStub(half) as stub:
        config = asking(good, stub, ["goal_completion", "faithfulness"])
        shown = spanjudge("suite", "run", good / "recordings", "-c", config, "--judge")
        assert len(stub.requests) == 2
    assert shown.exit_code == 1
    assert "open  judge: 1 of 2 questions answered, and none of faithfulness" in shown.stdout


def test_one_budget_holds_for_all_runs_and_the_server(good: Path) -> None:
    budget = {"tokens_per_hour": 12_000}
    with AnthropicStub(says("Complete")) as stub:
        config = asking(good, stub, budget=budget, answer_cache_seconds=0)
        alone = spanjudge("suite", "run", good / "recordings", "-c", config, "--judge")
        assert alone.exit_code == 0, alone.output
        assert "judge.budget was held to for this run alone" in alone.stderr
        asyncio.run(SqliteStore.open(made(good / "data") / STORE_FILE).close())
        first = spanjudge("suite", "run", good / "recordings", "-c", config, "--judge")
        assert first.exit_code == 0, first.output
        assert "alone" not in first.stderr
        spend(good / "data", 11_000)
        asked = len(stub.requests)
        second = spanjudge("suite", "run", good / "recordings", "-c", config, "--judge")
        assert len(stub.requests) == asked
    assert second.exit_code == 2
    assert "goal_completion: 1 x budget_spent (nothing is left of judge.budget.tokens_per_hour" in second.stderr
    spent = asyncio.run(spending(good / "data"))
    assert spent > 11_000, "what the first run used is counted beside it"


def made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def spend(directory: Path, tokens: int) -> None:
    async def charge() -> None:
        opened = SqliteStore.open(directory / STORE_FILE)
        hour_ns = window_start_ns("hour", SystemClock().now_ns())
        await opened.ledger.charge(Charge(Reservation(hour_ns, "faithfulness", Amount()), Amount(tokens, 0)))
        await opened.close()

    asyncio.run(charge())


async def spending(directory: Path) -> int:
    opened = SqliteStore.open(directory / STORE_FILE)
    found = sum(one.amount.tokens for one in await opened.ledger.spent(SystemClock().now_ns()))
    await opened.close()
    return found


def test_what_was_answered_lately_is_not_asked_again_by_another_run(good: Path) -> None:
    asyncio.run(SqliteStore.open(made(good / "data") / STORE_FILE).close())
    with AnthropicStub(says("Complete")) as stub:
        config = asking(good, stub)
        for _ in range(2):
            assert spanjudge("suite", "run", good / "recordings", "-c", config, "--judge").exit_code == 0
        assert len(stub.requests) == 1


def test_results_hold_no_secrets(good: Path) -> None:
    token = "ghp" + "_" + "x9" * 18
    suite_file(good, SUITE.replace("delete_order", f"{token}"))
    record(good / "recordings", "s-2", ["find_order", "pay_back", token])
    shown = run(good, "--json", good / "out.json", "--junit", good / "out.xml")
    assert shown.exit_code == 1
    for text in (shown.output, (good / "out.json").read_text(), (good / "out.xml").read_text()):
        assert "x9x9" not in text
        assert "github-token" in text


# Stored sessions

TRAJECTORY = trajectory(
    failed("search"),
    call("skills", number=3),
    call("find_order", number=4),
    call("pay_*", number=5),
    call("find_order", number=6),
    task="Where is\n my order?",
    skill_invocations=(load("orders", number=3), load("other", LoadOutcome.REFUSED, number=7)),
    versions=Versions(service="desk"),
    answer="On its way.",
)


def goal(model: str = "claude-opus-4-8", version: str = GoalCompletion().version) -> Judged:
    """That the judge found the goal missed."""
    found = judged("s-4471", "goal_completion", Score(0.0, "Failed", "no"), skill=None, ref="session")
    verdict = replace(found.verdict, evaluator_version=version, judge_model=model, prompt_version="v1")
    return replace(found, id=verdict_id(found.session, verdict), verdict=verdict)


def store(tmp_path: Path, *, verdicts: bool = False, earlier: Judged | None = None) -> Path:
    async def fill() -> None:
        opened = SqliteStore.open(tmp_path / STORE_FILE)
        closed = ClosedSession(SessionRef("s-4471"), 9, "idle", 1.0, TRAJECTORY, 1, 0)
        await opened.finish(closed, [earlier or goal()] if verdicts or earlier else [], [], [])
        await opened.close()

    asyncio.run(fill())
    return tmp_path


def add(tmp_path: Path, *arguments: str) -> Result:
    file = tmp_path / "desk.yaml"
    return spanjudge("suite", "add", "s-44", "--suite", file, "--data-dir", store(tmp_path), *arguments)


def test_a_session_becomes_a_case_of_what_happened_and_the_file_says_so(tmp_path: Path) -> None:
    suite_file(tmp_path)
    shown = add(tmp_path)
    assert shown.exit_code == 0, shown.output
    text = (tmp_path / "desk.yaml").read_text()
    assert text.startswith(SUITE.rstrip("\n"))
    assert "expected_skill: orders # as it happened: is this right?" in text
    made = parse_suite(text, "desk.yaml").cases[-1]
    assert made.id == "where-is-my-order"
    assert made.match.task_contains == ("Where is my order?",)
    assert made.match.service == ("desk",)
    assert [one.tool for one in made.required_steps] == ["find_order", r"pay_\*"]


def test_what_is_said_goes_before_what_happened(tmp_path: Path) -> None:
    options = [
        "--expect",
        "none",
        "--step",
        "look_up",
        "--ordered",
        "--forbid",
        "pay_*",
        "--answer",
        "soon",
        "--high-risk",
        "--id",
        "mine",
    ]
    shown = add(tmp_path, *options)
    assert shown.exit_code == 0, shown.output
    text = (tmp_path / "desk.yaml").read_text()
    assert "as it happened" not in text
    made = parse_suite(text, "desk.yaml")
    assert (made.name, made.version) == ("desk", "1")
    (case,) = made.cases
    assert (case.id, case.expected_skill, case.ordered, case.risk) == ("mine", "none", True, "high")
    assert [one.tool for one in case.forbidden_events] == ["pay_*"]


def test_the_same_session_twice_gets_another_id_and_the_same_id_twice_is_refused(tmp_path: Path) -> None:
    for _ in range(2):
        assert add(tmp_path).exit_code == 0
    ids = [one.id for one in parse_suite((tmp_path / "desk.yaml").read_text(), "desk.yaml").cases]
    assert ids == ["where-is-my-order", "where-is-my-order-2"]
    before = (tmp_path / "desk.yaml").read_text()
    shown = add(tmp_path, "--id", "where-is-my-order")
    assert shown.exit_code == 2
    assert "there is a case where-is-my-order already" in shown.stderr
    assert (tmp_path / "desk.yaml").read_text() == before


def test_a_session_that_there_is_not_is_bad_input(tmp_path: Path) -> None:
    store(tmp_path)
    shown = spanjudge("suite", "add", "absent", "--suite", tmp_path / "desk.yaml", "--data-dir", tmp_path)
    assert shown.exit_code == 2
    assert not (tmp_path / "desk.yaml").exists()


def test_a_new_case_can_be_run_on_the_stored_session_it_came_from(tmp_path: Path) -> None:
    add(tmp_path)
    shown = spanjudge("suite", "run", "--stored", "--suite", tmp_path / "desk.yaml", "--data-dir", tmp_path)
    assert shown.exit_code == 0, shown.output
    assert "pass  desk/where-is-my-order  1.00  s-4471" in shown.stdout


def test_what_a_judge_found_before_counts_for_stored_sessions(tmp_path: Path) -> None:
    store(tmp_path, verdicts=True)
    add(tmp_path)
    shown = spanjudge("suite", "run", "--stored", "--suite", tmp_path / "desk.yaml", "--data-dir", tmp_path)
    assert shown.exit_code == 1
    assert "answer 0.00 (goal_completion)" in shown.stdout


@pytest.mark.parametrize(
    ("earlier", "why"),
    [
        (goal(version="0+v1"), f"version 0+v1, now {GoalCompletion().version}"),
        (goal("claude-old-1"), "judge claude-old-1, now claude-opus-4-8"),
    ],
)
def test_what_was_measured_otherwise_before_does_not_count_and_is_asked_again(
    good: Path, earlier: Judged, why: str
) -> None:
    store(made(good / "data"), earlier=earlier)
    with AnthropicStub(says("Complete")) as stub:
        config = asking(good, stub)
        suite_file(good, STORED_SUITE)
        without = spanjudge("suite", "run", "--stored", "-c", config)
        assert f"goal_completion: {why}" in without.stderr
        assert "do not count; --judge asks again" in without.stderr
        assert "goal_completion" not in without.stdout
        shown = spanjudge("suite", "run", "--stored", "-c", config, "--judge")
        assert len(stub.requests) == 1
    assert "pass  judge: 1 of 1 question answered" in shown.stdout
    assert "pass  desk/any  1.00  s-4471" in shown.stdout, shown.output


@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-opus-4-8-20260301"])
def test_what_was_measured_alike_before_counts_and_is_not_asked_again(good: Path, model: str) -> None:
    store(made(good / "data"), earlier=goal(model))
    with AnthropicStub(says("Complete")) as stub:
        config = asking(good, stub)
        suite_file(good, STORED_SUITE)
        shown = spanjudge("suite", "run", "--stored", "-c", config, "--judge")
        assert stub.requests == []
    assert "answer 0.00 (goal_completion)" in shown.stdout
    assert "n/a   judge: there was nothing to ask" in shown.stdout


STORED_SUITE = "name: desk\nversion: '1'\ncases:\n  - id: any\n    match: {}\n    risk: high\n"


def test_evaluators_that_only_ask_are_left_out_without_a_judge() -> None:
    names = {one.id for one in by_code(build(), ["polite"])}
    assert "required_steps" in names
    assert names.isdisjoint({"goal_completion", "skill_selection", "skill_instruction_following", "faithfulness"})
