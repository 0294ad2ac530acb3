"""Compressed bodies come out whole, or are refused before they fill the memory."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.errors import Malformed, TooLarge
from collector.otlp.inflate import gunzip, inflate, sniffed

LIMIT = 10_000


@given(st.binary(max_size=LIMIT))
def test_what_was_compressed_comes_out_as_it_was(body: bytes) -> None:
    assert gunzip(gzip.compress(body), LIMIT) == body
    assert inflate(zlib.compress(body), LIMIT) == body


@given(st.lists(st.binary(max_size=100), min_size=1, max_size=5))
def test_all_members_of_a_gzip_file_are_read(members: list[bytes]) -> None:
    assert gunzip(b"".join(map(gzip.compress, members)), LIMIT) == b"".join(members)


@pytest.mark.parametrize("size", [LIMIT + 1, 50_000_000])
def test_a_bomb_is_refused_at_the_limit(size: int) -> None:
    with pytest.raises(TooLarge, match="more than 10000 bytes"):
        gunzip(gzip.compress(bytes(size)), LIMIT)


def test_the_limit_counts_all_members_together() -> None:
    with pytest.raises(TooLarge):
        gunzip(gzip.compress(bytes(LIMIT // 2 + 1)) * 2, LIMIT)


def test_a_flood_of_empty_members_is_refused() -> None:
    with pytest.raises(Malformed, match="members"):
        gunzip(gzip.compress(b"") * 50_000, LIMIT)


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_damaged_body_is_malformed_and_nothing_worse(body: bytes, data: st.DataObject) -> None:
    raw = bytearray(gzip.compress(body))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        gunzip(bytes(raw), LIMIT)
    except (Malformed, TooLarge):
        return
    # Bits of the header (its time, the system it was made on) do not matter.


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_body_cut_short_is_malformed(body: bytes, data: st.DataObject) -> None:
    raw = gzip.compress(body)
    with pytest.raises(Malformed):
        gunzip(raw[: data.draw(st.integers(1, len(raw) - 1))], LIMIT)


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress, bytes])
@pytest.mark.parametrize("request_body", [b"", b"\x0a\x00", b"\x0a\x03abc"])
def test_a_message_is_inflated_when_it_was_compressed(compress: type[bytes], request_body: bytes) -> None:
    assert sniffed(compress(request_body), LIMIT) == request_body


def test_an_empty_body_is_empty() -> None:
    assert gunzip(b"", LIMIT) == b""
