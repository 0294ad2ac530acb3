"""Every query of the dashboards finds data in a real Prometheus that scrapes a real SpanJudge, and no NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import parse_qs

import pytest
import yaml
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client import start_http_server

from collector.metric_labels import exemplar_of
from collector.metrics import Metrics
from deploy.grafana.__main__ import files
from tests.deploy.grafana import FILES, Asked, choices, dashboard, filled_in, one_value, panels, queries
from tests.deploy.rare import RARE, rare_metrics
from tests.deploy.scene import JOB, RARE_JOB, Scene, scene
from tests.kafka.ports import free_ports

pytestmark = pytest.mark.timeout(300)  # the first of them waits for the scene
ROOT = Path(__file__).parents[2]
QUERIES = [asked for file in FILES for asked in queries(file)]
CHOICES = sorted({choice for file in FILES for choice in choices(file)})
_FILTERS = {"service", "version", "skill", "evaluator", "label"}
_OF_THE_PROMETHEUS_PLUGIN = {"definition", "step", "tagKeys", "textFormat", "titleFormat", "useValueForTime"}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    (port,) = free_ports(1)
    serving, thread = start_http_server(port, "127.0.0.1", rare_metrics().registry)
    try:
        with scene(tmp_path_factory.mktemp("scene"), f"127.0.0.1:{port}") as happened:
            yield happened
    finally:
        serving.shutdown()
        serving.server_close()
        thread.join()


def _asked(asked: Asked) -> str:
    job = RARE_JOB if asked.metrics & RARE else JOB
    return filled_in(asked.expr, job=job)


def _named(asked: Asked) -> str:
    return f"{asked.dashboard}: {asked.panel}"


@pytest.mark.integration("prometheus")
@pytest.mark.parametrize("asked", QUERIES, ids=_named)
def test_a_query_finds_data_and_no_nan(seen: Scene, asked: Asked) -> None:
    expr = _asked(asked)
    if asked.instant:
        found = [float(series["value"][1]) for series in seen.prometheus.now(expr)]
    else:
        over = seen.prometheus.over(expr, seen.start, seen.end)
        found = [float(value) for series in over for _, value in series["values"]]
    assert found, f"nothing found by {expr}"
    assert all(math.isfinite(value) for value in found), expr


@pytest.mark.integration("prometheus")
@pytest.mark.parametrize(("selector", "label"), CHOICES)
def test_a_variable_has_values_to_choose_from(seen: Scene, selector: str, label: str) -> None:
    assert seen.prometheus.label_values(label, filled_in(selector, job=JOB))


@pytest.mark.integration("prometheus")
@pytest.mark.parametrize("asked", [asked for asked in QUERIES if asked.exemplars], ids=_named)
def test_where_exemplars_are_asked_for_they_name_a_trace(seen: Scene, asked: Asked) -> None:
    series = seen.prometheus.exemplars(_asked(asked), seen.start, seen.end)
    exemplars = [exemplar for one in series for exemplar in one["exemplars"]]
    traces = {exemplar["labels"].get("trace_id", "") for exemplar in exemplars}
    assert any(len(trace) == 32 for trace in traces), traces
    assert all(exemplar["labels"]["session_id"] for exemplar in exemplars)


@pytest.mark.integration("prometheus")
def test_a_choice_of_one_value_shows_that_value_only(seen: Scene) -> None:
    (asked,) = [one for one in QUERIES if (one.dashboard, one.panel) == ("quality", "Pass ratio as counted")]
    found = seen.prometheus.now(filled_in(asked.expr, job=JOB, service="tideway-desk"))
    assert {series["metric"]["service"] for series in found} == {"tideway-desk"}


@pytest.mark.integration("prometheus")
@pytest.mark.parametrize("file", [file for file in FILES if file.stem != "pipeline"], ids=lambda file: file.stem)
def test_whatever_is_chosen_no_query_answers_nan(seen: Scene, file: Path) -> None:
    for selector, label in choices(file):
        if label in ("job", "instance"):  # of which there is one, and pipeline chooses nothing else
            continue
        for value in seen.prometheus.label_values(label, filled_in(selector, job=JOB)):
            for expr in {asked.expr for asked in queries(file) if f"${label}" in asked.expr}:
                asked = filled_in(expr, **{"job": JOB, label: one_value(value)})
                found = [series["value"][1] for series in seen.prometheus.now(asked)]
                assert all(math.isfinite(float(value)) for value in found), asked


@pytest.mark.integration("prometheus")
def test_a_first_event_is_counted(seen: Scene) -> None:
    """`increase()` alone misses it. Two sessions of the scene do what is forbidden, one before its series was there."""
    (asked,) = [one for one in QUERIES if (one.dashboard, one.panel) == ("quality", "Forbidden events")]
    (series,) = seen.prometheus.now(filled_in(asked.expr, job=JOB))
    assert round(float(series["value"][1])) == 2


@pytest.mark.integration("prometheus")
def test_where_nothing_is_scraped_a_count_is_no_zero(seen: Scene) -> None:
    (asked,) = [one for one in QUERIES if (one.dashboard, one.panel) == ("quality", "Forbidden events")]
    assert seen.prometheus.now(filled_in(asked.expr, job="nobody")) == []


def test_the_files_are_what_the_generator_writes() -> None:
    texts = {file.name: file.read_text(encoding="utf-8") for file in FILES}
    assert texts == files(), "write them anew: python -m deploy.grafana"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_grafana_knows_every_key_of_a_dashboard(file: Path) -> None:
    plugins.register_default_plugins()
    ours = dashboard(file)
    theirs = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(ours)))
    assert [path for path in _lost(ours, theirs) if path.rpartition(".")[2] not in _OF_THE_PROMETHEUS_PLUGIN] == []


def _lost(ours: object, theirs: object, path: str = "") -> Iterator[str]:
    """Where Grafana's own types did not keep what the file says."""
    match ours, theirs:
        case dict(), dict():
            for key, value in ours.items():
                if key in theirs:
                    yield from _lost(value, theirs[key], f"{path}.{key}")
                elif value is not None:
                    yield f"{path}.{key}"
        case list(), list() if len(ours) == len(theirs):
            for at, (mine, its) in enumerate(zip(ours, theirs, strict=True)):
                yield from _lost(mine, its, f"{path}[{at}]")
        case _ if ours != theirs:
            yield path


