"""Alerts in a real Prometheus that scrapes the product's own metrics, and in a real Alertmanager."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest
from prometheus_client import start_http_server

from collector.metrics import Metrics
from judge.verdict import Judged, Score
from tests.deploy.alert_cases import RULE_FILES, RULES
from tests.end_to_end.server import wait_for
from tests.fakes.verdicts import judged
from tests.integrations import require
from tests.kafka.ports import free_ports
from tests.prometheus.server import Prometheus

Alerts: TypeAlias = list[dict[str, Any]]


def forbidden(case: str) -> Judged:
    made = judged(evaluator="forbidden_events", outcome=Score(0.0, "violated", ""), skill=None)
    return replace(made, verdict=replace(made.verdict, case=case), judged_ns=time.time_ns())


@contextmanager
def served(metrics: Metrics) -> Iterator[str]:
    (port,) = free_ports(1)
    serving, thread = start_http_server(port, "127.0.0.1", metrics.registry)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        serving.shutdown()
        serving.server_close()
        thread.join()


@pytest.mark.integration("prometheus")
def test_the_first_forbidden_event_of_one_of_two_processes_pages_and_no_rule_fails(tmp_path: Path) -> None:
    rules = {file.name: file.read_text(encoding="utf-8") for file in RULE_FILES}
    first, second = Metrics("1"), Metrics("1")
    with ExitStack() as running:
        targets = [running.enter_context(served(metrics)) for metrics in (first, second)]
        prometheus = running.enter_context(Prometheus(tmp_path, {"spanjudge": targets}, rules))
        client = running.enter_context(httpx.Client(base_url=prometheus.url, trust_env=False, timeout=30))

        def asked(path: str) -> Any:
            return client.get(path).raise_for_status().json()["data"]

        def evaluated() -> list[dict[str, Any]]:
            found = [rule for group in asked("/api/v1/rules")["groups"] for rule in group["rules"]]
            built = asked("/api/v1/query?query=count(spanjudge_build_info)")["result"]
            return found if built and all(rule["health"] != "unknown" for rule in found) else []

        def firing() -> Alerts:
            alerts: Alerts = asked("/api/v1/alerts")["alerts"]
            return [one for one in alerts if one["state"] == "firing"]

        wait_for(evaluated, "every rule was evaluated with what both processes show")
        assert firing() == []
        second.verdict(forbidden("desk/never-delete"))
        (told,) = wait_for(firing, "the alert fires")
        assert told["labels"] == {
            "alertname": "SpanJudgeForbiddenEvent",
            "severity": "page",
            "service": "shop",
            "case": "desk/never-delete",
            "agent_version": "7",
        }
        assert (
            "shop (version 7) did what desk/never-delete forbids, the last time at " in told["annotations"]["summary"]
        )
        failing = [(rule["name"], rule["lastError"]) for rule in evaluated() if rule["health"] != "ok"]
        assert failing == []


# ---- Alertmanager


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The example, but for its receivers, which are nobody here."""
    program = shutil.which("alertmanager") or shutil.which("prometheus-alertmanager")
    require("alertmanager", program is not None, "apt-get install prometheus-alertmanager")
    directory = tmp_path_factory.mktemp("alertmanager")
    example = (RULES / "alertmanager.yaml").read_text(encoding="utf-8")
    nowhere = example.replace("pager.example.com", "127.0.0.1:9").replace("tickets.example.com", "127.0.0.1:9")
    (directory / "alertmanager.yaml").write_text(nowhere, encoding="utf-8")
    (port,) = free_ports(1)
    arguments = [
        program or "",
        f"--config.file={directory / 'alertmanager.yaml'}",
        f"--storage.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    with (directory / "log").open("wb") as log, subprocess.Popen(arguments, stdout=log, stderr=log) as process:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v2", trust_env=False, timeout=30) as client:
                wait_for(lambda: _answers(lambda: client.get("/status")), "Alertmanager answers")
                yield client
        finally:
            process.terminate()


def _answers(ask: Callable[[], httpx.Response]) -> bool:
    try:
        return ask().is_success
    except httpx.TransportError:
        return False


def _holds_back(client: httpx.Client, expected: set[str], *alerts: dict[str, str]) -> None:
    """Of these alerts, others come to inhibit those of the names expected and no more."""
    client.post("/alerts", json=[{"labels": labels} for labels in alerts]).raise_for_status()

    def ours() -> Alerts:
        found: Alerts = client.get("/alerts").raise_for_status().json()
        return [one for one in found if one["labels"] in alerts]

    def held() -> set[str]:
        return {one["labels"]["alertname"] for one in ours() if one["status"]["inhibitedBy"]}

    wait_for(lambda: len(ours()) == len(alerts), "Alertmanager knows all of them")
    wait_for(lambda: held() >= expected, f"held back are {expected}")
    assert held() == expected


def alert(name: str, severity: str = "ticket", **labels: str) -> dict[str, str]:
    return {"alertname": name, "severity": severity, **labels}


@pytest.mark.integration("alertmanager")
def test_of_a_service_that_sends_no_more_only_that_and_what_is_forbidden_is_told(alertmanager: httpx.Client) -> None:
    _holds_back(
        alertmanager,
        {"SpanJudgeSkillSelectionBurn", "SpanJudgeVersionRegression"},
        alert("SpanJudgeServiceStopped", service="gone"),
        alert("SpanJudgeSkillSelectionBurn", "page", service="gone", skill="refunds", window="6h"),
        alert("SpanJudgeVersionRegression", service="gone", agent_version="8", evaluator="composite"),
        alert("SpanJudgeForbiddenEvent", "page", service="gone", case="desk/never-delete", agent_version="8"),
        alert("SpanJudgeBaselineOutdated", service="there", evaluator="composite"),
    )


@pytest.mark.integration("alertmanager")
def test_a_process_that_is_down_explains_what_else_is_wrong_with_it(alertmanager: httpx.Client) -> None:
    _holds_back(
        alertmanager,
        {"SpanJudgeJournalFilling"},
        alert("SpanJudgeInstanceDown", job="spanjudge", instance="a:9464"),
        alert("SpanJudgeJournalFilling", "page", job="spanjudge", instance="a:9464"),
        alert("SpanJudgeJournalHeld", job="spanjudge", instance="b:9464"),
        alert("SpanJudgeUnrecognisedHarness", scope="my.agent"),
    )


@pytest.mark.integration("alertmanager")
def test_a_page_that_follows_a_ticket_is_not_held_back_by_it(alertmanager: httpx.Client) -> None:
    _holds_back(
        alertmanager,
        {"SpanJudgeNotJudged"},
        alert("SpanJudgeJudgeDown"),
        alert("SpanJudgeQuestionsWaiting", "page"),
        alert("SpanJudgeNotJudged", evaluator="goal_completion"),
    )
