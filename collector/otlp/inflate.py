"""Inflate request bodies ourselves, with a bound: 200 MiB of zeros fit in 0.2 MB of gzip."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, cast

from collector.errors import Malformed, TooLarge

_decompressor: Callable[..., Any] = zlib.decompressobj
_damaged: tuple[type[Exception], ...] = (zlib.error,)
try:
    from isal import isal_zlib

    _decompressor = isal_zlib.decompressobj  # about twice as fast
    _damaged = (zlib.error, cast(type[Exception], isal_zlib.error))  # its stubs say it is an instance
except ImportError:  # not built for every processor
    pass

_GZIP, _DEFLATE = 31, 15  # zlib's window bits
_MOST_MEMBERS = 1000  # each costs a copy of what is left: a body of empty ones would hold everyone up for minutes


def gunzip(body: bytes, limit: int) -> bytes:
    """The content of a gzip file, all its members. Raises `Malformed`, or `TooLarge` above `limit` bytes."""
    return _inflate(body, limit, _GZIP)


def inflate(body: bytes, limit: int) -> bytes:
    """The content of a zlib stream (HTTP's and gRPC's `deflate`); raises as `gunzip`."""
    return _inflate(body, limit, _DEFLATE)


def sniffed(body: bytes, limit: int) -> bytes:
    """A gRPC message as it came, inflated where its first bytes show that it is compressed.

    An OTLP request begins with field 1 (0x0a) or is empty, so neither gzip's nor zlib's first byte can be one.
    """
    if body[:2] == b"\x1f\x8b":
        return gunzip(body, limit)
    if body[:1] == b"\x78":
        return inflate(body, limit)
    return body


def _inflate(body: bytes, limit: int, window_bits: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    rest = body
    while rest:
        if len(parts) == _MOST_MEMBERS:
            raise Malformed(f"the compressed body has more than {_MOST_MEMBERS} members")
        stream: Any = _decompressor(wbits=window_bits)
        try:
            part = stream.decompress(rest, limit - total + 1)
        except _damaged as error:
            raise Malformed(f"the compressed body is damaged: {error}") from error
        total += len(part)
        if total > limit:
            raise TooLarge(f"the request inflates to more than {limit} bytes")
        if not stream.eof:
            raise Malformed("the compressed body ends early")
        parts.append(part)
        rest = stream.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)
