"""Fields of a form that a browser posted."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request

from collector.access.bodies import body_of
from collector.access.rejected import Rejected

_TYPE = "application/x-www-form-urlencoded"
MOST_FIELDS = 100


async def form(request: Request, most_bytes: int = 64 * 1024) -> dict[str, str]:
    """By name; of a name that came twice the last. Raises `Rejected`."""
    raw = await body_of(request, _TYPE, most_bytes)
    try:
        fields = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict", encoding="utf-8"
        )
    except ValueError:
        raise Rejected(400, "not a form", ("", "the body cannot be read as the fields of a form")) from None
    return dict(fields)
