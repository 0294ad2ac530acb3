"""Whether a request is served, and for whom."""

from __future__ import annotations

from collections.abc import Set

from starlette.requests import Request

from collector.access.csrf import Csrf
from collector.access.metrics import AccessMetrics
from collector.access.own_origin import (
    SAFE_METHODS,
    is_loopback,
    origins_of,
    require_own_name,
    require_own_origin,
)
from collector.access.rejected import Rejected
from collector.access.settings import AccessSettings
from collector.access.visitors import OF_THIS_MACHINE, Visitor, Visitors
from collector.clock import Clock

SIGN_IN, SIGN_OUT, STYLE = "/sign-in", "/sign-out", "/sign-in/style.css"
METRICS = "/metrics"
_PROBES = frozenset({"/livez", "/readyz"})
_NOBODY = (
    "nobody can sign in here: set access.tokens_file or access.proxy in the configuration, or have admin.listen on "
    "127.0.0.1"
)


class Access:
    """For one listener. What is not known to be open is closed, so that a new page need not think of it."""

    def __init__(
        self,
        settings: AccessSettings,
        listen: str,
        clock: Clock,
        metrics: AccessMetrics,
        public_url: str | None = None,
    ) -> None:
        """`public_url` is where people reach the page, if that is known. Raises `DocumentError` for files that cannot
        be used."""
        self.visitors = Visitors(settings, clock, metrics)
        self._configured = settings.configured
        self._loopback = is_loopback(listen)
        self._origins: Set[str] = frozenset(settings.origins) | origins_of(public_url)
        self._metrics = metrics
        may_sign_in = {SIGN_IN, STYLE} if self.visitors.may_sign_in else set()
        self._open = _PROBES | may_sign_in | ({METRICS} if settings.metrics == "open" else set())

    async def problem(self) -> str | None:
        """For /readyz: the tokens in force are not those of the file."""
        return self.visitors.problem()

    def admit(self, request: Request) -> Visitor | None:
        """Who it is; None at what is open to all. Raises `Rejected`."""
        path = request.scope["path"]  # request.url is made of the Host header too, which can say anything
        if path in _PROBES or (path == METRICS and path in self._open):
            return None
        self._require_own_origin(request)
        if path in self._open:
            return None
        visitor = self._visitor(request)
        if not visitor.may_write and request.method not in SAFE_METHODS and path != SIGN_OUT:
            self._metrics.refused("read_only")
            raise Rejected(403, "forbidden", ("", "you may look, and change nothing"))
        if path == METRICS and visitor.tenants is not None:
            raise Rejected(403, "forbidden", ("", "metrics tell of all tenants, and you may not see all"))
        return visitor

    def csrf(self, visitor: Visitor) -> Csrf:
        return Csrf(self.visitors.key, visitor.whose, self._metrics)

    def _require_own_origin(self, request: Request) -> None:
        try:
            if self._loopback and not self._configured:
                require_own_name(request)
            require_own_origin(request, self._origins)
        except Rejected:
            self._metrics.refused("other_site")
            raise

    def _visitor(self, request: Request) -> Visitor:
        if not self._configured:
            if self._loopback:
                return OF_THIS_MACHINE
            self._metrics.refused("not_configured")
            raise Rejected(403, "forbidden", ("", _NOBODY))
        visitor = self.visitors.of(request)
        if visitor is None:
            self._metrics.refused("no_credentials")
            raise Rejected(
                401,
                "not signed in",
                (
                    "",
                    "send a token: Authorization: Bearer TOKEN"
                    if self.visitors.may_sign_in
                    else "sign in at the proxy",
                ),
                headers={"WWW-Authenticate": 'Bearer realm="SpanJudge"'},
            )
        return visitor
