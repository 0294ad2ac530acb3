"""Label values from telemetry: printable, short, few."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.metric_labels import (
    EXEMPLAR_CHARACTERS,
    MAX_LENGTH,
    OTHER,
    BoundedLabels,
    BoundedSeries,
    clean,
    exemplar_of,
)


@given(st.text(st.characters(), max_size=300))
def test_a_cleaned_value_is_short_and_can_be_encoded(value: str) -> None:
    assert len(clean(value)) <= MAX_LENGTH
    assert clean(value).encode().decode() == clean(value)
    assert clean(value).isprintable() or not clean(value).isascii()


def test_line_breaks_and_lone_surrogates_are_removed() -> None:
    assert clean("a\nb\x00c\ud800d") == "abcd"
    assert clean(None) == ""


def test_what_turns_the_direction_of_writing_is_removed() -> None:
    assert clean("re\u202efund\u2066s\u200f") == "refunds"
    assert clean("\u05e9\u05dc\u05d5\u05dd") == "\u05e9\u05dc\u05d5\u05dd", "letters stay"


@pytest.mark.parametrize("unseen", ["\u200b", "\xad", "\ufeff", "\u2060", "\u3164", "\U000e0041", "\u180e"])
def test_what_takes_no_room_is_removed(unseen: str) -> None:
    assert clean(f"re{unseen}funds") == "refunds"


def test_what_words_are_spelt_with_stays() -> None:
    for word in ("\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f469\u200d\U0001f4bb", "caf\u00e9"):
        assert clean(word) == word


def test_of_a_value_as_long_as_a_request_only_the_beginning_is_looked_at() -> None:
    assert clean("\x00" * 5_000_000 + "hidden") == ""
    assert clean("\x00" * MAX_LENGTH + "name") == "name"


def test_the_first_values_stay_and_later_ones_are_folded_and_counted() -> None:
    folded: list[str] = []
    labels = BoundedLabels(folded.append, max_values=2)
    assert [labels.bound("skill", name) for name in ("a", "b", "c", "a", "d")] == ["a", "b", OTHER, "a", OTHER]
    assert folded == ["skill", "skill"]


def test_each_label_has_a_bound_of_its_own() -> None:
    labels = BoundedLabels(lambda _: None, max_values=1)
    assert labels.bound("skill", "a") == "a"
    assert labels.bound("service", "b") == "b"


def test_combinations_are_bounded_too() -> None:
    folded: list[str] = []
    series = BoundedSeries(folded.append, max_series=1)
    assert series.fits(("a", "x"))
    assert series.fits(("a", "x"))
    assert not series.fits(("a", "y"))
    assert folded == ["series"]


@given(st.none() | st.text(max_size=200), st.none() | st.text(max_size=200))
def test_an_exemplar_never_exceeds_what_openmetrics_allows(trace_id: str | None, session_id: str | None) -> None:
    exemplar = exemplar_of(trace_id, session_id) or {}
    assert sum(len(name) + len(value) for name, value in exemplar.items()) <= EXEMPLAR_CHARACTERS


def test_a_session_id_that_does_not_fit_is_left_out_whole() -> None:
    assert exemplar_of("ab" * 16, "s" * 200) == {"trace_id": "ab" * 16}
    assert exemplar_of("ab" * 16, "s") == {"trace_id": "ab" * 16, "session_id": "s"}
    assert exemplar_of(None, None) is None


def test_a_session_id_that_prometheus_would_show_with_escapes_is_left_out_whole() -> None:
    for odd in ('say "hi"', "C:\\work", "two\nlines"):
        assert exemplar_of("ab" * 16, odd) == {"trace_id": "ab" * 16}
