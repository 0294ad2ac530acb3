"""The admin pages, asked over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import httpx
import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from collector.admin import Check, admin_app
from collector.metrics import Metrics
from tests.fakes.http import serving
from tests.fakes.verdicts import TRACE_ID, judged

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


async def _ok() -> str | None:
    return None


async def _full() -> str | None:
    return "12 bytes are free"


async def _broken() -> str | None:
    raise OSError("no such disk")


async def _stuck() -> str | None:
    await asyncio.Event().wait()
    return None


async def _get(path: str, *, metrics: Metrics | None = None, accept: str = "*/*", **checks: Check) -> httpx.Response:
    async with serving(admin_app(metrics or Metrics(), checks)) as url, httpx.AsyncClient(base_url=url) as client:
        return await client.get(path, headers={"accept": accept})


async def test_metrics_are_classic_text_for_whoever_asks_for_nothing_special() -> None:
    response = await _get("/metrics", metrics=_counted())
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "spanjudge_verdicts_total{" in response.text
    assert TRACE_ID not in response.text


async def test_metrics_are_openmetrics_with_exemplars_when_asked_for() -> None:
    response = await _get("/metrics", metrics=_counted(), accept=f"{OPENMETRICS},text/plain;version=0.0.4;q=0.5")
    assert response.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    families = {family.name: family for family in _parse(response.text)}
    (verdict,) = families["spanjudge_verdicts"].samples
    assert verdict.exemplar
    assert verdict.exemplar.labels == {"trace_id": TRACE_ID, "session_id": "s-1"}


async def test_a_header_that_makes_no_sense_costs_no_scrape() -> None:
    response = await _get("/metrics", accept="application/openmetrics-text; version=latest")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")


async def test_gauges_are_refreshed_before_a_scrape() -> None:
    metrics = Metrics()

    async def refresh() -> None:
        metrics.sessions_open(41, 0)

    async with serving(admin_app(metrics, {}, refresh)) as url, httpx.AsyncClient() as client:
        assert "spanjudge_sessions_open 41.0" in (await client.get(f"{url}/metrics")).text


async def test_a_refresh_that_fails_does_not_cost_the_scrape() -> None:
    async def refresh() -> None:
        raise OSError("no such disk")

    async with serving(admin_app(Metrics(), {}, refresh)) as url, httpx.AsyncClient() as client:
        response = await client.get(f"{url}/metrics")
    assert response.status_code == 200
    assert "spanjudge_build_info" in response.text


async def test_a_process_that_answers_is_alive_whatever_its_parts_say() -> None:
    response = await _get("/livez", store=_broken)
    assert (response.status_code, response.text) == (200, "ok\n")


async def test_ready_when_every_check_passes() -> None:
    response = await _get("/readyz", store=_ok, journal=_ok)
    assert response.status_code == 200
    assert response.json() == {
        "ready": True,
        "checks": {"store": {"ok": True, "reason": None}, "journal": {"ok": True, "reason": None}},
        "notices": {},
    }


async def test_a_judge_that_is_away_is_told_and_telemetry_is_still_taken() -> None:
    app = admin_app(Metrics(), {"store": _ok}, notices={"judge": _full, "other": _broken})
    async with serving(app) as url, httpx.AsyncClient() as client:
        response = await client.get(f"{url}/readyz")
    assert response.status_code == 200
    assert response.json()["ready"]
    assert response.json()["notices"] == {
        "judge": {"ok": False, "reason": "12 bytes are free"},
        "other": {"ok": False, "reason": "OSError: no such disk"},
    }


@pytest.mark.parametrize(
    ("check", "reason"),
    [(_full, "12 bytes are free"), (_broken, "OSError: no such disk"), (_stuck, "no answer within 0.05 s")],
)
async def test_not_ready_with_the_reason_when_one_check_fails(check: Check, reason: str) -> None:
    app = admin_app(Metrics(), {"store": _ok, "journal": check}, check_s=0.05)
    async with serving(app) as url, httpx.AsyncClient() as client:
        response = await client.get(f"{url}/readyz")
    assert response.status_code == 503
    assert not response.json()["ready"]
    checks: Mapping[str, object] = response.json()["checks"]
    assert checks == {"store": {"ok": True, "reason": None}, "journal": {"ok": False, "reason": reason}}


async def test_the_index_links_to_the_pages() -> None:
    async with serving(admin_app(Metrics(), {}, pages={"/sessions": "a <page>"})) as url, httpx.AsyncClient() as client:
        text = (await client.get(url)).text
    for path in ("/metrics", "/livez", "/readyz", "/sessions"):
        assert f'href="{path}"' in text
    assert "a &lt;page&gt;" in text


@pytest.mark.parametrize(("path", "status"), [("/absent", 404), ("/metrics", 200)])
async def test_only_known_pages_are_served(path: str, status: int) -> None:
    assert (await _get(path)).status_code == status


def _counted() -> Metrics:
    metrics = Metrics()
    metrics.verdict(judged())
    return metrics


def _parse(text: str) -> list[Metric]:
    return list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]
