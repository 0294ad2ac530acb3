"""The secrets that a configuration holds, for whoever writes texts that must not repeat them (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, unquote_plus

from pydantic import BaseModel, SecretStr

_PASSWORDS = (
    # As SQLAlchemy reads it, which takes more than a URL may hold: slashes and brackets, say.
    re.compile(r"^[\w+.-]+://[^:/@]*:([^@]+)@"),
    re.compile(r"[?&](?:ssl)?password=([^&]+)"),
)


def secret_values(of: object) -> tuple[str, ...]:
    """Every secret of a section and of the sections in it; of a URL its password too, as it is written and as it is
    meant."""
    return tuple(sorted({value for value in _values(of) if value}))


def _values(of: object) -> Iterator[str]:
    match of:
        case SecretStr():
            yield from _forms(of.get_secret_value())
        case BaseModel():
            for name in type(of).model_fields:
                yield from _values(getattr(of, name))
        case Mapping():
            for inner in of.values():
                yield from _values(inner)
        case tuple() | list():
            for inner in of:
                yield from _values(inner)


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield from secret.split()  # of a header, Bearer and the token
    for pattern in _PASSWORDS:
        for password in pattern.findall(secret):
            yield from (password, unquote(password), unquote_plus(password))
