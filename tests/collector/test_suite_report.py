"""A run of suites as a whole, as JSON and as JUnit XML."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

from collector.offline import Examined, by_code, examine
from collector.store.baselines import KeptSession
from collector.store.store import ClosedSession
from collector.suite_report import Run, document, junit, run_of
from extractors.trajectory import Trajectory
from judge.catalog import build
from judge.composite import CompositeRules
from judge.evaluators.required_steps import RequiredSteps
from judge.gates import GateRules, Status
from judge.suites import Suite, parse_suite
from judge.verdict import SessionRef
from tests.judge.trajectories import call, trajectory

SUITE = parse_suite(
    """
name: desk
version: "1"
cases:
  - id: pay
    match: {task_contains: pay}
    required_steps: [{tool: pay}]
  - id: careful
    match: {}
    risk: high
    forbidden_events: [{tool: delete}]
  - id: never-met
    match: {task_contains: something else}
    expected_skill: x
""",
    "suite.yaml",
)
GOOD = trajectory(call("pay"), task="pay it", started_ns=10**9, ended_ns=3 * 10**9)
BAD = trajectory(call("delete"), task="pay\x00 it")


def examined(*trajectories: Trajectory, suite: Suite = SUITE) -> list[Examined]:
    found = []
    for number, one in enumerate(trajectories or (GOOD, BAD)):
        made = replace(one, session_id=f"s-{number}")
        closed = ClosedSession(SessionRef(f"s-{number}"), 5, "recording", 1.0, made, 1, 0)
        found.append(examine(closed, made, [suite], by_code(build(), ()), 7))
    return found


def run(*trajectories: Trajectory, rules: GateRules | None = None, require_all: bool = False) -> Run:
    return run_of(examined(*trajectories), [SUITE], CompositeRules(), rules or GateRules(), require_all=require_all)


def gates(of: Run) -> dict[str, Status]:
    return {gate.name: gate.status for gate in of.gates}


def test_good_sessions_pass_every_gate() -> None:
    found = run(GOOD, GOOD)
    assert found.passed
    assert gates(found) == {
        "cases": Status.PASSED,
        "high_risk": Status.PASSED,
        "forbidden_events": Status.PASSED,
        "adherence": Status.PASSED,
    }


def test_one_bad_session_among_many_fails_the_absolute_gates() -> None:
    found = run(*[GOOD] * 9, BAD, rules=GateRules(min_pass_rate=0.5))
    assert not found.passed
    assert gates(found)["cases"] is Status.PASSED
    assert gates(found)["high_risk"] is Status.FAILED
    assert gates(found)["forbidden_events"] is Status.FAILED


def test_a_case_that_no_session_falls_under_fails_only_on_request() -> None:
    assert [case.key for case in run(GOOD).unmatched] == ["desk/never-met"]
    assert not run(GOOD, require_all=True).passed


def test_a_fall_against_the_baseline_is_a_gate() -> None:
    before = [KeptSession(one.session, one.verdicts) for one in examined(*[GOOD] * 30)]
    worse = run_of(
        examined(*[replace(GOOD, tool_calls=())] * 30), [SUITE], CompositeRules(), GateRules(), baseline=before
    )
    assert gates(worse)["baseline"] is Status.FAILED
    same = run_of(examined(*[GOOD] * 30), [SUITE], CompositeRules(), GateRules(), baseline=before)
    assert gates(same)["baseline"] is Status.PASSED


def test_another_version_of_an_evaluator_is_not_compared() -> None:
    now = examined(*[replace(GOOD, tool_calls=())] * 30)
    before = [
        KeptSession(
            one.session,
            tuple(replace(each, verdict=replace(each.verdict, evaluator_version="0")) for each in one.verdicts),
        )
        for one in examined(*[GOOD] * 30)
    ]
    found = run_of(now, [SUITE], CompositeRules(), GateRules(), baseline=before)
    (gate,) = [one for one in found.gates if one.name == "baseline"]
    assert gate.status is Status.UNDECIDED
    versions = f"30 sessions by version 0 in the baseline, and 30 sessions by version {RequiredSteps.version} now"
    assert f"required_steps: not compared: {versions}" in gate.details


def test_the_document_is_json_and_says_what_came_of_each_case() -> None:
    found = json.loads(json.dumps(document(run())))
    assert found["passed"] is False
    assert found["unmatched"] == ["desk/never-met"]
    assert [(one["case"], one["session_id"], one["standing"], one["total"]) for one in found["results"]] == [
        ("desk/pay", "s-0", "passed", 1.0),
        ("desk/careful", "s-0", "passed", None),
        ("desk/pay", "s-1", "failed", 0.0),
        ("desk/careful", "s-1", "failed", None),
    ]


def test_junit_counts_what_it_holds_and_skips_what_was_not_met() -> None:
    root = ElementTree.fromstring(junit(run()))
    desk, of_gates = root.findall("testsuite")
    assert desk.attrib == {
        "name": "desk",
        "tests": "5",
        "failures": "2",
        "errors": "0",
        "skipped": "1",
        "time": "4.000",
    }
    assert root.attrib["tests"] == str(5 + len(of_gates.findall("testcase")))
    names = [case.attrib["name"] for case in desk.findall("testcase")]
    assert names[:2] == ["pay [s-0]", "careful [s-0]"]
    assert names[-1] == "never-met"


def test_junit_has_only_what_the_usual_schema_knows() -> None:
    known = {
        "testsuites": {"name", "tests", "failures", "errors", "time"},
        "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
        "testcase": {"classname", "name", "time"},
        "failure": {"message", "type"},
        "error": {"message", "type"},
        "skipped": {"message"},
    }
    for element in ElementTree.fromstring(junit(run())).iter():
        assert set(element.attrib) <= known[element.tag]


def test_what_xml_cannot_hold_is_replaced() -> None:
    made = trajectory(call("delete", {"path": "a\x1bb\ud800"}), task="pay")
    text = junit(run(made))
    assert "a\\u001bb" in text or "a�b" in text
    ElementTree.fromstring(text)
