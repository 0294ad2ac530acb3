"""Text of agents on a terminal."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from collector.commands.terminal import duration, recorded, safe, short, styled


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("one\r\ntwo\nthree", "one ⏎ two ⏎ three"),
        ("\x9b31m", "\\x9b31m"),
        ("half \ud800 pair", "half \\ud800 pair"),
        ("füße 👩‍🚀", "füße 👩‍🚀"),
    ],
)
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    assert safe(text) == shown


@given(text=st.text())
def test_whatever_an_agent_wrote_is_one_printable_line(text: str) -> None:
    line = safe(text)
    assert all(ord(character) >= 0x20 and not 0x7F <= ord(character) < 0xA0 for character in line)
    assert len(line.splitlines()) <= 1


def test_markup_in_a_text_is_printed_as_it_is() -> None:
    stream = io.StringIO()
    Console(file=stream, width=80).print(styled(safe("[bold red]no[/] :smile:")))
    assert stream.getvalue().strip() == "[bold red]no[/] :smile:"


def test_a_cut_text_says_how_much_is_missing() -> None:
    assert short("x" * 50, 10) == "x" * 10 + "… (40 more characters)"
    assert short("x" * 10, 10) == "x" * 10


def test_not_recorded_and_empty_are_different_facts() -> None:
    assert recorded(None) == "not recorded"
    assert recorded("") == "(empty)"


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(0, "0 ms"), (850_000_000, "850 ms"), (3_200_000_000, "3.2 s"), (245 * 10**9, "4 min 05 s")],
)
def test_a_duration_reads_well(nanoseconds: int, text: str) -> None:
    assert duration(nanoseconds) == text
