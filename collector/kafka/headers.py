"""What messages of the telemetry topics say beside their value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from collector.errors import Malformed
from collector.kafka.settings import Encoding

Header = tuple[str, bytes]
HeaderRead = tuple[str, bytes | None]
"""Whoever may write into a topic may give a header no value."""

TENANT, ENCODING = "spanjudge.tenant", "spanjudge.encoding"
_OTLP_PROTO: Header = (ENCODING, b"otlp_proto")


def telemetry_headers(tenant: str) -> list[Header]:
    """Of a message that a receiver writes. `tenant` is what the sender's request said, "" for nothing."""
    return [_OTLP_PROTO, (TENANT, tenant.encode())] if tenant else [_OTLP_PROTO]


def tenant_of(headers: Iterable[HeaderRead]) -> str:
    """What the sender's request said of its tenant; "" where it said nothing, as in messages of a Collector."""
    said = _said(headers, TENANT)
    return "" if said is None else said.decode("utf-8", "replace")


def encoding_of(headers: Iterable[HeaderRead], otherwise: Encoding) -> Encoding:
    """How the value is written: as its headers say, or `otherwise`, which is what the configuration says of messages
    of a Collector. Raises `Malformed` for an encoding that we do not know."""
    said = _said(headers, ENCODING)
    if said is None:
        return otherwise
    for known in get_args(Encoding):
        if said == known.encode():
            encoding: Encoding = known
            return encoding
    raise Malformed(f"the header {ENCODING} names no encoding that we know: {said[:32]!r}")


def _said(headers: Iterable[HeaderRead], wanted: str) -> bytes | None:
    return next((value for name, value in headers if name == wanted), None)
