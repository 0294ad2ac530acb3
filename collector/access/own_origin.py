"""What pages of other sites make a browser send is not served."""

from __future__ import annotations

import ipaddress
from collections.abc import Set
from urllib.parse import urlsplit

from starlette.requests import Request

from collector.access.rejected import Rejected

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_ELSEWHERE = ("", "requests from pages of other sites are not taken")


def is_loopback(listen: str) -> bool:
    """Whether an address:port to listen on is of this machine only."""
    host = listen.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def require_own_name(request: Request) -> None:
    """Raises `Rejected`. On loopback the name that was asked for must be one of this machine: a stranger's name may
    resolve to it."""
    if _without_port(_host(request)) not in _LOOPBACK_NAMES:
        raise Rejected(403, "forbidden", ("", "ask for 127.0.0.1 or localhost: this listener is for this machine only"))


def require_own_origin(request: Request, origins: Set[str] = frozenset()) -> None:
    """Raises `Rejected` for what a page of another site sent. `origins` (scheme://host:port, lower case) are names of
    ours that a proxy hides from us. Links from elsewhere may be followed; nothing else comes from there."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    link = request.method in SAFE_METHODS and request.headers.get("sec-fetch-mode") == "navigate"
    if site in {"cross-site", "same-site"} and not link and (origin or "").lower() not in origins:
        raise Rejected(403, "forbidden", _ELSEWHERE)
    if origin is not None and not _is_own(origin.lower(), request, origins):
        raise Rejected(403, "forbidden", _ELSEWHERE)


def origins_of(url: str | None) -> frozenset[str]:
    """scheme://host:port of an address of ours, as browsers write it."""
    if url is None:
        return frozenset()
    parts = urlsplit(url.lower())
    usual = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    place = parts.netloc.removesuffix(usual) if usual else parts.netloc
    return frozenset({f"{parts.scheme}://{place}"})


def names_its_origin(request: Request) -> bool:
    """Whether a browser vouches for the request to come from a page of ours, where `require_own_origin` let it by."""
    return "origin" in request.headers or request.headers.get("sec-fetch-site") == "same-origin"


def _is_own(origin: str, request: Request, origins: Set[str]) -> bool:
    if origin in origins:
        return True
    parts = urlsplit(origin)
    downgraded = request.scope["scheme"] == "https" and parts.scheme != "https"
    return parts.netloc == _host(request) and not downgraded


def _host(request: Request) -> str:
    return request.headers.get("host", "").lower()


def _without_port(host: str) -> str:
    return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
