"""Pieces of arguments, errors and answers in explanations: short, on one line, and without half a secret."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from judge.describe import SHORT, shorten

TOKEN = "ghp" + "_" + "x9" * 18


def test_a_short_text_stays_on_one_line() -> None:
    assert shorten("  the printer\n is out of\tpaper ") == "the printer is out of paper"


def test_a_long_text_is_cut_between_words_and_the_rest_is_counted() -> None:
    text = "paper jam " * 40
    shown = shorten(text)
    assert shown == f"{text[:160]}… (240 more characters)"
    assert shorten("12345 " * 50) == f"{'12345 ' * 26}… (144 more characters)"
    assert shorten("x" * 200) == "… (200 more characters)"


def test_a_secret_at_the_cut_is_masked_and_its_mark_is_whole_or_not_there() -> None:
    for before in range(80, 200):
        shown = shorten("." * before + f" {TOKEN} " + "." * 200)
        assert "x9x9" not in shown
        assert shown.count("<redacted") == shown.count('<redacted kind="github-token"/>')


def test_a_text_that_is_short_once_its_secret_is_masked_is_not_said_to_go_on() -> None:
    assert shorten("." * 100 + f" {TOKEN}{'x9' * 50}") == "." * 100 + ' <redacted kind="github-token"/>'


@given(st.text(max_size=1500))
def test_what_is_left_is_short(text: str) -> None:
    shown, _, rest = shorten(text).partition("… (")
    assert len(shown) <= SHORT
    assert "\n" not in shown
    if not rest:
        assert shown == " ".join(text.split())
