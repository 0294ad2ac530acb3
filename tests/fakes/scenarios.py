"""Writing what stand-ins play as fixtures: export requests and where they come from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tests.fakes.otlp_json import Json
from tests.fakes.provenance import front_matter


class Played(Protocol):
    """What a stand-in recorded."""

    def requests(self) -> Sequence[tuple[str, Json]]:
        """(`traces` or `logs`, export request) in the order sent."""


def write_scenarios(fixtures: Path, scenarios: Mapping[str, Callable[[], Played]], harness: str, player: str) -> None:
    """Write every scenario's export requests and provenance; expectations are not touched."""
    for name, play in scenarios.items():
        directory = fixtures / name
        directory.mkdir(parents=True, exist_ok=True)
        for file in [*directory.glob("traces-*.json"), *directory.glob("logs-*.json")]:
            file.unlink()
        counts = {"traces": 0, "logs": 0}
        for signal, request in play().requests():
            counts[signal] += 1
            text = json.dumps(request, indent=1, ensure_ascii=False)
            (directory / f"{signal}-{counts[signal]:02}.json").write_text(text + "\n", encoding="utf-8")
        (directory / "provenance.md").write_text(
            front_matter(directory) + f"# {name}\n\n{(play.__doc__ or '').strip()}\n\n- Harness: {harness}.\n"
            f"- Played by `{player}`: names, nesting, value types and order are those of recorded\n"
            "  exports of that version; every text, name, id, number and time is invented.\n",
            encoding="utf-8",
        )
