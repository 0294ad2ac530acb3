"""Until when is a certificate valid, and which one is it? Read from its DER (X.509, RFC 5280 section 4.1) (pure)."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

_SEQUENCE, _INTEGER, _VERSION, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0x02, 0xA0, 0x17, 0x18
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Validity:
    """Of one certificate. Instants are seconds since the Unix epoch; the serial number is lower-case hexadecimal."""

    serial: str
    not_before_s: float
    not_after_s: float

    def at(self, now_s: float) -> Literal["not valid yet", "valid", "expired"]:
        if now_s < self.not_before_s:
            return "not valid yet"
        return "valid" if now_s <= self.not_after_s else "expired"


def validity_of(pem: bytes) -> Validity:
    """Of the first certificate in the text, which is the one that is shown; what follows leads to its authority.

    Raises ValueError where there is none that can be read.
    """
    found = _PEM.search(pem)
    if found is None:
        raise ValueError("there is no certificate in it")
    try:
        return _validity(ssl.PEM_cert_to_DER_cert(found.group().decode("ascii")))
    except (IndexError, ValueError) as error:
        raise ValueError("its first certificate cannot be read") from error


def _validity(der: bytes) -> Validity:
    certificate, _ = _value(der, 0, _SEQUENCE)
    body, _ = _value(certificate, 0, _SEQUENCE)
    at = _value(body, 0, _VERSION)[1] if body[0] == _VERSION else 0
    serial, at = _value(body, at, _INTEGER)
    for _ in ("signature", "issuer"):
        _, at = _value(body, at, _SEQUENCE)
    validity, _ = _value(body, at, _SEQUENCE)
    not_before, at = _time(validity, 0)
    not_after, _ = _time(validity, at)
    return Validity(f"{int.from_bytes(serial):x}", not_before, not_after)


def _value(der: bytes, at: int, tag: int) -> tuple[bytes, int]:
    """The contents of the element that starts there, and where the next one starts."""
    if der[at] != tag:
        raise ValueError(f"element {der[at]:#x} in place of {tag:#x}")
    size, start = der[at + 1], at + 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(der[at + 2 : start])
    if start + size > len(der):
        raise ValueError("cut off")
    return der[start : start + size], start + size


def _time(der: bytes, at: int) -> tuple[float, int]:
    tag = der[at]
    if tag not in {_UTC_TIME, _GENERALIZED_TIME}:
        raise ValueError("no time")
    value, after = _value(der, at, tag)
    text = value.decode("ascii")
    if tag == _UTC_TIME:  # two digits of the year: 1950 to 2049
        text = f"{'19' if text[:2] >= '50' else '20'}{text}"
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp(), after
