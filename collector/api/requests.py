"""What callers of the API may send, checked, with every problem named by its field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.requests import Request

from collector.access.bodies import body_of
from collector.access.rejected import Rejected
from collector.labelling import MAX_AUTHOR, MAX_REASON

MAX_BODY = 64 * 1024
MAX_LIMIT = 500
MAX_ID = 4096
"""Characters of a session's id that can be asked for."""

_Asked = TypeVar("_Asked", bound="_Input")


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_NOT_BLANK = r"\S"

# All parameters of a question together fit the 64 KiB that a request's first line may have, whatever their characters.
Text: TypeAlias = Annotated[str, Field(max_length=400)]
LongText: TypeAlias = Annotated[str, Field(max_length=MAX_ID)]

_RFC_3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)


def _as_written(value: object) -> object:
    # pydantic takes numbers too, for seconds or milliseconds, as it guesses.
    if not isinstance(value, str) or not _RFC_3339.fullmatch(value):
        raise ValueError("must be an instant of RFC 3339 with a time zone, as 2026-01-01T00:00:00Z")
    return value


Since: TypeAlias = Annotated[AwareDatetime, BeforeValidator(_as_written)]


class SessionsAsked(_Input):
    """Query of GET /api/v1/sessions."""

    tenant: Text | None = Field(None, description="whose sessions; empty: those without a tenant")
    service: Text | None = Field(None, description="service.name")
    harness: Text | None = Field(None, description="name of the agent program, as strands")
    evaluator: Text | None = None
    label: Text | None = Field(None, description="of the same verdict as evaluator")
    text: Text | None = Field(None, description="to be found in session id, task or service, whatever its case")
    since: Since | None = Field(None, description="closed then or later")
    limit: int = Field(50, ge=1, le=MAX_LIMIT)


class SessionAsked(_Input):
    """Query of GET /api/v1/sessions/ID."""

    tenant: Text | None = Field(None, description="whose session; empty: one without a tenant")
    revision: int | None = Field(None, ge=1, description="which closing; the newest unless given")


class VerdictsAsked(_Input):
    """Query of GET /api/v1/verdicts."""

    tenant: Text | None = Field(None, description="of whose sessions; empty: of those without a tenant")
    session: LongText | None = Field(None, description="id of the session")
    evaluator: Text | None = None
    label: Text | None = None
    passed: bool | None = Field(None, description="leaves out those without a score")
    labelled: bool | None = Field(None, description="whether anybody said something about it")
    since: Since | None = Field(None, description="of sessions closed then or later")
    order: Literal["newest", "by_chance"] = Field(
        "newest", description="by_chance: a random sample, the same one every time"
    )
    limit: int = Field(50, ge=1, le=MAX_LIMIT)


class LabelGiven(_Input):
    """Body of POST /api/v1/labels."""

    verdict: str = Field(pattern=r"^[0-9a-f]{32}$", description="its id")
    agree: bool = Field(strict=True)
    reason: Annotated[LongText, Field(json_schema_extra={"maxLength": MAX_REASON, "pattern": _NOT_BLANK})]
    author: Annotated[Text, Field(json_schema_extra={"maxLength": MAX_AUTHOR, "pattern": _NOT_BLANK})] | None = Field(
        None,
        description="who says so, in characters that can be seen; may be left out by whoever is signed in",
    )
    label: Annotated[Text, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_AUTHOR})] | None = Field(
        None, description="the one that would have been right, where you disagree; one that the evaluator has"
    )


def query(request: Request, kind: type[_Asked]) -> _Asked:
    """Raises `Rejected`, also for a parameter that is given twice."""
    given = request.query_params.multi_items()
    names = [name for name, _ in given]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Rejected(422, "invalid", *((name, "is given more than once") for name in twice))
    return _checked(kind, dict(given))


async def body(request: Request, kind: type[_Asked]) -> _Asked:
    """A JSON object. Raises `Rejected`.

    No page elsewhere can make a browser send this content type without asking us first, and we never say yes.
    """
    raw = await body_of(request, "application/json", MAX_BODY)
    try:
        return kind.model_validate_json(raw)
    except ValidationError as error:
        raise _rejected(error) from error


def _checked(kind: type[_Asked], given: Mapping[str, Any]) -> _Asked:
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise _rejected(error) from error


def _rejected(error: ValidationError) -> Rejected:
    problems = [(".".join(str(part) for part in one["loc"]), one["msg"]) for one in error.errors(include_url=False)]
    broken = any(one["type"] == "json_invalid" for one in error.errors(include_url=False))
    return Rejected(400, "not JSON", *problems) if broken else Rejected(422, "invalid", *problems)
