"""`spanjudge baseline`, `spanjudge diff` and `spanjudge gate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import Result

from collector.offline import ALWAYS_ASKING
from tests.collector.commands.desk_recordings import GOOD, SERVICE, record, spanjudge, suite_file
from tests.collector.commands.test_suite import store
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub, fails, says


class Desk:
    """A directory with a suite, recordings `old` and `new`, and a store."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.suite = suite_file(directory)
        self.data = directory / "data"

    def record(self, kind: str, count: int, tools: tuple[str, ...] = GOOD, first: int = 0) -> None:
        for number in range(first, first + count):
            record(self.directory / kind, f"{kind}-{number}", tools)

    def save(self, name: str = "v1", *more: str) -> Result:
        return self.run("baseline", "save", name, self.directory / "old", "--suite", self.suite, *more)

    def diff(self, *more: str | Path) -> Result:
        return self.run("diff", self.directory / "new", "--suite", self.suite, *more)

    def gate(self, *more: str | Path) -> Result:
        return self.run("gate", self.directory / "new", "--suite", self.suite, *more)

    def run(self, *arguments: str | Path) -> Result:
        return spanjudge(*arguments, "--data-dir", self.data)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.record("old", 2)
    return made


def test_a_baseline_is_saved_from_recordings_listed_and_shown(desk: Desk) -> None:
    shown = desk.save()
    assert shown.exit_code == 0, shown.output
    assert f"saved v1: 2 sessions of {SERVICE}, version 12" in shown.stdout
    (listed,) = json.loads(desk.run("baseline", "list", "--json").stdout)["baselines"]
    assert (listed["name"], listed["sessions"], listed["promoted_ns"]) == ("v1", 2, None)
    about = json.loads(desk.run("baseline", "show", "v1", "--json").stdout)
    assert about["rates"]["required_steps"] == {"passed": 2, "failed": 0}
    assert about["session_ids"] == ["old-0", "old-1"]
    assert "2 of 2 sessions passed" in desk.run("baseline", "show", "v1").stdout


def test_the_one_promoted_last_is_current(desk: Desk) -> None:
    desk.save("v1", "--promote")
    desk.save("v2")
    assert "v1 " in current(desk)
    assert desk.run("baseline", "promote", "v2").exit_code == 0
    assert "v2 " in current(desk)


def current(desk: Desk) -> str:
    lines = desk.run("baseline", "list").stdout.splitlines()
    (line,) = [line for line in lines if "since" in line]
    return line


def test_a_taken_name_is_refused_until_it_is_deleted(desk: Desk) -> None:
    desk.save()
    again = desk.save()
    assert again.exit_code == 2
    assert "there is a baseline v1 already" in again.stderr
    assert desk.run("baseline", "delete", "v1").exit_code == 0
    assert desk.save().exit_code == 0


@pytest.mark.parametrize("action", ["show", "promote", "delete"])
def test_a_baseline_that_there_is_not_is_bad_input(desk: Desk, action: str) -> None:
    desk.save()
    shown = desk.run("baseline", action, "v9")
    assert shown.exit_code == 2
    assert "there is no baseline v9; there are: v1" in shown.stderr


def test_nothing_is_saved_of_a_damaged_recording(desk: Desk) -> None:
    (desk.directory / "old" / "traces-9.bin").write_bytes(b"\xff\xff not a request")
    assert desk.save().exit_code == 2
    assert desk.run("baseline", "list").exit_code == 2, "there is no store yet"


def test_a_baseline_of_stored_sessions_keeps_the_verdicts_they_have(desk: Desk) -> None:
    data = store(desk.directory, verdicts=True)
    saved = spanjudge("baseline", "save", "v1", "--stored", "--service", "desk", "--data-dir", data)
    assert saved.exit_code == 0, saved.output
    about = json.loads(spanjudge("baseline", "show", "v1", "--json", "--data-dir", data).stdout)
    assert about["rates"] == {"goal_completion": {"passed": 0, "failed": 1}}


