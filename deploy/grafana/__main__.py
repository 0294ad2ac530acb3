"""`python -m deploy.grafana`: write deploy/grafana/dashboards/ anew; a test compares."""

from __future__ import annotations

import json
from pathlib import Path

from deploy.grafana.judge import JUDGE
from deploy.grafana.pipeline import PIPELINE
from deploy.grafana.quality import QUALITY
from deploy.grafana.skills import SKILLS
from deploy.grafana.writing import dashboard_json

DIRECTORY = Path(__file__).parent / "dashboards"
DASHBOARDS = (QUALITY, SKILLS, JUDGE, PIPELINE)


def files() -> dict[str, str]:
    """By name, the text of each file."""
    return {
        f"{dashboard.uid.removeprefix('spanjudge-')}.json": f"{json.dumps(dashboard_json(dashboard), indent=1)}\n"
        for dashboard in DASHBOARDS
    }


def write() -> None:
    DIRECTORY.mkdir(exist_ok=True)
    for name, text in files().items():
        (DIRECTORY / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
