"""Headers of every answer: what a browser may do with it."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)

# Not `no-referrer`: with it browsers call the origin of our own forms `null`, and they look like those of others.
# Other sites are told nothing either way.
_ALWAYS: Mapping[str, str] = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def protect(headers: MutableHeaders, *, secure: bool) -> None:
    """Adds them; what may be kept by browsers (a stylesheet) says so itself."""
    for name, value in _ALWAYS.items():
        headers[name] = value
    headers.setdefault("cache-control", "no-store")
    if secure:
        headers["strict-transport-security"] = "max-age=31536000"
