"""The tables of alerts in docs/alerts.md and docs/runbooks/README.md: `python -m tests.deploy.alerts_page` writes them
anew from the rules and the first sentence of each runbook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.deploy.alert_cases import RULES, groups

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {DOCS / "alerts.md": "runbooks/", DOCS / "runbooks" / "README.md": ""}
"""Each page with the way from it to the runbooks."""

BEGIN, END = "<!-- alerts: written by `python -m tests.deploy.alerts_page` -->", "<!-- end of alerts -->"
_TITLES = {
    "spanjudge.agents": "What agents do",
    "spanjudge.judging": "Judging",
    "spanjudge.telemetry": "Telemetry",
    "spanjudge.export": "Export",
    "spanjudge.kafka": "Kafka",
    "spanjudge.process": "The process",
}


def table(way: str) -> str:
    """One line an alert, by group; an alert of several rules has all their severities."""
    return "\n".join(_lines(way))


def _lines(way: str) -> Iterator[str]:
    for group in groups(RULES / "alert-rules.yaml"):
        yield from ("", f"**{_TITLES[group['name']]}**", "", "| alert | severity | what it tells |", "|---|---|---|")
        severities: dict[str, list[str]] = {}
        for rule in group["rules"]:
            severities.setdefault(rule["alert"], []).append(rule["labels"]["severity"])
        for alert, found in severities.items():
            yield f"| [{alert}]({way}{alert}.md) | {', '.join(dict.fromkeys(found))} | {_meaning(alert)} |"
    yield ""


def _meaning(alert: str) -> str:
    """The first sentence of its runbook."""
    text = (DOCS / "runbooks" / f"{alert}.md").read_text(encoding="utf-8")
    told = " ".join(text.partition("## What it means")[2].split())
    return re.split(r"(?<=\.)\s", told, maxsplit=1)[0]


def with_table(text: str, way: str) -> str:
    """The page with the table of now between the marks. Raises ValueError for a page without them."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks {BEGIN!r} or {END!r}")
    return f"{head}{BEGIN}\n{table(way)}\n{END}{tail}"


if __name__ == "__main__":
    for page, way in PAGES.items():
        page.write_text(with_table(page.read_text(encoding="utf-8"), way), encoding="utf-8")
