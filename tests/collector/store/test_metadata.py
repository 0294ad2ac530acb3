"""Text that PostgreSQL does not take is escaped, and no two texts become one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.store.metadata import escaped, unescaped

ODD = st.text(st.one_of(st.characters(), st.sampled_from("\x00\x1a\ud800\udfff0a")))


@given(ODD)
def test_what_was_escaped_reads_back_the_same(text: str) -> None:
    assert unescaped(escaped(text)) == text


@given(ODD)
def test_what_is_escaped_can_be_stored(text: str) -> None:
    assert "\x00" not in escaped(text)
    escaped(text).encode()
