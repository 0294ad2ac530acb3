"""Who sends this, and whose telemetry is it? Bearer tokens of the OTLP receivers."""

from __future__ import annotations

from collections.abc import Sequence

from collector.access.tokens import TokenFile
from collector.errors import Denied, Malformed
from collector.metrics import Metrics, Transport

_SCHEME = "bearer "
_MAX_TOKEN = 8 * 1024  # gRPC takes no more of a header either


def only_value(header: str, values: Sequence[str]) -> str:
    """Of a header that says who sends or for whom; "" without one. Raises `Malformed` where it has several values: a
    proxy that adds its own beside the sender's must not leave it to the order whose counts."""
    if not values:
        return ""
    if any(value != values[0] for value in values):
        raise Malformed(f"the header {header} stands there more than once, with different values")
    return values[0]


class Senders:
    """Asked once for each request."""

    def __init__(self, tokens: TokenFile, metrics: Metrics, *, by_attribute: bool) -> None:
        """`by_attribute`: whether resources may name the tenant where the request does not."""
        self._tokens = tokens
        self._metrics = metrics
        self._by_attribute = by_attribute

    def problem(self) -> str | None:
        """Why the file of tokens, as it is now, is not in force."""
        return self._tokens.problem()

    def tenant(self, transport: Transport, authorization: str, named: str) -> str:
        """Whose all telemetry of a request is; "" where its resources may say so. `authorization` and `named` (the
        tenant) are what its headers say, "" for nothing. Raises `Denied`."""
        try:
            return self._tenant(authorization, named)
        except Denied as denied:
            self._metrics.tls.denied(transport, denied.reason)
            raise

    def _tenant(self, authorization: str, named: str) -> str:
        if not authorization:
            raise Denied("missing", "no bearer token: send the header authorization: Bearer TOKEN")
        token = authorization[len(_SCHEME) :].strip()
        if authorization[: len(_SCHEME)].lower() != _SCHEME or not token or len(token) > _MAX_TOKEN:
            raise Denied("malformed", "no bearer token: the header must be authorization: Bearer TOKEN")
        bearer = self._tokens.find(token)
        if bearer is None:
            raise Denied("unknown", "the bearer token is not known")
        if bearer.read_only:
            raise Denied("read_only", "the bearer token may only read")
        if bearer.tenants is None:
            return named
        if len(bearer.tenants) == 1:
            (named,) = bearer.tenants  # whatever the header says: it is not the sender who decides
        elif named not in bearer.tenants:
            raise Denied("tenant", "the bearer token is not for this tenant: name one of its own in the tenant header")
        if not named and self._by_attribute:
            # Without a tenant of its own, each resource would name one, and it could be anybody's.
            raise Denied(
                "tenant", "the bearer token is for telemetry without a tenant, and resources may name one here"
            )
        return named