def test_the_same_trajectories_differ_in_nothing(desk: Desk) -> None:
    desk.save("v1", "--promote")
    desk.record("new", 2)
    shown = desk.diff()
    assert shown.exit_code == 0, shown.output
    assert "0 of 2 pairs are worse than in baseline v1" in shown.stdout


def test_another_trajectory_is_a_regression_though_the_answer_passes(desk: Desk) -> None:
    desk.save("v1", "--promote")
    desk.record("new", 1, ("find_order", "ask_boss", "pay_back"))
    shown = desk.diff("--json")
    assert shown.exit_code == 1
    document = json.loads(shown.stdout)
    (pair,) = document["pairs"]
    assert [one["kind"] for one in pair["differences"] if one["regression"]] == [
        "tool_added",
        "step_delta",
        "step_delta",
    ]
    assert pair["differences"][0]["text"] == "calls ask_boss as call 2, which the baseline does not"
    assert document["only_in_baseline"] == ["old-1"]


def test_the_same_calls_in_another_order_are_a_regression(desk: Desk) -> None:
    desk.save("v1", "--promote")
    desk.record("new", 1, ("pay_back", "find_order"))
    shown = desk.diff()
    assert shown.exit_code == 1
    assert "tool_reordered" in shown.stdout


def test_sessions_without_a_counterpart_are_bad_input(desk: Desk) -> None:
    desk.save("v1", "--promote")
    record(desk.directory / "new", "other", task="Something else")
    suite_file(desk.directory, (desk.suite.read_text().partition("  - id: careful")[0]))
    shown = desk.diff()
    assert shown.exit_code == 2
    assert "no session has a counterpart" in shown.stderr


def test_a_gate_with_too_few_sessions_exits_with_3_and_says_so(desk: Desk) -> None:
    desk.save("v1", "--promote")
    desk.record("new", 2)
    shown = desk.gate()
    assert shown.exit_code == 3, shown.output
    assert "not enough data" in shown.stdout


def test_a_gate_that_nothing_fell_through_exits_with_0(desk: Desk) -> None:
    desk.save("v1", "--promote")
    desk.record("new", 2)
    assert desk.gate("--min-sample", "2").exit_code == 0


def test_a_fall_beyond_chance_exits_with_1_and_names_the_test(desk: Desk) -> None:
    desk.record("old", 8, first=2)
    desk.save("v1", "--promote")
    desk.record("new", 8, ("find_order",))
    shown = desk.gate("--min-sample", "5", "--json")
    assert shown.exit_code == 1
    gate = json.loads(shown.stdout)["gates"][0]
    assert (gate["name"], gate["status"]) == ("baseline", "failed")
    assert "Fisher's exact test" in gate["explanation"]


def test_one_forbidden_event_exits_with_1_whatever_the_rates(desk: Desk) -> None:
    desk.save("v1", "--promote")
    desk.record("new", 2)
    desk.record("new", 1, (*GOOD, "delete_order"), first=2)
    shown = desk.gate("--min-sample", "1")
    assert shown.exit_code == 1
    assert "FAIL  forbidden_events: forbidden in 1 of 3" in shown.stdout


def test_without_a_current_baseline_it_says_how_to_get_one(desk: Desk) -> None:
    desk.save()
    desk.record("new", 1)
    shown = desk.gate()
    assert shown.exit_code == 2
    assert "spanjudge baseline promote" in shown.stderr
    assert desk.gate("--baseline", "v1").exit_code == 3


def configured(desk: Desk, stub: AnthropicStub, **judge: object) -> Path:
    disabled = {name: {"enabled": False} for name in sorted(ALWAYS_ASKING - {"goal_completion"})}
    settings = {"api_key": API_KEY, "base_url": stub.url, "max_attempts": 1, **judge}
    file = desk.directory / "spanjudge.yaml"
    file.write_text(json.dumps({"data_dir": "data", "judge": settings, "evaluators": disabled}))
    return file


