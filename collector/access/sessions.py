"""Cookies that say who is signed in: signed, not stored (pure)."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable, Sequence

from collector.access.tokens import Bearer

_MOST = 2048


def session_of(bearer: Bearer, until_ns: int, key: bytes) -> str:
    """A cookie's value that stands for the bearer's token until then, and no longer than the token is good."""
    payload = base64.urlsafe_b64encode(json.dumps([bearer.name, until_ns]).encode()).decode().rstrip("=")
    return f"{payload}.{_signature(payload, bearer, key)}"


def bearer_of(session: str, named: Callable[[str], Sequence[Bearer]], now_ns: int, key: bytes) -> Bearer | None:
    """Who signed in; None for what we did not sign, what is over, and what was given for a token that is gone."""
    payload, dot, signature = session.partition(".")
    if not dot or len(session) > _MOST or not session.isascii():
        return None
    try:
        name, until_ns = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, TypeError):
        return None
    if not isinstance(name, str) or type(until_ns) is not int:
        return None
    for bearer in named(name):
        if hmac.compare_digest(_signature(payload, bearer, key), signature):
            return bearer if now_ns < until_ns else None
    return None


def _signature(payload: str, bearer: Bearer, key: bytes) -> str:
    return hmac.new(key, b"session\0" + bearer.digest + payload.encode(), "sha256").hexdigest()
