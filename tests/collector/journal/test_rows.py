"""Rows on disk: keys sort in the order of their numbers and read as they were written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.journal.rows import (
    RowKey,
    RowType,
    closing,
    decode_key,
    key_of,
    names,
    signal_flags,
    signal_of,
    split_closing,
    split_names,
)
from collector.sessions.keys import Kind, Owner

_LONG = st.integers(0, 2**63)
_KEYS = st.builds(
    RowKey,
    row=_LONG,
    before=_LONG,
    digest=st.binary(min_size=16, max_size=16),
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
