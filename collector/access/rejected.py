"""What is said to a request that is not served."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from collector.access.headers import protect

API = "/api/"


class Rejected(Exception):
    """Answer with this status. `problems` are (field, what is wrong); the field is "" for the request as a whole."""

    def __init__(
        self, status: int, error: str, *problems: tuple[str, str], headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.problems = problems
        self.headers = dict(headers or {})


def refusal(rejected: Rejected) -> JSONResponse:
    """The one shape of every error of the API."""
    listed = [{"field": field, "message": message} for field, message in rejected.problems]
    return JSONResponse(
        {"error": rejected.error, "problems": listed}, status_code=rejected.status, headers=rejected.headers
    )


def refused(request: Request, rejected: Rejected) -> Response:
    """JSON for programs, text for people."""
    if request.scope["path"].startswith(API):
        return refusal(rejected)
    told = "\n".join(f"{field}: {message}" if field else message for field, message in rejected.problems)
    return PlainTextResponse(f"{told or rejected.error}\n", rejected.status, headers=rejected.headers)


async def not_served(request: Request, error: Exception) -> Response:
    """An address or a method that nobody serves."""
    assert isinstance(error, HTTPException)
    what = {404: ("not found", "there is nothing at this address"), 405: ("method not allowed", "see the Allow header")}
    name, message = what.get(error.status_code, (error.detail, error.detail))
    return refused(request, Rejected(error.status_code, name, ("", message), headers=error.headers))


async def broken(request: Request, _: Exception) -> Response:
    """A mistake of ours, which the log tells of: what went wrong may hold what an agent wrote."""
    answer = refused(request, Rejected(500, "internal error", ("", "the log says what went wrong")))
    protect(answer.headers, secure=request.scope["scheme"] == "https")  # no middleware comes behind this
    return answer
