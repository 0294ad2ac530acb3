"""A secret in every form of ours, which no page of another site can know."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

from starlette.requests import Request

from collector.access.metrics import AccessMetrics
from collector.access.rejected import Rejected


@dataclass(frozen=True, slots=True)
class Csrf:
    """Of one request; the middleware puts it into `request.state.csrf`. `whose` is who is signed in, and by what."""

    key: bytes = field(repr=False)
    whose: str = field(repr=False)
    metrics: AccessMetrics

    def token(self) -> str:
        return hmac.new(self.key, b"csrf\0" + self.whose.encode(), "sha256").hexdigest()

    def require(self, given: str) -> None:
        if not hmac.compare_digest(self.token().encode(), given.encode("utf-8", "surrogatepass")):
            self.metrics.refused("csrf")
            raise Rejected(403, "forbidden", ("csrf", "the form is out of date: load the page anew, and try again"))


def token(request: Request) -> str:
    """For a hidden field `csrf` of every form that changes something."""
    csrf: Csrf = request.state.csrf
    return csrf.token()


def require(request: Request, given: str) -> None:
    """Raises `Rejected(403)` unless the field is what `token` gave to the same person in the same browser session."""
    csrf: Csrf = request.state.csrf
    csrf.require(given)