def test_every_metric_of_a_query_is_one_of_ours() -> None:
    known = {metric.name for metric in Metrics().documented}
    known |= {f"{name}_{part}" for name in known for part in ("bucket", "count", "sum")}
    asked = {name for query in QUERIES for name in query.metrics if name.startswith("spanjudge_")}
    assert asked <= known


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_panel_says_what_it_means_and_has_a_unit(file: Path) -> None:
    for panel in panels(dashboard(file)):
        assert len(panel["description"]) > 20, panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_panels_do_not_overlap_and_are_no_wider_than_the_screen(file: Path) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard(file)["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not taken & cells, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


def _links(file: Path) -> list[str]:
    defaults = [panel["fieldConfig"]["defaults"] for panel in panels(dashboard(file))]
    return [link["url"] for one in defaults for link in one.get("links", [])]


def test_links_to_the_page_have_filters_that_it_knows() -> None:
    addresses = [url for file in FILES for url in _links(file) if not url.startswith("/explore?")]
    assert all(url.startswith("${page}/sessions?") for url in addresses)
    filters = {name for url in addresses for name in parse_qs(url.partition("?")[2])}
    assert filters <= {*_FILTERS, "outcome"}
    assert filters >= _FILTERS


def test_links_to_traces_ask_tempo_for_a_label_of_our_verdict_spans() -> None:
    searches = [url for file in FILES for url in _links(file) if url.startswith("/explore?")]
    for url in searches:
        panes = json.loads(parse_qs(url.partition("?")[2])["panes"][0])
        (query,) = panes["a"]["queries"]
        assert query["datasource"]["uid"] == "${traces}"
        assert "span.gen_ai.evaluation.name = " in query["query"]
    assert searches


def test_the_document_names_every_dashboard_and_row() -> None:
    page = (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
    for found in map(dashboard, FILES):
        line = next(line for line in page.splitlines() if line.startswith(f"| {found['title']} |"))
        assert [
            panel["title"] for panel in found["panels"] if panel["type"] == "row" and panel["title"] not in line
        ] == []


def _provisioned(kind: str) -> dict[str, Any]:
    """As Grafana reads it: `$NAME` is the environment's, and `$$` a dollar."""
    text = (ROOT / "deploy" / "grafana" / "provisioning" / kind / "spanjudge.yaml").read_text(encoding="utf-8")
    environment = {
        "SPANJUDGE_PROMETHEUS_URL": "http://prometheus:9090",
        "SPANJUDGE_TEMPO_URL": "http://tempo:3200",
        "SPANJUDGE_PAGE_URL": "https://page.example",
    }
    as_json = json.dumps(yaml.safe_load(text))
    found: dict[str, Any] = json.loads(Template(as_json).substitute(environment))
    return found


def test_exemplars_lead_to_the_trace_and_to_the_session() -> None:
    metrics, traces = _provisioned("datasources")["datasources"]
    assert (metrics["type"], metrics["url"]) == ("prometheus", "http://prometheus:9090")
    destinations = {each["name"]: each for each in metrics["jsonData"]["exemplarTraceIdDestinations"]}
    assert set(destinations) == set(exemplar_of("0af7651916cd43dd8448eb211c80319c", "chat-1") or {})
    assert destinations["trace_id"]["datasourceUid"] == traces["uid"]
    assert destinations["session_id"]["url"] == "https://page.example/sessions/${__value.raw}"


def test_the_provider_offers_dashboards_that_cannot_be_saved_over() -> None:
    (provider,) = _provisioned("dashboards")["providers"]
    assert (provider["type"], provider["allowUiUpdates"]) == ("file", False)
    assert provider["options"]["path"] in (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
