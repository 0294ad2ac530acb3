"""Addresses of pages (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from judge.verdict import SessionRef


def address(path: str, query: Mapping[str, str]) -> str:
    """Half a surrogate pair, which no address can hold, becomes a question mark: it then finds nothing."""
    return f"{path}?{query_text(query)}" if query else path


def query_text(query: Mapping[str, str]) -> str:
    return urlencode(query, errors="replace")


def session_url(ref: SessionRef, revision: int | None = None, **more: str) -> str:
    """Of the session's page; its newest closing unless a revision is given. Browsers take dots alone for another
    place, so an id of dots stands behind the path."""
    tenant = {"tenant": ref.tenant} if ref.tenant else {}
    of_revision = {} if revision is None else {"revision": str(revision)}
    dots = not ref.session_id.strip(".")
    path = "" if dots else quote(ref.session_id, safe="", errors="replace")
    named = {"session": ref.session_id} if dots else {}
    return address(f"/sessions/{path}", {**named, **tenant, **of_revision, **more})


def closing_query(ref: SessionRef) -> dict[str, str]:
    """For addresses of what belongs to one closing."""
    return {"session": ref.session_id, **({"tenant": ref.tenant} if ref.tenant else {}), "revision": str(ref.revision)}
