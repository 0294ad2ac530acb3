"""What a changed configuration changes at once, what only after a restart, and what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.config import Config
from collector.in_force import InForce, changed_to, in_force, need_restart, read_in_force
from judge.documents import DocumentError

SUITE = """
name: shop
version: "1"
cases:
  - id: mug
    match: {task_contains: mug}
    expected_skill: stock
"""


def _read(directory: Path, **config: Any) -> InForce:
    (directory / "spanjudge.yaml").write_text(yaml.safe_dump(config))
    return read_in_force(directory / "spanjudge.yaml", {})


def _evaluators(now: InForce) -> set[str]:
    return {evaluator.id for evaluator in now.rules.evaluators}


def test_rules_change_and_what_is_read_at_the_start_stays(tmp_path: Path) -> None:
    now = _read(tmp_path, shutdown_seconds=5, sampling={"rate": 0.5})
    (tmp_path / "suite.yaml").write_text(SUITE)
    wanted = _read(
        tmp_path,
        shutdown_seconds=9,
        suites=["suite.yaml"],
        sampling={"rate": 0.25},
        evaluators={"budgets": {"enabled": False}},
        sessions={"aliases": ["chat.id"]},
    )
    after = changed_to(now, wanted)
    assert [suite.name for suite in after.rules.suites] == ["shop"]
    assert _evaluators(now) - _evaluators(after) == {"budgets"}
    assert (after.config.sampling.rate, after.config.shutdown_seconds) == (0.25, 5)
    assert after.rules.session_names == now.rules.session_names
    assert need_restart(after.config, wanted.config) == ["sessions.aliases", "shutdown_seconds"]


def test_a_file_as_it_was_read_outlives_the_file(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE)
    now = _read(tmp_path, suites=["suite.yaml"])
    (tmp_path / "suite.yaml").unlink()
    assert list(now.files.suites.values()) == [SUITE]
    with pytest.raises(DocumentError, match="no file matches"):
        read_in_force(tmp_path / "spanjudge.yaml", {})


def test_every_problem_of_the_configuration_and_its_files_is_told(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE.replace("expected_skill", "expected_skil"))
    with pytest.raises(DocumentError) as told:
        _read(tmp_path, suites=["suite.yaml", "missing.yaml"], evaluators={"budgetz": {"enabled": False}})
    assert len(told.value.problems) >= 2


def test_a_change_that_needs_one_for_which_it_is_too_early_is_refused(tmp_path: Path) -> None:
    budget = {"dollars_per_day": 5}
    price = {"input": 1, "output": 2}
    known = {"claude-*": price}
    now = _read(tmp_path, judge={"budget": budget, "prices": known})
    wanted = _read(
        tmp_path,
        judge={"budget": budget, "prices": {**known, "quick-model": price}},
        evaluators={"goal_completion": {"model": "quick-model"}},
    )
    with pytest.raises(DocumentError, match=r"quick-model.*after a restart"):
        changed_to(now, wanted)


def test_nothing_needs_a_restart_where_nothing_changed(tmp_path: Path) -> None:
    now = in_force(Config(data_dir=tmp_path), "the defaults")
    assert need_restart(now.config, now.config) == []
    assert changed_to(now, now).config == now.config
