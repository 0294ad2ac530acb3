"""The API, asked over HTTP, on a real store."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio

from collector.access.turns import Turns
from collector.admin import admin_app
from collector.api.requests import MAX_BODY
from collector.api.routes import Api
from collector.labelling import MAX_REASON
from collector.metrics import Metrics
from collector.store.sqlite import SqliteStore
from collector.store.store import Store
from judge.redaction import NOTHING, Redaction
from judge.scales import scales
from judge.verdict import NotJudged, Score
from tests.fakes.access import access
from tests.fakes.clock import FakeClock
from tests.fakes.http import serving
from tests.fakes.verdicts import NOW_NS, closed, judged, pending
from tests.judge.trajectories import call

YES = judged(outcome=Score(1.0, "Yes", "It fits."))
NO = judged(ref="span:a/c", outcome=Score(0.0, "No", "It does not."))
WITHOUT = judged(evaluator="goal_completion", outcome=NotJudged("judge_refused"))
LABEL = {"verdict": YES.id, "agree": True, "reason": "I read it.", "author": "ana"}
SLASHED = "team/a b?c"


@asynccontextmanager
async def api(
    store: Store, *, redaction: Redaction = NOTHING, turns: Turns | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    routes = Api(store, FakeClock(NOW_NS), scales(), redaction=redaction, turns=turns).routes()
    app = admin_app(Metrics(), {}, routes=routes, access=access())
    async with serving(app) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "verdicts.db")
    await store.finish(closed(), [YES, NO, WITHOUT], [pending()], [])
    await store.finish(closed(SLASHED, service="bank", closed_ns=NOW_NS + 10**9), [], [], [])
    yield store
    await store.close()


@pytest_asyncio.fixture
async def client(store: SqliteStore) -> AsyncIterator[httpx.AsyncClient]:
    async with api(store) as client:
        yield client


def problems(response: httpx.Response, status: int) -> dict[str, str]:
    assert response.status_code == status, response.text
    return {one["field"]: one["message"] for one in response.json()["problems"]}


async def test_sessions_are_listed_and_filtered(client: httpx.AsyncClient) -> None:
    listed = (await client.get("/api/v1/sessions")).json()["sessions"]
    assert [one["ref"]["session_id"] for one in listed] == [SLASHED, "s-1"]
    assert (listed[1]["passed"], listed[1]["failed"], listed[1]["pending"]) == (1, 1, 1)
    assert listed[1]["closed_at"] == "2026-01-01T00:00:00.000+00:00"
    shop = (await client.get("/api/v1/sessions", params={"service": "shop"})).json()["sessions"]
    assert [one["ref"]["session_id"] for one in shop] == ["s-1"]
    since = datetime.fromtimestamp(NOW_NS / 1e9 + 0.5, UTC).isoformat()
    late = (await client.get("/api/v1/sessions", params={"since": since})).json()["sessions"]
    assert [one["ref"]["session_id"] for one in late] == [SLASHED]


TOKEN = "ghp" + "_" + "x9" * 18
MARK = '<redacted kind="github-token"/>'


async def test_secrets_are_masked_wherever_a_session_is_shown(store: SqliteStore) -> None:
    spoke = closed("s-2", task=f"use {TOKEN}, and say nothing {'more ' * 395}{TOKEN}")
    assert spoke.trajectory is not None
    calls = (call("login", {"password": "tulip", "note": [TOKEN]}, result=f"is {TOKEN}"),)
    spoke = replace(spoke, trajectory=replace(spoke.trajectory, tool_calls=calls), note=f"see {TOKEN}")
    told = judged("s-2", outcome=Score(0.0, "No", f"it called login {TOKEN}"), skill=TOKEN)
    await store.finish(spoke, [told], [], [])
    async with api(store, redaction=Redaction()) as client:
        listed = await client.get("/api/v1/sessions")
        whole = await client.get("/api/v1/sessions/s-2")
        verdicts = await client.get("/api/v1/verdicts", params={"session": "s-2"})
    for shown in (listed, whole, verdicts):
        assert "x9x9" not in shown.text
        assert "tulip" not in shown.text
    (kept,) = whole.json()["session"]["trajectory"]["tool_calls"]
    assert kept["arguments"] == {"password": '<redacted kind="field"/>', "note": [MARK]}
    assert kept["result"] == f"is {MARK}"
    (found,) = verdicts.json()["verdicts"]
    assert found["verdict"]["outcome"]["explanation"] == f"it called login {MARK}"
    assert (found["id"], found["verdict"]["subject"]["name"]) == (told.id, MARK)


async def test_a_session_comes_with_its_verdicts_and_what_people_said(client: httpx.AsyncClient) -> None:
    await client.post("/api/v1/labels", json=LABEL)
    found = (await client.get("/api/v1/sessions/s-1")).json()
    assert found["session"]["trajectory"]["harness"] == "strands"
    assert found["revisions"] == [1]
    labels = {one["id"]: [label["author"] for label in one["labels"]] for one in found["verdicts"]}
    assert labels == {YES.id: ["ana"], NO.id: [], WITHOUT.id: [], pending().id: []}


@pytest.mark.parametrize("session_id", [SLASHED, "a\r\nSet-Cookie: b=c", "\nlines\n", "nul\x00", "%2e", "ü"])
async def test_an_id_may_hold_anything(client: httpx.AsyncClient, store: SqliteStore, session_id: str) -> None:
    await store.finish(closed(session_id), [], [], [])
    answer = await client.get(f"/api/v1/sessions/{quote(session_id, safe='')}")
    assert answer.json()["session"]["ref"]["session_id"] == session_id


async def test_who_asks_while_too_many_do_is_told_to_come_again_and_labels_are_taken(store: SqliteStore) -> None:
    turns = Turns(at_a_time=1, most_waiting=0)
    async with api(store, turns=turns) as client, turns.mine():
        answer = await client.get("/api/v1/sessions")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert (await client.post("/api/v1/labels", json=LABEL)).status_code == 201


async def test_what_is_not_there_is_not_found(client: httpx.AsyncClient) -> None:
    assert "id" in problems(await client.get("/api/v1/sessions/absent"), 404)
    assert "revision" in problems(await client.get("/api/v1/sessions/s-1?revision=7"), 404)
    assert (await client.get("/api/v1/absent")).status_code == 404


async def test_a_session_of_several_tenants_needs_one(client: httpx.AsyncClient, store: SqliteStore) -> None:
    await store.finish(closed(tenant="north"), [], [], [])
    assert "north" in problems(await client.get("/api/v1/sessions/s-1"), 409)["tenant"]
    assert (await client.get("/api/v1/sessions/s-1?tenant=north")).status_code == 200


async def test_verdicts_are_found_across_sessions(client: httpx.AsyncClient) -> None:
    await client.post("/api/v1/labels", json=LABEL)

    async def ids(**query: Any) -> set[str]:
        return {one["id"] for one in (await client.get("/api/v1/verdicts", params=query)).json()["verdicts"]}

    assert await ids() == {YES.id, NO.id, WITHOUT.id}
    assert await ids(passed="false") == {NO.id}
    assert await ids(labelled="true") == {YES.id}
    assert await ids(evaluator="skill_selection", labelled="false") == {NO.id}
    assert len(await ids(limit=1)) == 1


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=many", "limit"),
        ("since=yesterday", "since"),
        ("since=0.5", "since"),
        ("since=2026-01-01T00:00:00", "since"),
        ("passed=perhaps", "passed"),
        ("evaluater=x", "evaluater"),
        ("limit=1&limit=2", "limit"),
    ],
)
async def test_a_bad_query_names_its_field(client: httpx.AsyncClient, query: str, field: str) -> None:
    assert field in problems(await client.get(f"/api/v1/verdicts?{query}"), 422)


async def test_a_label_is_kept_with_its_time(client: httpx.AsyncClient, store: SqliteStore) -> None:
    response = await client.post("/api/v1/labels", json={**LABEL, "agree": False, "label": "No"})
    assert response.status_code == 201
    label = response.json()["label"]
    assert (label["right_label"], label["passes"], label["at_ns"]) == ("No", False, NOW_NS)
    assert [one.label.author for one in await store.labels.given()] == ["ana"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"verdict": "abc"}, "verdict"),
        ({"verdict": WITHOUT.id}, "verdict"),
        ({"agree": "yes"}, "agree"),
        ({"agree": None}, "agree"),
        ({"reason": ""}, "reason"),
        ({"reason": "r" * (MAX_REASON + 1)}, "reason"),
        ({"author": " "}, "author"),
        ({"label": "No"}, "label"),
        ({"agree": False, "label": "Maybe"}, "label"),
        ({"verdicts": []}, "verdicts"),
    ],
)
async def test_a_bad_label_names_its_field_and_is_not_kept(
    client: httpx.AsyncClient, store: SqliteStore, change: dict[str, Any], field: str
) -> None:
    assert field in problems(await client.post("/api/v1/labels", json={**LABEL, **change}), 422)
    assert await store.labels.given() == []


async def test_a_label_needs_a_verdict_that_is_there(client: httpx.AsyncClient) -> None:
    assert "verdict" in problems(await client.post("/api/v1/labels", json={**LABEL, "verdict": "0" * 32}), 404)


@pytest.mark.parametrize(
    ("content", "status"), [(b"{", 400), (b"[]", 422), (b"", 400), (b'{"reason": "' + b"x" * MAX_BODY + b'"}', 413)]
)
async def test_a_body_that_is_no_label_is_refused(client: httpx.AsyncClient, content: bytes, status: int) -> None:
    headers = {"content-type": "application/json"}
    assert problems(await client.post("/api/v1/labels", content=content, headers=headers), status)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_what_a_form_of_another_site_could_send_is_refused(
    client: httpx.AsyncClient, store: SqliteStore, content_type: str
) -> None:
    headers = {"content-type": content_type} if content_type else {}
    response = await client.post("/api/v1/labels", content=b'{"verdict": "x"}', headers=headers)
    assert "application/json" in problems(response, 415)[""]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_pages_of_other_sites_get_nothing(client: httpx.AsyncClient, origin: str) -> None:
    for asked in (
        client.get("/api/v1/sessions", headers={"origin": origin}),
        client.post("/api/v1/labels", json=LABEL, headers={"origin": origin}),
    ):
        assert "other sites" in problems(await asked, 403)[""]


async def test_our_own_pages_may_ask(client: httpx.AsyncClient) -> None:
    own = str(client.base_url).rstrip("/")
    assert (await client.post("/api/v1/labels", json=LABEL, headers={"origin": own})).status_code == 201


async def test_reading_is_all_that_other_methods_could_do(client: httpx.AsyncClient) -> None:
    assert (await client.delete("/api/v1/sessions/s-1")).status_code == 405
    assert (await client.get("/api/v1/labels")).status_code == 405


async def test_a_store_that_is_away_is_said(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "verdicts.db")
    async with api(store) as client:
        await store.close()
        (tmp_path / "verdicts.db").unlink()
        response = await client.get("/api/v1/sessions")
    assert "unable to open" in problems(response, 503)[""]
    assert int(response.headers["retry-after"]) > 0


async def test_one_damaged_verdict_costs_no_other_its_place(client: httpx.AsyncClient, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "verdicts.db")) as connection:
        connection.execute("UPDATE verdicts SET record = '{' WHERE id = ?", (NO.id,))
        connection.commit()
    for path in ("verdicts", "sessions/s-1"):
        found = {one["id"]: one for one in (await client.get(f"/api/v1/{path}")).json()["verdicts"]}
        assert found[NO.id]["verdict"]["outcome"]["reason"] == "verdict_unreadable"
        assert found.keys() >= {YES.id, NO.id, WITHOUT.id}
