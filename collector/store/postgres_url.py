"""How a PostgreSQL database is named in the configuration."""

from __future__ import annotations

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

_DRIVER = "postgresql+psycopg"


def postgres_url(text: str) -> URL:
    """Raises ValueError, without the text, which may hold a password."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.drivername not in {"postgresql", _DRIVER} or not url.database:
        raise ValueError("must be postgresql://user:password@host:port/database")
    return url.set(drivername=_DRIVER)
