"""The contract of the API: OpenAPI 3.1, made of `collector.api.operations` and the records they name.

`python -m collector.api.openapi > docs/openapi.json` writes the file; a test compares it with what this gives.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from collector.access.visitors import COOKIE
from collector.api.answers import Refusal
from collector.api.operations import OPERATIONS, Operation
from collector.api.requests import MAX_BODY, MAX_ID

_REF = "#/components/schemas/{model}"
_OF_ANY = (401, 403, 429, 503)
_WHEN: Mapping[int, str] = {
    400: "The body is not JSON.",
    401: "Nobody is signed in, or the token is not known.",
    403: "The request came from a page of another site, asks a listener on loopback by another name than this "
    "machine's, or may not change anything.",
    404: "There is nothing like this among what may be seen.",
    409: "Several tenants have such a session: name one.",
    413: f"The body is larger than {MAX_BODY} bytes.",
    415: "The content type is not application/json.",
    422: "A field is missing, unknown or wrong; all of them are listed.",
    429: "Too many wrong tokens came from this address.",
    503: "The store is away, or too many ask at once.",
}
_RETRY = {"Retry-After": {"description": "Seconds until it may work.", "schema": {"type": "string"}}}
_CHALLENGE = {"WWW-Authenticate": {"description": "How to sign in.", "schema": {"type": "string"}}}
_HEADERS: Mapping[int, Mapping[str, Any]] = {401: _CHALLENGE, 429: _RETRY, 503: _RETRY}
_INFO = {
    "title": "SpanJudge",
    "version": "1",
    "summary": "Sessions and verdicts to read, labels to give.",
    "description": "Fields that end in `_ns` are nanoseconds since 1970 and do not fit the numbers of JavaScript. A "
    "token sees the sessions of its tenants only; what belongs to others is not found. On a listener of this machine "
    "alone nobody has to sign in unless `access` is configured. More fields may be added to answers.",
    "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
}


class _Answers(GenerateJsonSchema):
    """Every field of an answer is there, also where the record has a default."""

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        return True


def document() -> dict[str, Any]:
    schemas = _answers() | _bodies()
    return {
        "openapi": "3.1.0",
        "info": _INFO,
        "paths": _paths(),
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "A token of access.tokens_file."},
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": COOKIE,
                    "description": "What browsers get at /sign-in. Changes need a request from a page of ours.",
                },
            },
        },
        "security": [{"token": []}, {"session": []}, {}],
    }


def text() -> str:
    return json.dumps(document(), indent=2) + "\n"


def _paths() -> dict[str, dict[str, Any]]:
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return paths


def _operation(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": operation.description,
    }
    if parameters := [*_of_path(operation), *_of_query(operation.query)]:
        found["parameters"] = parameters
    if operation.body is not None:
        found["requestBody"] = {"required": True, "content": _json(operation.body.__name__)}
    answers: dict[int, dict[str, Any]] = {
        operation.status: {"description": operation.answer.__doc__, "content": _json(operation.answer.__name__)}
    }
    if operation.links:
        answers[operation.status]["links"] = dict(operation.links)
    answers |= {status: _refusal(status) for status in sorted({*operation.refusals, *_OF_ANY})}
    found["responses"] = {str(status): answer for status, answer in answers.items()}
    return found


def _refusal(status: int) -> dict[str, Any]:
    headers = {"headers": _HEADERS[status]} if status in _HEADERS else {}
    return {"description": f"{HTTPStatus(status).phrase}. {_WHEN[status]}", **headers, "content": _json("Refusal")}


def _json(model: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(model=model)}}}


def _of_path(operation: Operation) -> Iterator[dict[str, Any]]:
    if "{id}" in operation.path:
        text = "The session's id, percent-encoded."
        schema = {"type": "string", "minLength": 1, "maxLength": MAX_ID}
        yield {"name": "id", "in": "path", "required": True, "description": text, "schema": schema}


def _of_query(model: type[BaseModel] | None) -> Iterator[dict[str, Any]]:
    if model is None:
        return
    schema = model.model_json_schema()
    for name, found in schema["properties"].items():
        told = {"description": found["description"]} if "description" in found else {}
        required = {"required": True} if name in schema.get("required", ()) else {}
        yield {"name": name, "in": "query", **required, **told, "schema": _of_value(found)}


def _of_value(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter is left out rather than null."""
    kept = {key: value for key, value in schema.items() if key not in {"title", "description"}}
    if "anyOf" not in kept:
        return kept
    (value,) = [one for one in kept["anyOf"] if one.get("type") != "null"]
    return dict(value)


def _answers() -> dict[str, Any]:
    kinds = [*(operation.answer for operation in OPERATIONS), Refusal]
    _, found = TypeAdapter.json_schemas(
        [(kind.__name__, "serialization", TypeAdapter(kind)) for kind in kinds],
        ref_template=_REF,
        schema_generator=_Answers,
    )
    return {name: _plain(schema) for name, schema in found["$defs"].items()}


def _bodies() -> dict[str, Any]:
    bodies = [operation.body for operation in OPERATIONS if operation.body is not None]
    return {body.__name__: _plain(body.model_json_schema(ref_template=_REF)) for body in bodies}


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Without what pydantic says of our classes and that tells nothing of the JSON."""
    kept = {key: value for key, value in schema.items() if key not in {"title", "default"}}
    if kept.get("format") == "binary":  # it comes as base64 text
        del kept["format"]
    if "properties" in kept:
        kept["properties"] = {name: _plain(one) for name, one in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = _plain(kept[key])
    if "anyOf" in kept:
        kept["anyOf"] = [_plain(one) for one in kept["anyOf"]]
    return kept


if __name__ == "__main__":
    sys.stdout.write(text())
