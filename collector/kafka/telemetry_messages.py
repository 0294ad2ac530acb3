"""From a message of a telemetry topic, in whichever encoding, to one that can be read item by item (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from collector.errors import Malformed
from collector.journal.rows import Signal
from collector.kafka.headers import HeaderRead, encoding_of, tenant_of
from collector.kafka.message_items import Message
from collector.kafka.settings import Encoding
from collector.otlp.otlp_json import to_protobuf
from collector.sessions.keys import name_fault


@dataclass(frozen=True, slots=True)
class Received:
    """`rejected` items of the message were wrong already in its encoding, the first because of `cause`."""

    message: Message
    rejected: int = 0
    cause: str = ""


def received(
    signal: Signal, offset: int, value: bytes | None, headers: Iterable[HeaderRead], otherwise: Encoding
) -> Received:
    """`otherwise` is the encoding of messages that do not tell theirs. Raises `Malformed`."""
    if value is None:
        raise Malformed("a message without a value")
    headers = list(headers)
    tenant = tenant_of(headers)
    if (fault := name_fault(tenant)) is not None:
        raise Malformed(fault)
    if encoding_of(headers, otherwise) == "otlp_proto":
        return Received(Message(signal, offset, tenant, value))
    converted = to_protobuf(value, signal)
    return Received(Message(signal, offset, tenant, converted.payload), converted.rejected, converted.cause or "")
