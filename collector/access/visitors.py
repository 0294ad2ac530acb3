"""Who sends a request, by a token, a proxy's word, or the cookie of a browser that signed in."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request

from collector.access.limiting import FailureLimit
from collector.access.metrics import AccessMetrics
from collector.access.rejected import Rejected
from collector.access.sessions import bearer_of, session_of
from collector.access.settings import AccessSettings, ProxySettings
from collector.access.tokens import MAX_NAME, Bearer, TokenFile, read_tokens
from collector.clock import Clock
from judge.documents import DocumentError, Problem

COOKIE = "spanjudge_session"
_MIN_KEY = 32
_MOST_TOKEN = 4096


@dataclass(frozen=True, slots=True)
class Visitor:
    """`tenants` is None for all; `person` None where nobody has to say who they are. `whose` tells apart sessions of
    browsers, for the secrets in their forms."""

    person: str | None
    tenants: frozenset[str] | None
    may_write: bool
    whose: str = field(repr=False)


OF_THIS_MACHINE = Visitor(None, None, True, "local")


class Visitors:
    """Tells who sends a request. Raises `DocumentError`, when made, for files that cannot be used."""

    def __init__(self, settings: AccessSettings, clock: Clock, metrics: AccessMetrics) -> None:
        self._settings = settings
        self._clock = clock
        self._metrics = metrics
        self._limit = FailureLimit()
        file = settings.tokens_file
        self._tokens = None if file is None else TokenFile(file, metrics.tokens_read)
        self.key = _key(settings.session_key_file)
        self._proxies = _networks(settings.proxy)

    @property
    def may_sign_in(self) -> bool:
        """Whether there are tokens to sign in with."""
        return self._tokens is not None

    def problem(self) -> str | None:
        return None if self._tokens is None else self._tokens.problem()

    def of(self, request: Request) -> Visitor | None:
        """None where nothing says who it is. Raises `Rejected` for what says so and is wrong."""
        return self._by_proxy(request) or self._by_token(request) or self._by_cookie(request)

    def is_secure(self, request: Request) -> bool:
        """Whether the browser speaks TLS, to us or to a proxy that we believe."""
        if request.scope["scheme"] == "https":
            return True
        return self._is_proxy(request) and request.headers.get("x-forwarded-proto", "").strip().lower() == "https"

    def sign_in(self, request: Request, token: str) -> tuple[str, int]:
        """The session's cookie for this token, and for how many seconds. Raises `Rejected`."""
        seconds = int(self._settings.session_hours * 3600)
        try:
            bearer = self._bearer(request, token.strip())
        except Rejected:
            self._metrics.signed_in(False)
            raise
        self._metrics.signed_in(True)
        return session_of(bearer, self._clock.now_ns() + seconds * 10**9, self.key), seconds

    def _by_proxy(self, request: Request) -> Visitor | None:
        proxy = self._settings.proxy
        if proxy is None or proxy.header is None or not self._is_proxy(request):
            return None
        names = request.headers.getlist(proxy.header)
        if not names:
            return None
        name = names[0].strip()
        if len(names) > 1 or not name or len(name) > MAX_NAME or not name.isprintable():
            raise Rejected(
                401, "not signed in", ("", f"{proxy.header} must hold one name, of at most {MAX_NAME} characters")
            )
        tenants = None if proxy.tenants_header is None else _listed(request.headers.getlist(proxy.tenants_header))
        return Visitor(name, tenants, not proxy.read_only, f"proxy {name}")

    def _by_token(self, request: Request) -> Visitor | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if self._tokens is None or scheme.lower() != "bearer":
            return None
        bearer = self._bearer(request, token.strip())
        return _visitor(bearer, f"token {bearer.digest.hex()}")

    def _by_cookie(self, request: Request) -> Visitor | None:
        session = request.cookies.get(COOKIE)
        if self._tokens is None or session is None:
            return None
        bearer = bearer_of(session, self._tokens.named, self._clock.now_ns(), self.key)
        return None if bearer is None else _visitor(bearer, f"cookie {session}")

    def _bearer(self, request: Request, token: str) -> Bearer:
        """Raises `Rejected`. An address that failed too often is not told whether it is right now."""
        address, now_ns = self._address(request), self._clock.steady_ns()
        if wait_s := self._limit.wait_s(address, now_ns):
            self._metrics.refused("too_many_failures")
            raise Rejected(
                429,
                "too many failures",
                ("", f"too many wrong tokens came from your address: try again in {wait_s} s"),
                headers={"Retry-After": str(wait_s)},
            )
        found = self._tokens.find(token) if self._tokens is not None and 0 < len(token) <= _MOST_TOKEN else None
        if found is None:
            self._limit.failed(address, now_ns)
            self._metrics.refused("wrong_token")
            raise Rejected(
                401,
                "not signed in",
                ("", "the token is not known here"),
                headers={"WWW-Authenticate": 'Bearer realm="SpanJudge", error="invalid_token"'},
            )
        return found

    def _address(self, request: Request) -> str:
        """Where it came from: what a proxy that we believe says last, or the other end of the connection."""
        direct = request.client.host if request.client else ""
        if not self._is_proxy(request):
            return direct
        return request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip() or direct

    def _is_proxy(self, request: Request) -> bool:
        if not self._proxies or request.client is None:
            return False
        try:
            address = ipaddress.ip_address(request.client.host)
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self._proxies)


def check_files(settings: AccessSettings) -> None:
    """Raises `DocumentError` for files that cannot be used."""
    problems: list[Problem] = []
    for file, read in ((settings.tokens_file, read_tokens), (settings.session_key_file, _key)):
        try:
            if file is not None:
                read(file)
        except DocumentError as error:
            problems += error.problems
    if problems:
        raise DocumentError(tuple(problems))


def _visitor(bearer: Bearer, whose: str) -> Visitor:
    return Visitor(bearer.name, bearer.tenants, not bearer.read_only, whose)


def _listed(headers: Sequence[str]) -> frozenset[str]:
    """None of them where the proxy says nothing: it was configured to say."""
    return frozenset(name for header in headers for part in header.split(",") if (name := part.strip()))


def _networks(proxy: ProxySettings | None) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    # A host's address within a network is a way to write the network.
    return [] if proxy is None else [ipaddress.ip_network(one, strict=False) for one in proxy.trusted_proxies]


def _key(file: Path | None) -> bytes:
    if file is None:
        return secrets.token_bytes(32)
    try:
        key = file.read_bytes().strip()
    except OSError as error:
        raise DocumentError((Problem(str(file), 1, "", f"cannot be read: {error.strerror}"),)) from error
    if len(key) < _MIN_KEY:
        raise DocumentError((Problem(str(file), 1, "", f"must hold at least {_MIN_KEY} random bytes"),))
    return key
