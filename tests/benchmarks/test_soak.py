import pytest

from benchmarks.soak import Moment, drift, markdown, too_far


def moments(anonymous_mb: list[float], journal_mb: float = 10.0) -> list[Moment]:
    return [Moment(at * 10.0, value, value, journal_mb, 5.0, 100.0, 1.0) for at, value in enumerate(anonymous_mb)]


def test_the_first_third_may_grow() -> None:
    assert drift(moments([10, 50, 100, 100, 100, 100, 100, 100, 100]), "anonymous_mb") == 0.0


def test_drift_is_the_change_over_the_rest_as_a_share_of_its_mean() -> None:
    rising = moments([0, 0, 0, 90, 94, 98, 102, 106, 110])
    assert drift(rising, "anonymous_mb") == pytest.approx(20 / 100)


def test_memory_that_grows_throughout_is_told() -> None:
    assert too_far(moments([100 + 10 * at for at in range(30)])) == [
        "anonymous_mb changed by +64% over the last two thirds, 15% allowed"
    ]


def test_memory_that_stays_is_not_told() -> None:
    assert too_far(moments([100.0, 101.0, 99.0] * 10)) == []


def test_memory_that_shrinks_is_not_told() -> None:
    assert too_far(moments([400 - 10 * at for at in range(30)])) == []


def test_the_table_has_a_line_for_every_figure() -> None:
    assert markdown(moments([100.0] * 9)).count("\n") == 2 + 6
