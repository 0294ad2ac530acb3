"""Can this text be sent as a token or header? Asked before it is used: client libraries repeat what they choke on, and
it would stand in a log. And texts of others without the secrets that we know (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = re.compile(r"[\x21-\x7e]+")
_HEADER_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")

_MIN_MASKED = 8  # what is shorter may be a part of any word
MASK = "***"


def token_fault(token: str) -> str | None:
    """What is wrong with it, without repeating any of it; None when nothing is."""
    if not token:
        return "must not be empty"
    return None if _TOKEN.fullmatch(token) else "must be one line of ASCII characters without blanks"


def header_fault(name: str, value: str) -> str | None:
    """Likewise; the name is no secret. Both OTLP transports must be able to send it."""
    if not _HEADER_NAME.fullmatch(name):
        return f"{name!r} is no name of a header"
    if name.lower().startswith("grpc-") or name.lower().endswith("-bin"):
        return f"{name!r}: gRPC keeps such names to itself"
    return None if _HEADER_VALUE.fullmatch(value) else f"the value of {name} must be one line of ASCII characters"


def without(text: str, secrets: Iterable[str]) -> str:
    """The text with a mark in place of each secret that stands in it whole."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _MIN_MASKED and secret in text:
            text = text.replace(secret, MASK)
    return text
