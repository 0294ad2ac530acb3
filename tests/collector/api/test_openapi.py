"""The contract: current, sound, and true of what is answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Route

from collector.api.openapi import document, text
from collector.api.operations import OPERATIONS
from collector.api.routes import Api
from collector.store.sqlite import SqliteStore
from judge.scales import scales
from tests.collector.api.test_routes import LABEL, api, store
from tests.fakes.clock import FakeClock
from tests.fakes.verdicts import NOW_NS

__all__ = ["store"]

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.json"
DOCUMENT = document()


def refs(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from refs(value)
    elif isinstance(node, list):
        for value in node:
            yield from refs(value)


def test_the_committed_document_is_current() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == text(), "python -m collector.api.openapi > docs/openapi.json"


def test_every_reference_leads_somewhere_and_every_schema_is_one() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert {ref.removeprefix("#/components/schemas/") for ref in refs(DOCUMENT)} <= schemas.keys()
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)


def test_operations_have_names_of_their_own_and_their_parameters() -> None:
    operations = [found for path in DOCUMENT["paths"].values() for found in path.values()]
    assert len({found["operationId"] for found in operations}) == len(operations) == len(OPERATIONS)
    for path, found in DOCUMENT["paths"].items():
        for operation in found.values():
            named = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"}
            assert named == ({"id"} if "{id}" in path else set())
            assert {"401", "403", "429", "503"} <= operation["responses"].keys()
    for requirement in DOCUMENT["security"]:
        assert requirement.keys() <= DOCUMENT["components"]["securitySchemes"].keys()


async def test_every_route_is_in_the_contract(store: SqliteStore) -> None:
    routes = Api(store, FakeClock(NOW_NS), scales()).routes()
    served = {
        (route.path.replace(":any", ""), method.lower())
        for route in routes
        if isinstance(route, Route) and route.path != "/api/openapi.json"
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert served == {(path, method) for path, found in DOCUMENT["paths"].items() for method in found}


def _validator(path: str, method: str, status: int) -> Draft202012Validator:
    schema = DOCUMENT["paths"][path][method]["responses"][str(status)]["content"]["application/json"]["schema"]
    return Draft202012Validator({**schema, "components": DOCUMENT["components"]})


@pytest.mark.parametrize(
    ("path", "asked", "status"),
    [
        ("/api/v1/sessions", "/api/v1/sessions", 200),
        ("/api/v1/sessions", "/api/v1/sessions?limit=0", 422),
        ("/api/v1/sessions/{id}", "/api/v1/sessions/s-1", 200),
        ("/api/v1/sessions/{id}", "/api/v1/sessions/absent", 404),
        ("/api/v1/verdicts", "/api/v1/verdicts", 200),
        ("/api/v1/verdicts", "/api/v1/verdicts?since=1950-01-01T00:00:00Z", 200),
        ("/api/v1/verdicts", "/api/v1/verdicts?since=9999-12-31T23:59:59-12:00", 200),
        ("/api/v1/verdicts", "/api/v1/verdicts?label=%00", 200),
    ],
)
async def test_answers_are_as_the_contract_says(store: SqliteStore, path: str, asked: str, status: int) -> None:
    async with api(store) as client:
        await client.post("/api/v1/labels", json=LABEL)
        answer = await client.get(asked)
    assert answer.status_code == status
    _validator(path, "get", status).validate(answer.json())


async def test_a_label_is_answered_as_the_contract_says(store: SqliteStore) -> None:
    async with api(store) as client:
        kept = await client.post("/api/v1/labels", json=LABEL)
        refused = await client.post("/api/v1/labels", content=b"{", headers={"content-type": "application/json"})
    _validator("/api/v1/labels", "post", 201).validate(kept.json())
    assert refused.status_code == 400
    _validator("/api/v1/labels", "post", 400).validate(refused.json())


async def test_the_contract_can_be_asked_for(store: SqliteStore) -> None:
    async with api(store) as client:
        assert (await client.get("/api/openapi.json")).json() == json.loads(text())


async def test_what_nobody_serves_has_the_shape_of_every_refusal(store: SqliteStore) -> None:
    async with api(store) as client:
        absent = await client.get("/api/v1/absent")
        method = await client.delete("/api/v1/sessions")
    assert (absent.status_code, method.status_code) == (404, 405)
    assert "GET" in method.headers["allow"]
    for answer in (absent, method):
        assert answer.json().keys() == {"error", "problems"}


def test_the_longest_question_fits_the_first_line_of_a_request() -> None:
    """64 KiB are taken there; a character is four bytes at most, and each of them three characters of an address."""
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            parameters = operation.get("parameters", ())
            most = {one["name"]: 12 * one["schema"].get("maxLength", 5) for one in parameters}
            assert len(f"GET {path}? HTTP/1.1\r\n") + sum(len(f"{name}=&") + n for name, n in most.items()) < 65_536
