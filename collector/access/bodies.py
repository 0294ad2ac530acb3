"""Bodies of requests to page and API."""

from __future__ import annotations

from starlette.requests import Request

from collector.access.rejected import Rejected


async def body_of(request: Request, content_type: str, most_bytes: int) -> bytes:
    """Raises `Rejected` for another type, and for more bytes, of which it reads no more."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != content_type:
        raise Rejected(415, "unsupported media type", ("", f"the content type must be {content_type}"))
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > most_bytes:
            raise Rejected(413, "too large", ("", f"{most_bytes} bytes are allowed"))
    return bytes(raw)
