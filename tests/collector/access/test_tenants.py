"""Tenants cannot see each other, whatever is asked of whichever route the running process has."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest_asyncio
from starlette.applications import Starlette
from starlette.routing import Route

from collector.access.settings import AccessSettings
from collector.app import App
from collector.config import Config, Evaluation, Listener, Receivers, Retention
from collector.in_force import in_force
from collector.page.settings import PageSettings
from collector.stopping import Stopping
from collector.store.labels import Label
from collector.store.store import ClosedSession, Store
from judge.verdict import Judged, NotJudged, Score
from tests.fakes.access import bearer, tokens_file
from tests.fakes.verdicts import ANCHOR, NOW_NS, TRACE_ID, closed, judged
from tests.judge.trajectories import call

SUITE = "added.yaml"
SECRET = "zephyr"
"""In everything that belongs to the tenant `south`, but for the ids that one could guess."""

OF_NOBODY = {
    "/": "names pages",
    "/livez": "a probe",
    "/readyz": "a probe",
    "/metrics": "of all tenants; access.metrics says who may",
    "/sign-in": "asked before anybody is known",
    "/sign-in/style.css": "colours",
    "/api/openapi.json": "the same for all",
    "/page/{version}/{name}": "colours",
}
"""Routes that tell of no session at all, and why."""


def _of(tenant: str, secret: str) -> tuple[ClosedSession, list[Judged]]:
    session = closed("s-1", tenant=tenant, task=f"Order a {secret}", service=f"{secret}-shop")
    assert session.trajectory is not None
    calls = (call("look", {"what": secret}, result=f"a {secret}"),)
    trajectory = replace(session.trajectory, tool_calls=calls, answer=f"It is a {secret}", notes=(secret,))
    verdicts = [
        judged("s-1", tenant=tenant, outcome=Score(0.0, f"{secret}-label", f"No {secret}"), skill=f"{secret}-skill"),
        judged("s-1", f"{secret}_evaluator", NotJudged("judge_refused", secret), tenant=tenant, anchor=ANCHOR),
    ]
    verdicts = [replace(one, service=f"{secret}-shop", agent=f"{secret}-agent") for one in verdicts]
    return replace(session, trajectory=trajectory, note=f"about a {secret}"), verdicts


@dataclass(frozen=True, slots=True)
class Running:
    directory: Path
    client: httpx.AsyncClient
    store: Store
    routes: list[Route]


@asynccontextmanager
async def running(directory: Path) -> AsyncIterator[Running]:
    """The process as it is run, with a session of each tenant."""
    off = Listener(listen="127.0.0.1:0", enabled=False)
    people = tokens_file(
        directory, north={"tenants": ["north"]}, south={"tenants": ["south"]}, all={}, none={"tenants": ["x"]}
    )
    config = Config(
        data_dir=directory / "data",
        receivers=Receivers(grpc=off, http=off),
        admin=Listener(listen="127.0.0.1:0"),
        access=AccessSettings(tokens_file=people),
        evaluation=Evaluation(processes=0),
        page=PageSettings(suite_file=directory / SUITE),
        retention=Retention(days=36_500),  # what the tests have happened long ago
    )
    app = App(in_force(config, "test"))
    addresses = await app.start()
    try:
        for tenant, secret in (("north", "mistral"), ("south", SECRET)):
            session, verdicts = _of(tenant, secret)
            session = replace(session, closed_ns=time.time_ns())  # pages may show the last days only
            await app._store.finish(session, verdicts, [], [])
            label = Label(verdicts[0].id, f"{secret}-author", NOW_NS, True, False, f"a {secret} indeed")
            await app._store.labels.add(label)
        served = app._servers[-1][0]._server.config.app
        assert isinstance(served, Starlette)
        routes = [route for route in served.routes if isinstance(route, Route)]
        assert len(routes) == len(served.routes)
        async with httpx.AsyncClient(
            base_url=f"http://{addresses.admin}", trust_env=False, follow_redirects=True, timeout=30
        ) as client:
            yield Running(directory, client, app._store, routes)
    finally:
        await app.stop(Stopping(5))


@pytest_asyncio.fixture
async def product(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(tmp_path) as found:
        yield found


_VERDICT = _of("south", SECRET)[1][0].id
_PATHS = {"id": "s-1", "id:any": "s-1", "trace": TRACE_ID, "span": ANCHOR.span_id or "", "version": "0", "name": "x"}
_QUERIES: Sequence[Mapping[str, str]] = (
    {},
    {"tenant": "south"},
    {"tenant": ""},
    {"session": "s-1", "of": "answer"},
    {"session": "s-1", "tenant": "south", "of": "answer"},
    {"tenant": "south", "id": "s-1", "revision": "1"},
    {"evaluator": "skill_selection"},
    {"verdict": _VERDICT},
)
_HTML = {"accept": "text/html,*/*"}


def _filled(path: str) -> str:
    """A new parameter has to be told here what would lead to the other tenant."""
    return re.sub(r"\{([^}]+)\}", lambda found: _PATHS[found[1]], path)


def _read(routes: list[Route]) -> Iterator[Route]:
    return (route for route in routes if "GET" in (route.methods or ()))


async def _all_of(product: Running, route: Route, name: str) -> list[httpx.Response]:
    return [
        await product.client.get(_filled(route.path), params=query, headers={**_HTML, **bearer(name)})
        for query in _QUERIES
    ]


async def test_no_route_tells_one_tenant_of_another(product: Running) -> None:
    for route in _read(product.routes):
        if route.path in OF_NOBODY:
            continue
        for name in ("north", "none"):
            for answer in await _all_of(product, route, name):
                assert SECRET not in answer.text, (route.path, str(answer.url))
                assert answer.status_code < 500, (route.path, answer.text)


async def test_every_route_tells_a_tenant_of_itself(product: Running) -> None:
    """Or the test above would say nothing."""
    for route in _read(product.routes):
        told = [answer for answer in await _all_of(product, route, "south") if SECRET in answer.text]
        assert route.path == "/metrics" or bool(told) == (route.path not in OF_NOBODY), route.path


async def test_who_may_see_all_sees_all(product: Running) -> None:
    listed = (await product.client.get("/api/v1/sessions", headers=bearer("all"))).json()["sessions"]
    assert {one["ref"]["tenant"] for one in listed} == {"north", "south"}
    ambiguous = await product.client.get("/api/v1/sessions/s-1", headers=bearer("all"))
    assert ambiguous.status_code == 409
    assert "north, south" in ambiguous.text


async def test_what_belongs_to_others_is_not_found_rather_than_forbidden(product: Running) -> None:
    client, south = product.client, {"tenant": "south"}
    assert (await client.get("/api/v1/sessions/s-1", params=south, headers=bearer("north"))).status_code == 404
    assert (await client.get("/api/v1/sessions/s-1", headers=bearer("none"))).status_code == 404
    own = await client.get("/api/v1/sessions/s-1", headers=bearer("north"))
    assert own.json()["session"]["ref"]["tenant"] == "north"
    for path, key in (("/api/v1/sessions", "sessions"), ("/api/v1/verdicts", "verdicts")):
        assert (await client.get(path, params=south, headers=bearer("north"))).json()[key] == []


async def test_nothing_of_another_tenant_can_be_changed(product: Running) -> None:
    before = await product.store.labels.given()
    page = await product.client.get("/sessions/s-1", headers={**_HTML, **bearer("north")})
    secret = re.search(r'name="csrf" value="([0-9a-f]+)"', page.text)
    form = {
        "verdict": _VERDICT,
        "agree": "yes",
        "reason": "mine",
        "csrf": secret[1] if secret else "",
        "tenant": "south",
        "id": "s-1",
        "session": "s-1",
    }
    body = {"verdict": _VERDICT, "agree": True, "reason": "mine"}
    for route in product.routes:
        if "POST" not in (route.methods or ()) or route.path in OF_NOBODY:
            continue
        for how in ({"json": body}, {"data": form}):
            answer = await product.client.post(_filled(route.path), headers=bearer("north"), **how)
            assert SECRET not in answer.text, route.path
            assert answer.status_code in {400, 403, 404, 409, 413, 415, 422} or route.path == "/sign-out", route.path
    assert await product.store.labels.given() == before
    assert not (product.directory / SUITE).exists()


async def test_a_label_is_of_who_is_signed_in(product: Running) -> None:
    body = {"verdict": _VERDICT, "agree": True, "reason": "mine"}
    kept = await product.client.post("/api/v1/labels", json=body, headers=bearer("south"))
    assert (kept.status_code, kept.json()["label"]["author"]) == (201, "south")
    pretended = await product.client.post("/api/v1/labels", json={**body, "author": "boss"}, headers=bearer("south"))
    assert pretended.status_code == 422
    assert pretended.json()["problems"][0]["field"] == "author"


async def test_a_case_is_made_of_one_s_own_sessions(product: Running) -> None:
    """Or the test of changes would say nothing of suites."""
    page = await product.client.get("/sessions/s-1", headers={**_HTML, **bearer("south")})
    secret = re.search(r'name="csrf" value="([0-9a-f]+)"', page.text)
    assert secret is not None
    form = {"csrf": secret[1], "session": "s-1", "tenant": "south"}
    answer = await product.client.post("/case", data=form, headers={**_HTML, **bearer("south")})
    assert answer.status_code == 200, answer.text
    assert SECRET in (product.directory / SUITE).read_text()
