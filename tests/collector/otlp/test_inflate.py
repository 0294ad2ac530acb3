"""Compressed bodies come out whole, or are refused before they fill the memory."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.errors import Malformed, TooLarge
from collector.otlp.inflate import Inflate, gunzip, inflate, inflated, sniffed, unzstd

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

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


@pytest.mark.parametrize(("compress", "how"), [(gzip.compress, gunzip), (zlib.compress, inflate), (bytes, None)])
@pytest.mark.parametrize("request_body", [b"", b"\x0a\x00", b"\x0a\x03abc"])
def test_a_message_shows_how_it_was_compressed(
    compress: Callable[[bytes], bytes], how: Inflate | None, request_body: bytes
) -> None:
    assert sniffed(compress(request_body)) is how


@given(st.lists(st.binary(max_size=LIMIT // 5), min_size=1, max_size=5))
def test_all_frames_of_zstd_are_read_and_skippable_ones_passed_over(frames: list[bytes]) -> None:
    skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00xyz"
    assert unzstd(skippable.join(map(zstd.compress, frames)), LIMIT) == b"".join(frames)


@pytest.mark.parametrize("size", [LIMIT + 1, 50_000_000])
def test_a_bomb_of_zstd_is_refused_at_the_limit(size: int) -> None:
    with pytest.raises(TooLarge, match="more than 10000 bytes"):
        unzstd(zstd.compress(bytes(size)), LIMIT)


def test_a_frame_that_wants_a_huge_window_is_refused() -> None:
    """The window would be allocated before a byte comes out."""
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    with pytest.raises(Malformed, match="damaged"):
        unzstd(packer.compress(b"abc" * 1000) + packer.flush(), LIMIT)


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_zstd_body_cut_short_or_with_something_behind_it_is_malformed(body: bytes, data: st.DataObject) -> None:
    raw = zstd.compress(body)
    with pytest.raises(Malformed):
        unzstd(raw[: data.draw(st.integers(1, len(raw) - 1))], LIMIT)
    with pytest.raises(Malformed):
        unzstd(raw + b"more", LIMIT)


@pytest.mark.parametrize("size", [0, 10, 900_000, 3_000_000])
async def test_a_body_is_inflated_the_same_on_the_loop_and_off_it(size: int) -> None:
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    assert await inflated(gunzip, gzip.compress(body), 4_000_000) == body
    assert await inflated(unzstd, zstd.compress(body), 4_000_000) == body


@pytest.mark.parametrize("limit", [LIMIT, 2_000_000])
async def test_a_bomb_is_refused_wherever_it_goes_off(limit: int) -> None:
    with pytest.raises(TooLarge, match=f"more than {limit} bytes"):
        await inflated(gunzip, gzip.compress(bytes(5_000_000)), limit)


def test_an_empty_body_is_empty() -> None:
    assert gunzip(b"", LIMIT) == b""
