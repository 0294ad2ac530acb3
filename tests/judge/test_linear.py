"""Which regular expressions of strangers are run."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.linear import MOST_WAYS, bounded_pattern, ways


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-z0-9-]+$",
        r"^\d{4}-\d{2}-\d{2}$",
        r"^(EUR|USD|GBP)$",
        r"^[A-Z]{2,3}-[0-9]+$",
        r"^(?:a|b)?c$",
        r"^[^\]\\]*$",
        r"refund",
    ],
)
def test_what_tool_definitions_usually_ask_for_is_run(pattern: str) -> None:
    assert bounded_pattern(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(a+)+$",
        r"^(a|a)*$",
        r"^(?:a{1,9}){1,9}$",
        r"^a*a*a*$",
        r"a*a*",
        "a?" * 30,
        r"^a{0,90}" + r"a{0,90}" * 5,
        r"^(?=a)b",
        r"(?P<x>a)",
        r"(a)\1",
        r"[",
        r"\p{L}",
        "a" * 301,
        "a{99999999999999999999}",
    ],
)
def test_what_could_explode_or_is_broken_is_not(pattern: str) -> None:
    assert bounded_pattern(pattern) is None


@given(st.text(alphabet="ab^$()[]{}*+?|\\,019.-:", max_size=60))
def test_any_text_is_run_or_refused_without_a_warning_and_what_is_run_is_bounded(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        taken = bounded_pattern(pattern)
    if taken is not None:
        assert ways(pattern) <= MOST_WAYS


def test_classes_mean_ascii() -> None:
    digits = bounded_pattern(r"^\d+$")
    assert digits
    assert digits.search("12")
    assert not digits.search("١٢")
