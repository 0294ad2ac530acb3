"""What callers of the API may send, checked, with every problem named by its field."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

MAX_BODY = 64 * 1024
MAX_LIMIT = 500
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

_Asked = TypeVar("_Asked", bound="_Input")


class Rejected(Exception):
    """Answer with this status. `problems` are (field, what is wrong); the field is "" for the request as a whole."""

    def __init__(self, status: int, error: str, *problems: tuple[str, str]) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.problems = problems


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


def is_loopback(listen: str) -> bool:
    """Whether an address:port to listen on is of this machine only."""
    host = listen.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def require_own_origin(request: Request, *, loopback: bool) -> None:
    """Raises `Rejected` for what a page of another site sent. On loopback the name that was asked for must be one of
    this machine: a stranger's name may resolve to it."""
    host = request.headers.get("host", "").lower()
    if loopback and _without_port(host) not in _LOOPBACK_NAMES:
        raise Rejected(403, "forbidden", ("", "ask for 127.0.0.1 or localhost: this listener is for this machine only"))
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host:
        raise Rejected(403, "forbidden", ("", "requests from pages of other sites are not taken"))


def _without_port(host: str) -> str:
    return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]


def _checked(kind: type[_Asked], given: Mapping[str, Any]) -> _Asked:
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise _rejected(error) from error


def _rejected(error: ValidationError) -> Rejected:
    problems = [(".".join(str(part) for part in one["loc"]), one["msg"]) for one in error.errors(include_url=False)]
    broken = any(one["type"] == "json_invalid" for one in error.errors(include_url=False))
    return Rejected(400, "not JSON", *problems) if broken else Rejected(422, "invalid", *problems)
