"""Cases of alerts, as promtool takes them, but for what cannot vary.

Of what an alert says, a case states what depends on its values (summary, page_url); the rest is the same text for all
and is filled in from the rule. So a case reads as what was seen and what is told.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
RULES = ROOT / "deploy" / "prometheus"
RULE_FILES = (RULES / "recording-rules.yaml", RULES / "alert-rules.yaml")
CASES = sorted(Path(__file__).parent.glob("*.yaml"))


def groups(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
    return found


def alerts() -> list[dict[str, Any]]:
    return [rule for group in groups(RULES / "alert-rules.yaml") for rule in group["rules"]]


def same_for_all(rule: Mapping[str, Any]) -> dict[str, str]:
    """The annotations in which nothing is filled in by Prometheus."""
    return {name: text for name, text in rule["annotations"].items() if "{{" not in text}


def rule_of(alertname: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The one rule of this name whose own labels are among those expected."""
    (found,) = [rule for rule in alerts() if rule["alert"] == alertname and rule["labels"].items() <= labels.items()]
    return found


def expectations(case_file: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(alert, what is expected to fire) of each moment that the cases of a file look at."""
    for case in yaml.safe_load(case_file.read_text(encoding="utf-8"))["tests"]:
        for moment in case.get("alert_rule_test", ()):
            yield moment["alertname"], moment["exp_alerts"]


def filled_in(case_file: Path) -> dict[str, Any]:
    """The cases of a file as promtool takes them."""
    document: dict[str, Any] = copy.deepcopy(yaml.safe_load(case_file.read_text(encoding="utf-8")))
    document["rule_files"] = [str(file) for file in RULE_FILES]
    document["group_eval_order"] = [group["name"] for file in RULE_FILES for group in groups(file)]
    for case in document["tests"]:
        case.pop("name")
        for moment in case.get("alert_rule_test", ()):
            # New objects: YAML's anchors make one of those that are expected at several moments.
            moment["exp_alerts"] = [
                {
                    "exp_labels": expected["exp_labels"],
                    "exp_annotations": same_for_all(rule_of(moment["alertname"], expected["exp_labels"]))
                    | expected["exp_annotations"],
                }
                for expected in moment["exp_alerts"]
            ]
    return document
