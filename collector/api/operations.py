"""What can be asked of the API. Routes and docs/openapi.json are both made of this list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

from collector.api.answers import LabelKept, SessionFound, SessionsFound, VerdictsFound
from collector.api.requests import LabelGiven, SessionAsked, SessionsAsked, VerdictsAsked

Name: TypeAlias = Literal["list_sessions", "get_session", "list_verdicts", "add_label"]

PREFIX = "/api/v1"
DOCUMENT = "/api/openapi.json"


@dataclass(frozen=True, slots=True)
class Operation:
    """`path` has its parameters in braces; an id may hold slashes. `refusals` are the statuses that it may answer with
    beside those that any operation may; `links` what its answer leads to, as OpenAPI says it."""

    name: Name
    method: Literal["GET", "POST"]
    path: str
    summary: str
    description: str
    answer: type
    status: int = 200
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    refusals: Sequence[int] = ()
    links: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


OPERATIONS: Sequence[Operation] = (
    Operation(
        "list_sessions",
        "GET",
        f"{PREFIX}/sessions",
        "Judged sessions, newest first",
        "Those that whoever asks may see. `evaluator` and `label` must be those of one and the same verdict.",
        SessionsFound,
        query=SessionsAsked,
        refusals=(422,),
        links={
            "session": {
                "operationId": "get_session",
                "parameters": {
                    "path.id": "$response.body#/sessions/0/ref/session_id",
                    "query.tenant": "$response.body#/sessions/0/ref/tenant",
                },
            }
        },
    ),
    Operation(
        "get_session",
        "GET",
        f"{PREFIX}/sessions/{{id}}",
        "One session: what happened, verdicts, labels",
        "The newest closing unless `revision` says otherwise; open questions are among the verdicts.",
        SessionFound,
        query=SessionAsked,
        refusals=(404, 409, 422),
    ),
    Operation(
        "list_verdicts",
        "GET",
        f"{PREFIX}/verdicts",
        "Verdicts across sessions, with what people said about them",
        "Open questions are never among them; verdicts without a score are, unless `passed` is given.",
        VerdictsFound,
        query=VerdictsAsked,
        refusals=(422,),
        links={
            "label": {"operationId": "add_label", "requestBody": {"verdict": "$response.body#/verdicts/0/id"}},
        },
    ),
    Operation(
        "add_label",
        "POST",
        f"{PREFIX}/labels",
        "Say whether a verdict is right",
        "Labels are added, never changed. The same label again changes nothing.",
        LabelKept,
        status=201,
        body=LabelGiven,
        refusals=(400, 404, 413, 415, 422),
    ),
)
