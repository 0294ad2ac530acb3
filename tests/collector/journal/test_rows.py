"""Rows on disk: keys sort in the order of their numbers and read as they were written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.journal.rows import (
    RowKey,
    RowType,
    closing,
    decode_key,
    decode_keys,
    key_of,
    link_key,
    linked,
    moved,
    names,
    signal_flags,
    signal_of,
    split_closing,
    split_moved,
    split_names,
)
from collector.sessions.keys import DIGEST_BYTES, Kind, Owner

_LONG = st.integers(0, 2**63)
_KEYS = st.builds(
    RowKey,
    row=_LONG,
    before=_LONG,
    digest=st.binary(min_size=DIGEST_BYTES, max_size=DIGEST_BYTES),
    at_ms=_LONG,
    kind=st.sampled_from(Kind),
    type=st.sampled_from(RowType),
    flags=st.integers(0, 65_535),
    items=st.integers(0, 2**32 - 1),
    size=st.integers(0, 2**32 - 1),
)


@given(_KEYS)
def test_a_key_reads_as_it_was_written(key: RowKey) -> None:
    assert decode_key(key.encode()) == key


@given(_KEYS, _KEYS)
def test_keys_sort_by_row_number(one: RowKey, two: RowKey) -> None:
    if one.row < two.row:
        assert one.encode() < key_of(two.row) <= two.encode()


@given(st.sampled_from(Kind), st.text(), st.text(), st.binary())
def test_a_value_gives_back_owner_and_content(kind: Kind, name: str, tenant: str, content: bytes) -> None:
    owner = Owner(kind, name, tenant)
    assert split_names(names(owner) + content, kind) == (owner, content)


@given(st.integers(0, 65_535), st.floats(0, 1), st.text())
def test_a_closing_reads_as_it_was_written(revision: int, probability: float, reason: str) -> None:
    assert split_closing(closing(revision, probability, reason)) == (revision, probability, reason)


def test_signals_are_told_apart_by_their_flags() -> None:
    assert [signal_of(signal_flags(signal)) for signal in ("traces", "logs")] == ["traces", "logs"]


@given(_LONG, st.binary(min_size=DIGEST_BYTES, max_size=DIGEST_BYTES), st.booleans())
def test_a_link_holds_its_trace_in_the_key(number: int, trace: bytes, weak: bool) -> None:
    key = decode_key(link_key(number, b"s" * DIGEST_BYTES, trace, 1, weak=weak).encode())
    assert (key.row, key.type, key.flags, linked(key)) == (number, RowType.LINK, int(weak), trace)


@given(st.lists(_KEYS, max_size=5))
def test_many_keys_read_as_one_by_one(keys: list[RowKey]) -> None:
    assert list(decode_keys(b"".join(key.encode() for key in keys))) == keys


def test_a_row_of_a_later_version_is_not_taken_for_something_else() -> None:
    key = RowKey(7, 0, b"s" * DIGEST_BYTES, 1, Kind.SESSION, max(RowType) + 1)
    with pytest.raises(ValueError, match="unknown to this version"):
        decode_key(key.encode())


@given(st.integers(0, 3), st.integers(0, 1), _LONG)
def test_how_a_copied_session_stood_reads_as_it_was_written(state: int, ended: int, last_ms: int) -> None:
    assert split_moved(moved(state, ended, last_ms)) == (state, ended, last_ms)
