"""No offset is committed past a message that anybody needs, whatever the order in which sessions end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.kafka.watermark import ReadOffsets


def test_with_nothing_needed_all_that_was_read_is_committed() -> None:
    offsets = ReadOffsets(7)
    assert offsets.low(None) == 7
    offsets.filed(7, 1)
    offsets.read(7)
    assert offsets.low(None) == 8


def test_the_oldest_message_that_is_needed_is_the_one_to_begin_with() -> None:
    offsets = ReadOffsets(0)
    for offset, row in ((0, 1), (1, 4), (5, 6)):
        offsets.filed(offset, row)
        offsets.read(offset)
    assert [offsets.low(row) for row in (1, 3, 4, 5, 6, 9)] == [0, 0, 1, 1, 5, 5]


def test_a_row_says_which_message_it_came_of() -> None:
    offsets = ReadOffsets(0)
    offsets.filed(3, 10)
    offsets.filed(4, 12)
    assert [offsets.of(row) for row in (10, 11, 12, 40)] == [3, 3, 4, 4]
    with pytest.raises(LookupError):
        offsets.of(9)


@given(
    sizes=st.lists(st.integers(0, 3), max_size=60),
    ends=st.lists(st.integers(0, 59), max_size=60, unique=True),
)
def test_what_is_committed_only_rises_and_never_passes_what_is_needed(sizes: list[int], ends: list[int]) -> None:
    """Message number n becomes so many rows, all of a session of its own; sessions end in any order."""
    offsets, row = ReadOffsets(0), 1
    first_rows: dict[int, int] = {}
    for offset, size in enumerate(sizes):
        if size:
            offsets.filed(offset, row)
            first_rows[offset] = row
            row += size
        offsets.read(offset)
    before = 0
    for ended in [None, *ends]:
        first_rows.pop(ended if ended is not None else -1, None)
        low = offsets.low(min(first_rows.values(), default=None))
        assert before <= low <= min(first_rows, default=len(sizes))
        before = low
