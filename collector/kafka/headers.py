"""What messages of the telemetry topics say beside their value."""

from __future__ import annotations

from collections.abc import Iterable

from collector.kafka.settings import Encoding

Header = tuple[str, bytes]

TENANT, ENCODING = "spanjudge.tenant", "spanjudge.encoding"
_OTLP_PROTO: Header = (ENCODING, b"otlp_proto")


def telemetry_headers(tenant: str) -> list[Header]:
    """Of a message that a receiver writes. `tenant` is what the sender's request said, "" for nothing."""
    return [_OTLP_PROTO, (TENANT, tenant.encode())] if tenant else [_OTLP_PROTO]


def tenant_of(headers: Iterable[Header]) -> str:
    """What the sender's request said of its tenant; "" where it said nothing, as in messages of a Collector."""
    return next((value.decode("utf-8", "replace") for name, value in headers if name == TENANT), "")


def encoding_of(headers: Iterable[Header], otherwise: Encoding) -> Encoding:
    """How the value is written: as its headers say, or `otherwise`, which is what the configuration says of messages
    of a Collector."""
    said = next((value for name, value in headers if name == ENCODING), None)
    return otherwise if said is None else "otlp_json" if said == b"otlp_json" else "otlp_proto"
