"""Reading a certificate's serial number and end, compared with a library that reads all of it."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from collector.tls.validity import validity_of
from tests.certificates import Authority

FAR = datetime.timedelta(days=365 * 40)  # past 2049 certificates write their years in another form


@pytest.mark.parametrize("ends", [datetime.timedelta(days=1), datetime.timedelta(days=-3), FAR])
def test_serial_and_times_are_those_of_the_certificate(tmp_path: Path, ends: datetime.timedelta) -> None:
    pem = Authority(tmp_path).issue("server", ends=ends).certificate.read_bytes()
    known = x509.load_pem_x509_certificate(pem)
    found = validity_of(pem)
    assert int(found.serial, 16) == known.serial_number
    assert found.not_after_s == known.not_valid_after_utc.timestamp()
    assert found.not_before_s == known.not_valid_before_utc.timestamp()


def test_of_a_chain_it_is_the_first_that_counts(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    own = authority.issue("server").certificate.read_bytes()
    assert validity_of(b"told by: a person\n" + own + authority.certificate.read_bytes()) == validity_of(own)


def test_a_key_is_no_certificate(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no certificate in it"):
        validity_of(Authority(tmp_path).issue("server").key.read_bytes())


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(noise: bytes) -> None:
    text = b"-----BEGIN CERTIFICATE-----\n" + noise + b"\n-----END CERTIFICATE-----\n"
    for given_bytes in (noise, text):
        try:
            validity_of(given_bytes)
        except ValueError:
            continue
