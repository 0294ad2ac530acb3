"""Every recorded session gives exactly the trajectory in its `expected.json`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from extractors import registry
from extractors.trajectory import Trajectory
from tests.extractors.fixtures import name_of, scenarios, session_in
from tests.fakes.provenance import fields, front_matter

TRAJECTORY = TypeAdapter(Trajectory)
SCENARIOS = scenarios()


@pytest.fixture(params=SCENARIOS, ids=name_of)
def scenario(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_a_recorded_session_gives_its_expected_trajectory(scenario: Path, request: pytest.FixtureRequest) -> None:
    trajectory = TRAJECTORY.dump_python(registry.extract(session_in(scenario)), mode="json")
    expected = scenario / "expected.json"
    if request.config.getoption("--update-golden"):
        expected.write_text(json.dumps(trajectory, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert trajectory == json.loads(expected.read_text(encoding="utf-8"))


def test_at_most_one_harness_recognizes_a_recorded_session(scenario: Path) -> None:
    claims = registry.recognizers(session_in(scenario))
    assert len(claims) <= 1
    assert registry.extract(session_in(scenario)).harness in {*claims, *(one.NAME for one in registry.CONVENTIONS)}


def test_a_recorded_session_says_where_it_comes_from(scenario: Path) -> None:
    text = (scenario / "provenance.md").read_text(encoding="utf-8")
    assert text.removeprefix(front_matter(scenario)).startswith("#")


def test_a_recorded_session_says_by_which_settings_it_was_recorded(scenario: Path) -> None:
    said = fields(scenario)
    assert said.get("mode"), "begin provenance.md with the lines `---`, `mode: <what was switched on>`, `---`"
    assert set(said) <= {"mode", "like", "cut"}
    assert "like" not in said or (scenario.parent / said["like"] / "expected.json").is_file()
