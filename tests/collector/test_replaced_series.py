"""A gauge that is told as a whole is complete at any moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge

from collector.replaced_series import ReplacedSeries

VALUES = st.dictionaries(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), st.integers(0, 9).map(float))


def shown(gauge: Gauge) -> dict[tuple[str, ...], float]:
    return {
        (sample.labels["service"], sample.labels["evaluator"]): sample.value
        for family in gauge.collect()
        for sample in family.samples
    }


@given(st.lists(VALUES, max_size=4))
def test_what_was_told_last_is_all_there_is(told: list[Mapping[tuple[str, ...], float]]) -> None:
    gauge = Gauge("rate", "", ("service", "evaluator"), registry=CollectorRegistry())
    series = ReplacedSeries(gauge)
    for values in told:
        series.tell(values)
        assert shown(gauge) == values


class Watched(dict[tuple[str, ...], float]):
    """What is told, and at each value that is taken from it, what the gauge shows."""

    def __init__(self, gauge: Gauge, values: Mapping[tuple[str, ...], float]) -> None:
        super().__init__(values)
        self.gauge = gauge
        self.seen: list[set[tuple[str, ...]]] = []

    def items(self) -> Iterator[tuple[tuple[str, ...], float]]:  # type: ignore[override]
        for item in super().items():
            self.seen.append(set(shown(self.gauge)))
            yield item


def test_a_series_that_stays_is_there_all_the_while() -> None:
    gauge = Gauge("rate", "", ("service", "evaluator"), registry=CollectorRegistry())
    series = ReplacedSeries(gauge)
    series.tell({("a", "x"): 1, ("b", "x"): 2})
    again = Watched(gauge, {("b", "x"): 3, ("c", "x"): 4})
    series.tell(again)
    assert again.seen
    assert all(("b", "x") in seen for seen in again.seen)
    assert shown(gauge) == {("b", "x"): 3, ("c", "x"): 4}
