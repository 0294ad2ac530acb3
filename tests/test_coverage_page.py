"""docs/harnesses.md is what the fixtures show, and says what to set wherever something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from extractors.coverage import Coverage, Level, Signal, Tally
from extractors.registry import CONVENTIONS, HARNESSES, settings_of
from tests.coverage_page import Recorded, by_mode, page, recorded

PAGE = Path(__file__).parents[1] / "docs" / "harnesses.md"
FOUND = recorded()


def told(**known: Tally) -> Coverage:
    return {signal: known.get(signal.name, Tally()) for signal in Signal}


def test_the_page_is_current() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(FOUND), "write it anew: python -m tests.coverage_page > docs/harnesses.md"


@pytest.mark.parametrize("harness", [one.NAME for one in (*HARNESSES, *CONVENTIONS)])
def test_the_settings_speak_of_every_signal_that_some_mode_lacks(harness: str) -> None:
    modes = by_mode(FOUND, harness)
    assert modes, "there is no fixture of this harness"
    lacking = {
        signal
        for found in modes.values()
        for signal, tally in found.items()
        if tally.level in {Level.PARTLY, Level.NOT_RECORDED}
    }
    assert lacking <= {signal for setting in settings_of(harness) for signal in setting.signals}


def test_a_mode_is_a_column_of_all_its_fixtures() -> None:
    found = [
        Recorded("strands", "plain", told(PROMPTS=Tally(1, 1))),
        Recorded("strands", "plain", told(PROMPTS=Tally(0, 1))),
        Recorded("strands", "full", told(PROMPTS=Tally(1, 1))),
        Recorded("codex", "full", told()),
    ]
    assert [(mode, one[Signal.PROMPTS]) for mode, one in by_mode(found, "strands").items()] == [
        ("full", Tally(1, 1)),
        ("plain", Tally(1, 2)),
    ]
    text = page(found)
    assert "| | full | plain |" in text
    assert "| prompts | recorded | partly |" in text
    assert "## codex" in text
    assert "## gemini_cli" not in text
