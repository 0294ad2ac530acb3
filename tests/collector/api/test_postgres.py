"""The API on PostgreSQL, which takes less kinds of text than whoever asks may send."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio
from sqlalchemy import URL

from collector.store.postgres import PostgresStore
from tests.collector.api.test_routes import api
from tests.fakes.verdicts import closed, judged

pytestmark = pytest.mark.integration("postgres")

ODD = "a\0b \u001a0000 %_\\ \u202e"


@pytest_asyncio.fixture
async def client(database: URL) -> AsyncIterator[httpx.AsyncClient]:
    store = PostgresStore.open(database, holder=uuid4().hex)
    await store.finish(closed(ODD, tenant=ODD, service=ODD), [judged(ODD, tenant=ODD)], [], [])
    async with api(store) as client:
        yield client
    await store.close()


@pytest.mark.parametrize("name", ["tenant", "service", "text", "harness", "evaluator", "label"])
async def test_any_text_may_be_asked_for(client: httpx.AsyncClient, name: str) -> None:
    found = await client.get("/api/v1/sessions", params={name: ODD})
    assert found.status_code == 200, found.text
    assert len(found.json()["sessions"]) == (1 if name in {"tenant", "text"} else 0)


async def test_a_service_is_found_by_the_name_that_is_shown(client: httpx.AsyncClient) -> None:
    (shown,) = (await client.get("/api/v1/sessions")).json()["sessions"]
    assert (await client.get("/api/v1/sessions", params={"service": shown["service"]})).json()["sessions"] == [shown]


async def test_a_session_of_any_id_is_found_with_its_verdicts_and_labels(client: httpx.AsyncClient) -> None:
    path = "/api/v1/sessions/" + "".join(f"%{byte:02X}" for byte in ODD.encode())
    found = (await client.get(path)).json()
    assert found["session"]["ref"]["session_id"] == ODD
    (verdict,) = (await client.get("/api/v1/verdicts", params={"session": ODD, "tenant": ODD})).json()["verdicts"]
    given = {"verdict": verdict["id"], "agree": False, "label": ODD, "reason": ODD, "author": "ana"}
    kept = await client.post("/api/v1/labels", json=given)
    assert kept.status_code in {201, 422}, kept.text
    kept = await client.post("/api/v1/labels", json={**given, "label": None})
    assert kept.status_code == 201, kept.text
    assert (await client.get(path)).json()["verdicts"][0]["labels"][-1]["reason"] == ODD
