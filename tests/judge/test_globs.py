"""Patterns: a star is any text, and nothing else is special."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.globs import contains, matches


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("abc", "abc", True),
        ("abc", "abcd", False),
        ("a*", "a", True),
        ("*c", "abc", True),
        ("*", "", True),
        ("a*a", "a", False),
        ("a*b*c", "a-b-b-c", True),
        ("*ab*ab*", "ab", False),
        ("[a-z].+", "[a-z].+", True),
        ("[a-z].+", "q", False),
        (r"a\*", "a*", True),
        (r"a\*", "ab", False),
        (r"a\\", "a\\", True),
        ("line*end", "line\nend", True),
        ("", "", True),
        ("", "a", False),
        ("A", "a", False),
    ],
)
def test_a_pattern_fits_the_whole_text(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) is expected


@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_it_agrees_with_shell_patterns_on_stars(pattern: str, text: str) -> None:
    assert matches(pattern, text) == fnmatch.fnmatchcase(text, pattern)


def test_a_hostile_pattern_on_a_long_text_is_answered() -> None:
    assert not matches("*a" * 200 + "*b", "a" * 100_000)


def test_contains_ignores_case_and_kinds_of_white_space() -> None:
    assert contains("Refund  Policy", "our refund\npolicy says")
    assert not contains("refunds", "our refund")
