"""`spanjudge demo`, with its real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from collector.commands.grouping import group
from collector.commands.shifting import latest_ns
from collector.config import Config
from collector.demo.report import metric_lines, missing_verdicts
from collector.demo.sessions import DemoSession, demo_sessions, suite_text
from extractors.registry import extract
from extractors.spans import Session
from judge.catalog import BUILT_IN, build, plan_all
from judge.suites import expectations_for, parse_suite
from judge.verdict import Score
from tests.fakes.verdicts import judged

NOW_NS = 1_800_000_000_000_000_000
SESSIONS = demo_sessions("test", NOW_NS)
WITHOUT_KEY = {name: value for name, value in os.environ.items() if name != "ANTHROPIC_API_KEY"}


def grouped(sessions: Sequence[DemoSession]) -> dict[str, Session]:
    requests = [request for session in sessions for request in session.requests]
    return {one.session_id: one for one in group(requests, Config()).sessions}


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: str(session.shows))
def test_a_demo_session_shows_what_it_says(session: DemoSession) -> None:
    trajectory = extract(grouped([session])[session.session_id])
    suite = parse_suite(suite_text(), "tideway.yaml")
    plan = plan_all(trajectory, expectations_for(trajectory, [suite]), build())
    labels = {(one.evaluator, one.outcome.label) for one in plan.verdicts if isinstance(one.outcome, Score)}
    assert trajectory.harness == session.harness
    assert trajectory.notes == ()
    assert {(wanted.evaluator, wanted.label) for wanted in session.expected} <= labels


def test_demo_sessions_are_over_just_before_now() -> None:
    ends = [latest_ns(session.requests) for session in SESSIONS]
    assert all(NOW_NS - 60 * 10**9 < end < NOW_NS for end in ends)


def test_a_missing_verdict_is_told() -> None:
    session = replace(SESSIONS[0], harness="strands")
    other = judged(session.session_id, "step_efficiency")
    assert missing_verdicts([session], {}) == [f"{session.session_id}: the session was not judged"]
    assert len(missing_verdicts([session], {session.session_id: [other]})) == len(session.expected)


def test_the_metrics_shown_are_those_that_tell_something() -> None:
    text = (
        'spanjudge_verdicts_total{label="loop"} 2.0\nspanjudge_verdicts_total{label="not_applicable"} 9.0\n'
        'spanjudge_sessions_closed_total{reason="idle"} 8.0\nspanjudge_sessions_closed_total{reason="max_age"} 0.0\n'
    )
    assert list(metric_lines(text)) == [
        'spanjudge_verdicts_total{label="loop"} 2.0',
        'spanjudge_sessions_closed_total{reason="idle"} 8.0',
    ]


def test_the_demo_finds_what_it_must_and_leaves_no_server(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "collector", "demo", "--data-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=90,
        env=WITHOUT_KEY,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    asking = sorted(name for name, entry in BUILT_IN.items() if entry.prompt and "ask" not in entry.takes)
    assert f"to have {', '.join(asking)} judged" in " ".join(ended.stdout.split())
    for shown in ("FAIL other_skill", "FAIL loop", "FAIL violated", "no_judge_configured", "spanjudge show"):
        assert shown in ended.stdout
    assert '"stopped"' in (tmp_path / "server.log").read_text(encoding="utf-8")


def test_a_demo_that_is_told_to_end_stops_its_server(tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [sys.executable, "-m", "collector", "demo", "--keep", "--data-dir", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=WITHOUT_KEY,
    )
    try:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "Ctrl-C stops it" in line:
                break
        assert json.loads((tmp_path / "addresses.json").read_text(encoding="utf-8"))["grpc"]
        demo.send_signal(signal.SIGTERM)
        demo.wait(30)
    finally:
        demo.kill()
        demo.wait()
    assert '"stopped"' in (tmp_path / "server.log").read_text(encoding="utf-8")
