"""Recordings and a suite for the commands of CI: an agent that looks orders up and pays back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from typer.testing import CliRunner, Result

from collector.cli import app
from collector.demo import genai
from collector.demo.script import Call, Script, Turn

SERVICE = "tideway-fleet"
"""Of every recording."""

SUITE = """\
name: desk
version: "1"
cases:
  - id: refund # the usual one
    match: {task_contains: money back}
    required_steps:
      - tool: find_order
      - tool: pay_back
    answer_contains: [paid]
  - id: careful
    match: {service: "*"}
    risk: high
    forbidden_events: [{tool: delete_order}]
"""
GOOD = ("find_order", "pay_back")


def record(directory: Path, name: str, tools: Sequence[str] = GOOD, task: str = "I want my money back") -> Path:
    """One session, as the server would get it; every call has the same arguments. The file's directory is returned."""
    directory.mkdir(exist_ok=True)
    turns = [*(Turn(calls=[Call(tool, {"order": "7"}, "done")]) for tool in tools), Turn("It is paid.")]
    for number, request in enumerate(genai.play(Script(name, task, turns))):
        (directory / f"{name}-{number}-{request.signal}.bin").write_bytes(request.payload)
    return directory


def suite_file(directory: Path, text: str = SUITE) -> Path:
    file = directory / "desk.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def spanjudge(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])
