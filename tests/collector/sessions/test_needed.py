"""How far back the journal is needed: never told too late, and too early by less than a block."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.sessions.needed import RowsNeeded

_BLOCK = 16


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5_000))), st.integers(0, 5_000))
def test_the_lowest_row_is_known_to_the_block(steps: list[tuple[bool, int]], row: int) -> None:
    needed = RowsNeeded()
    rows: list[int] = []
    for takes, number in steps:
        if takes and rows:
            needed.remove(rows.pop(number % len(rows)))
        else:
            rows.append(number)
            needed.add(number)
        lowest = needed.lowest()
        if rows:
            assert lowest is not None
            assert lowest <= min(rows) < lowest + _BLOCK
        else:
            assert lowest is None
            assert needed.lowest() is None
    assert len([each for each in rows if each < row]) <= needed.below(row)
    assert needed.below(row) <= len([each for each in rows if each < row + _BLOCK])


def test_a_row_far_above_the_rest_is_as_good_as_any_other() -> None:
    needed = RowsNeeded()
    needed.add(5)
    needed.add(3_000_000)
    needed.remove(5)
    assert needed.lowest() == 3_000_000
    needed.add(2_999_999)
    assert needed.lowest() == 2_999_984
    needed.add(40)
    assert (needed.lowest(), needed.below(3_000_016)) == (32, 3)
