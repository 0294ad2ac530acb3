"""Inflate request bodies ourselves, with a bound: 200 MiB of zeros fit in 0.2 MB of gzip."""

from __future__ import annotations

import asyncio
import sys
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from collector.errors import Malformed, TooLarge

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Inflate: TypeAlias = Callable[[bytes, int], bytes]
"""Body and limit to content. Raises `Malformed`, or `TooLarge` above the limit."""

_decompressor: Callable[..., Any] = zlib.decompressobj
_damaged: tuple[type[Exception], ...] = (zlib.error,)
try:
    from isal import isal_zlib

    _decompressor = isal_zlib.decompressobj  # about twice as fast
    _damaged = (zlib.error, cast(type[Exception], isal_zlib.error))  # its stubs say it is an instance
except ImportError:  # not built for every processor
    pass

_GZIP, _DEFLATE = 31, 15  # zlib's window bits
_WINDOW: Mapping[int, int] = {zstd.DecompressionParameter.window_log_max: 23}
"""8 MiB, as much as RFC 9659 lets a sender ask for: a window is memory, whatever comes out of it."""
_SOON_IN, _SOON_OUT = 64 * 1024, 1024 * 1024  # bytes that are inflated sooner than a thread is asked
_MOST_MEMBERS = 1000  # each costs a copy of what is left: a body of empty ones would hold everyone up for minutes


def gunzip(body: bytes, limit: int) -> bytes:
    """The content of a gzip file, all its members. An `Inflate`, as those below."""
    return _inflate(lambda: _decompressor(wbits=_GZIP), _damaged, body, limit)


def inflate(body: bytes, limit: int) -> bytes:
    """The content of a zlib stream: HTTP's and gRPC's `deflate`."""
    return _inflate(lambda: _decompressor(wbits=_DEFLATE), _damaged, body, limit)


def unzstd(body: bytes, limit: int) -> bytes:
    """The content of all zstd frames (RFC 8878); what skippable ones hold is passed over."""
    return _inflate(lambda: zstd.ZstdDecompressor(options=_WINDOW), (zstd.ZstdError,), body, limit)


async def inflated(how: Inflate, body: bytes, limit: int) -> bytes:
    """The content, without holding up the event loop: a thread inflates what is large, or turns out to be."""
    if len(body) <= _SOON_IN:
        try:
            return how(body, min(limit, _SOON_OUT))
        except TooLarge:
            if limit <= _SOON_OUT:
                raise
    return await asyncio.to_thread(how, body, limit)


def sniffed(body: bytes) -> Inflate | None:
    """How to inflate a gRPC message as it came; None when its first bytes show that it is not compressed.

    An OTLP request begins with field 1 (0x0a) or is empty, so neither gzip's nor zlib's first byte can be one.
    """
    if body[:2] == b"\x1f\x8b":
        return gunzip
    return inflate if body[:1] == b"\x78" else None


def _inflate(start: Callable[[], Any], damaged: tuple[type[Exception], ...], body: bytes, limit: int) -> bytes:
    """`start` makes what inflates one member: zlib's, isal's and zstd's have the same methods."""
    parts: list[bytes] = []
    total = 0
    rest = body
    while rest:
        if len(parts) == _MOST_MEMBERS:
            raise Malformed(f"the compressed body has more than {_MOST_MEMBERS} members")
        stream = start()
        try:
            part = stream.decompress(rest, limit - total + 1)
        except damaged as error:
            raise Malformed(f"the compressed body is damaged: {error}") from error
        total += len(part)
        if total > limit:
            raise TooLarge(f"the request inflates to more than {limit} bytes")
        if not stream.eof:
            raise Malformed("the compressed body ends early")
        parts.append(part)
        rest = stream.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)
