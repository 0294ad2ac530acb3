"""The benchmark of extraction measures what it says."""

from __future__ import annotations

import pytest

from benchmarks.extraction import HOSTILE, Growth, Row, by_harness, growth_table, measured, rich_session, table
from benchmarks.hostile import PATTERNS, exponent, hostile, size_of
from collector.otlp.decode import decode_session
from extractors import registry
from extractors.conventions import genai
from tests.extractors.fixtures import session


def test_a_rich_session_has_20_spans_with_histories_and_is_understood() -> None:
    rows = rich_session(7)
    read = decode_session("s", rows, ())
    assert len(read.spans) == 20
    assert sum(map(len, rows)) > 100_000
    trajectory = registry.extract(read)
    assert trajectory.harness == genai.NAME
    assert (len(trajectory.prompts), len(trajectory.steps), trajectory.notes) == (2, 8, ())
    assert rows == rich_session(7)
    assert rows != rich_session(8)


def test_each_harness_of_the_registry_is_measured() -> None:
    measured_ones = {row.what for row in by_harness(rounds=1)}
    assert measured_ones == {extractor.NAME for extractor in (*registry.HARNESSES, *registry.CONVENTIONS)}


def test_every_harness_gets_hostile_texts() -> None:
    read = {registry.extract(session(name)).harness for name in HOSTILE}
    assert read >= {harness.NAME for harness in registry.HARNESSES}


def test_a_row_tells_items_size_and_both_times() -> None:
    row = measured("one", [(rich_session(1), ())], rounds=1)
    assert (row.items, row.total_ms) == (20, row.decode_ms + row.extract_ms)
    assert "| one | 20 | 2 | 0.50 | 1.25 | 1.75 |" in table([Row("one", 20, 2.2, 0.5, 1.25)])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_session_is_still_one_of_its_harness(name: str) -> None:
    source = session(name)
    attacked = hostile(source, PATTERNS["quotes"](500))
    assert registry.recognizers(attacked) == registry.recognizers(source)
    assert size_of(attacked) > size_of(source) + 500
    assert [span.span_id for span in attacked.spans] == [span.span_id for span in source.spans]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_is_about_as_long_as_asked(pattern: str) -> None:
    assert 900 <= len(PATTERNS[pattern](1000)) <= 1100


def test_twice_the_time_for_twice_the_text_is_linear() -> None:
    assert exponent((100, 1.0), (200, 2.0)) == pytest.approx(1)
    assert exponent((100, 1.0), (200, 4.0)) == pytest.approx(2)


def test_of_each_pattern_the_fastest_growth_is_shown() -> None:
    found = [Growth("acme", "quotes", 0.9, 50), Growth("desk", "quotes", 1.1, 20)]
    assert "| quotes | 1.10 | desk | 50 |" in growth_table(found)
