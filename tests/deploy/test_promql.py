"""What the dashboards' ways to ask answer, worked out by promtool for series written down by hand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.grafana.promql import events, growth, ratio
from tests.integrations import require

_COUNTER = "things_total"


def _answers(tmp_path: Path, series: dict[str, str], expr: str, at: str, expected: dict[str, float]) -> None:
    """Fails unless the expression has these values, by labels as text. Series are in steps of a minute."""
    program = shutil.which("promtool")
    require("promtool", program is not None, "apt-get install prometheus")
    assert program is not None
    samples = [{"labels": labels, "value": value} for labels, value in expected.items()]
    test: dict[str, Any] = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": expr, "eval_time": at, "exp_samples": samples}],
    }
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [], "evaluation_interval": "1m", "tests": [test]}))
    done = subprocess.run([program, "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _rounded(expr: str) -> str:
    return f"round({expr})"  # `increase` guesses what lies between scrapes


@pytest.mark.integration("promtool")
@pytest.mark.parametrize(
    ("values", "counted"),
    [
        ("_x70 1x50", 1),  # one event, whose series came with it
        ("_x70 1x20 2x30", 2),  # and another
        ("_x118 1 1", 1),  # just now
        ("0x60 1x60", 1),  # the series was there before
        ("5x120", 0),  # nothing new in the last hour
        ("5x80 _x3 1x40", 1),  # the process began anew
        ("5x80 _x20 1x20", 1),  # and was away for long
        ("5x30 _x5 5x90", 0),  # nobody scraped when the hour began, and nothing happened
    ],
)
def test_events_are_counted_from_the_first(tmp_path: Path, values: str, counted: float) -> None:
    asked = _rounded(events(_COUNTER, "1h"))
    _answers(tmp_path, {_COUNTER: values}, asked, "120m", {"{}": counted})


@pytest.mark.integration("promtool")
def test_events_of_several_instances_add_up_by_label(tmp_path: Path) -> None:
    series = {
        f'{_COUNTER}{{label="Yes",instance="a"}}': "3x60 4x60",
        f'{_COUNTER}{{label="Yes",instance="b"}}': "_x90 2x30",
        f'{_COUNTER}{{label="No",instance="b"}}': "_x90 1x30",
    }
    asked = _rounded(events(_COUNTER, "1h", "label"))
    _answers(tmp_path, series, asked, "120m", {'{label="Yes"}': 3, '{label="No"}': 1})


@pytest.mark.integration("promtool")
def test_a_ratio_is_zero_without_a_part_and_absent_without_a_whole(tmp_path: Path) -> None:
    series = {
        f'{_COUNTER}{{skill="wrong",label="No"}}': "0x60 6x60",
        f'{_COUNTER}{{skill="both",label="No"}}': "0x60 3x60",
        f'{_COUNTER}{{skill="both",label="Yes"}}': "0x60 3x60",
        f'{_COUNTER}{{skill="idle",label="Yes"}}': "7x120",
    }
    asked = ratio(growth(f'{_COUNTER}{{label="Yes"}}', "1h", "skill"), growth(_COUNTER, "1h", "skill"))
    _answers(tmp_path, series, asked, "120m", {'{skill="wrong"}': 0, '{skill="both"}': 0.5})
