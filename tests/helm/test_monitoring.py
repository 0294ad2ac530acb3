"""The chart carries the rules and dashboards of deploy/, all of them and unchanged."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helm.cases import EXTRAS, merged
from tests.helm.rendering import Helm, Object, Rendered
from tests.integrations import require

pytestmark = [pytest.mark.integration("helm"), pytest.mark.timeout(1800)]

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = ("alert-rules", "recording-rules")
ON: dict[str, Any] = {"prometheusRule": {"enabled": True}, "dashboards": {"enabled": True}}


def groups(rendered: Rendered, file: str) -> list[Object]:
    found: list[Object] = rendered.one("PrometheusRule", f"spanjudge-{file}")["spec"]["groups"]
    return found


def alerts(rendered: Rendered) -> list[Object]:
    return [rule for group in groups(rendered, "alert-rules") for rule in group["rules"] if "alert" in rule]


@pytest.mark.parametrize("file", RULES)
def test_rules_are_those_of_deploy(helm: Helm, file: str) -> None:
    theirs = yaml.safe_load((DEPLOY / "prometheus" / f"{file}.yaml").read_text(encoding="utf-8"))
    assert groups(helm.render(ON), file) == theirs["groups"]
    assert theirs["groups"]


@pytest.mark.integration("promtool")
@pytest.mark.parametrize("values", [ON, merged(ON, EXTRAS["monitoring"])], ids=["as they are", "with own labels"])
@pytest.mark.parametrize("file", RULES)
def test_prometheus_takes_the_rules(helm: Helm, tmp_path: Path, file: str, values: dict[str, Any]) -> None:
    promtool = shutil.which("promtool")
    require("promtool", promtool is not None, "install Prometheus")
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump({"groups": groups(helm.render(values), file)}))
    checked = subprocess.run([str(promtool), "check", "rules", rules], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr + checked.stdout


def test_addresses_of_runbooks_and_page_are_replaced_in_every_alert(helm: Helm) -> None:
    found = alerts(helm.render(EXTRAS["monitoring"]))
    for alert in found:
        assert alert["annotations"]["runbook_url"] == f"https://wiki.internal/spanjudge/{alert['alert']}.md"
        assert alert["labels"]["team"] == "agents"
        assert "example.com" not in json.dumps(alert)
    pages = [alert["annotations"]["page_url"] for alert in found if "page_url" in alert["annotations"]]
    assert pages
    assert all(page.startswith("https://judge.internal/") for page in pages)


def test_an_alert_can_be_left_out(helm: Helm) -> None:
    names = [alert["alert"] for alert in alerts(helm.render(ON))]
    left_out = names[0]
    without = helm.render(merged(ON, {"prometheusRule": {"disabled": [left_out]}}))
    assert [alert["alert"] for alert in alerts(without)] == [name for name in names if name != left_out]


def test_dashboards_are_those_of_deploy(helm: Helm) -> None:
    theirs = {file.name: json.loads(file.read_text()) for file in (DEPLOY / "grafana" / "dashboards").glob("*.json")}
    carried = [
        each for each in helm.render(ON).all("ConfigMap") if each["metadata"]["labels"].get("grafana_dashboard") == "1"
    ]
    ours = {name: json.loads(text) for each in carried for name, text in each["data"].items()}
    assert ours == {f"spanjudge-{name}": dashboard for name, dashboard in theirs.items()}
    assert theirs
    # What kubectl keeps of an object it applied has to fit into an annotation.
    assert all(len(json.dumps(each)) < 262_144 for each in carried)


def test_a_packaged_chart_renders_the_same(helm: Helm, tmp_path: Path) -> None:
    values = merged(ON, EXTRAS["suites"])
    archive = helm.package(tmp_path)
    assert helm.render(values, chart=archive) == helm.render(values)
