"""What callers of the API may send, checked, with every problem named by its field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from collector.access.rejected import Rejected

MAX_BODY = 64 * 1024
MAX_LIMIT = 500

_Asked = TypeVar("_Asked", bound="_Input")


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SessionsAsked(_Input):
    """Query of GET /api/v1/sessions."""

    service: str | None = None
    harness: str | None = None
    evaluator: str | None = None
    label: str | None = None
    text: str | None = None
    since: AwareDatetime | None = None
    limit: int = Field(50, ge=1, le=MAX_LIMIT)


class SessionAsked(_Input):
    """Query of GET /api/v1/sessions/ID."""

    tenant: str | None = None
    revision: int | None = Field(None, ge=1)


class VerdictsAsked(_Input):
    """Query of GET /api/v1/verdicts."""

    session: str | None = None
    evaluator: str | None = None
    label: str | None = None
    passed: bool | None = None
    labelled: bool | None = None
    since: AwareDatetime | None = None
    order: Literal["newest", "by_chance"] = "newest"
    limit: int = Field(50, ge=1, le=MAX_LIMIT)


class LabelGiven(_Input):
    """Body of POST /api/v1/labels. `label` is the one that would have been right."""

    verdict: str = Field(pattern=r"^[0-9a-f]{32}$")
    agree: bool = Field(strict=True)
    reason: str
    author: str
    label: str | None = None


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
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise Rejected(415, "unsupported media type", ("", "the content type must be application/json"))
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > MAX_BODY:
            raise Rejected(413, "too large", ("", f"{MAX_BODY} bytes are allowed"))
    try:
        return kind.model_validate_json(bytes(raw))
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
