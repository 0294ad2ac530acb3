"""Texts that try to steer a judge. `corpus.json` has invisible characters as escapes, so that reviews show them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("corpus.json")


@dataclass(frozen=True, slots=True)
class Injection:
    """`kind` is the trick, `name` what is special about this one; both name the test."""

    kind: str
    name: str
    text: str


def corpus() -> list[Injection]:
    """All of the file. `before` and `after` are padding: a piece and how often it is repeated."""
    return [_injection(entry) for entry in json.loads(FILE.read_text(encoding="utf-8"))]


def _injection(entry: dict[str, Any]) -> Injection:
    text = "".join((_padding(entry.get("before")), entry["text"], _padding(entry.get("after"))))
    return Injection(entry["kind"], entry["name"], text)


def _padding(piece_and_times: list[Any] | None) -> str:
    if piece_and_times is None:
        return ""
    piece, times = piece_and_times
    return str(piece) * int(times)
