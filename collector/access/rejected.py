"""What is said to a request that is not served."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse


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