def test_scores_of_another_judge_are_not_compared_and_both_are_named(desk: Desk) -> None:
    desk.record("new", 2)
    with AnthropicStub(says("Complete")) as stub:
        desk.save("v1", "--promote", "--judge", "-c", str(configured(desk, stub, model="model-a")))
        same = desk.gate("--min-sample", "2", "--judge", "-c", configured(desk, stub, model="model-a"))
        stub.default = says("Failed")
        other = desk.gate("--min-sample", "2", "--judge", "-c", configured(desk, stub, model="model-b"))
        third = desk.gate("--min-sample", "2", "-c", configured(desk, stub, model="model-b"))
    assert same.exit_code == 0, same.output
    assert "goal_completion: 100.0% of 2 now, 100.0% of 2 in the baseline" in same.stdout
    assert "goal_completion: not compared: 2 sessions by version" in other.stdout
    assert "judge model-a in the baseline, and 2 sessions by version" in other.stdout
    assert "judge model-b now" in other.stdout
    assert "composite: not compared: goal_completion had another yardstick" in other.stdout
    assert "goal_completion: not compared: no score now" in third.stdout


def test_a_judge_that_answers_nothing_lets_no_gate_pass_and_no_baseline_be_saved(desk: Desk) -> None:
    desk.save("v1", "--promote")
    desk.record("new", 2)
    suite_file(desk.directory, desk.suite.read_text().partition("  - id: careful")[0])
    with AnthropicStub(fails(401, "authentication_error", "invalid key")) as stub:
        config = configured(desk, stub)
        gate = desk.gate("--min-sample", "2", "--judge", "-c", config)
        saved = desk.save("v2", "--judge", "-c", str(config))
    assert (gate.exit_code, saved.exit_code) == (2, 2)
    assert "open  judge: none of 2 questions was answered" in gate.stdout
    for shown in (gate, saved):
        assert "the judge answered none of 2 questions" in shown.stderr
        assert "check ANTHROPIC_API_KEY" in shown.stderr
    assert "nothing was saved" in saved.stderr
    assert [one["name"] for one in json.loads(desk.run("baseline", "list", "--json").stdout)["baselines"]] == ["v1"]


def test_a_difference_holds_no_secrets(desk: Desk) -> None:
    token = "ghp" + "_" + "x9" * 18
    desk.save("v1", "--promote")
    desk.record("new", 1, ("find_order", token, "pay_back"))
    for more in ([], ["--json"]):
        shown = desk.diff(*more)
        assert shown.exit_code == 1
        assert "x9x9" not in shown.output
        assert "github-token" in shown.stdout


def test_a_pair_that_is_named_by_its_task_holds_no_secrets(desk: Desk) -> None:
    task = f"Look into it with {'ghp' + '_' + 'x9' * 18}"
    suite = suite_file(desk.directory, "name: other\nversion: '1'\ncases: [{id: a, match: {service: nobody}}]\n")
    for kind in ("old", "new"):
        record(desk.directory / f"{kind}-tasks", kind, task=task)
    desk.run("baseline", "save", "v1", desk.directory / "old-tasks", "--suite", suite, "--promote")
    for more in ([], ["--json"]):
        shown = desk.run("diff", desk.directory / "new-tasks", "--suite", suite, *more)
        assert shown.exit_code == 0, shown.output
        assert "x9x9" not in shown.output
        assert "Look into it with" in shown.stdout


def test_suite_run_can_hold_against_a_baseline_too(desk: Desk) -> None:
    desk.save("v1", "--promote")
    desk.record("new", 1)
    shown = desk.run("suite", "run", desk.directory / "new", "--suite", desk.suite, "--baseline", "v1")
    assert shown.exit_code == 1
    assert "open  baseline: not enough data" in shown.stdout
