"""Dashboards as Grafana reads them: every query in a file, and what Grafana puts in for variables before it asks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parents[2] / "deploy" / "grafana" / "dashboards"
FILES = sorted(DIRECTORY.glob("*.json"))
_METRIC = re.compile(r"\b(?:spanjudge|process)_[a-z0-9_]+")
_LABEL_VALUES = re.compile(r"label_values\((?P<selector>.+), (?P<label>\w+)\)")


@dataclass(frozen=True, slots=True)
class Asked:
    """One query of a panel or an annotation."""

    dashboard: str
    panel: str
    expr: str
    instant: bool
    exemplars: bool

    @property
    def metrics(self) -> set[str]:
        return set(_METRIC.findall(self.expr))


def dashboard(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def panels(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Those with queries, also in folded rows."""
    for panel in found["panels"]:
        if panel["type"] == "row":
            yield from panel["panels"]
        else:
            yield panel


def queries(file: Path) -> Iterator[Asked]:
    found = dashboard(file)
    for panel in panels(found):
        for target in panel["targets"]:
            yield Asked(file.stem, panel["title"], target["expr"], target["instant"], target["exemplar"])
    for mark in found["annotations"]["list"]:
        if "expr" in mark:
            yield Asked(file.stem, f"annotation {mark['name']}", mark["expr"], instant=False, exemplars=False)


def choices(file: Path) -> Iterator[tuple[str, str]]:
    """(selector, label) of every variable whose values come from Prometheus."""
    for variable in dashboard(file)["templating"]["list"]:
        if variable["type"] == "query":
            match = _LABEL_VALUES.fullmatch(variable["query"]["query"])
            assert match, variable
            yield match["selector"], match["label"]


def filled_in(expr: str, **chosen: str) -> str:
    """With variables as given (regular expressions), the others on "All"; times as for a dashboard of 15 minutes."""
    times = {"__rate_interval": "4s", "__range": "900s", "window": "1h"}
    names = sorted({*re.findall(r"\$(\w+)", expr)}, key=len, reverse=True)
    for name in names:
        expr = expr.replace(f"${name}", times.get(name) or chosen.get(name, ".*"))
    return expr


def one_value(value: str) -> str:
    """A choice as Grafana fills it in: a pattern, within a text of PromQL."""
    return re.escape(value).replace("\\", "\\\\")
