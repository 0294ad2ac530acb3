"""Strands Evals and we tell fixtures alike, or somebody has said why not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.differential.differences import differences, explanations, idle, unexplained
from tests.differential.page import page
from tests.differential.readings import PEER_PYTHON, ROOT, Reading, our_readings, sessions, their_readings
from tests.integrations import require

Readings = tuple[Mapping[str, Reading], Mapping[str, Reading]]


@pytest.fixture(scope="module")
def readings() -> Readings:
    require("differential", PEER_PYTHON.exists(), "make differential")
    found = sessions()
    return our_readings(found), their_readings(found)


@pytest.mark.integration("differential")
def test_every_difference_is_explained(readings: Readings) -> None:
    left = unexplained(differences(*readings), explanations())
    assert not left, "read these fixtures, then mend the extractor or add to explanations.yaml:\n" + "\n".join(
        f"{one.scenario}: {one.signal}, {one.kind}\n  we: {one.ours}\n  they: {one.theirs}" for one in left
    )


@pytest.mark.integration("differential")
def test_every_explanation_still_applies(readings: Readings) -> None:
    assert idle(differences(*readings), explanations()) == []


@pytest.mark.integration("differential")
def test_the_page_is_current(readings: Readings) -> None:
    text = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
    assert text == page(*readings, explanations()), (
        "write it anew: python -m tests.differential.page > docs/differences.md"
    )


@pytest.mark.integration("differential")
def test_the_other_reader_reads_what_it_was_made_for(readings: Readings) -> None:
    # Else a broken hand-over would look like a reader that knows nothing, and all would be explained.
    _, theirs = readings
    assert theirs["strands/two-turns"]["catalog"] == ["allergen-card", "sourdough-schedule"]
    assert [load["outcome"] for load in theirs["strands/refused-unknown-name"]["loads"]] == ["failed"]
    assert {one["mapper"] for one in theirs.values()} >= {
        "ADKOtelSessionMapper",
        "GenericGenAISessionMapper",
        "LangChainOtelSessionMapper",
        "OpenInferenceSessionMapper",
        "StrandsInMemorySessionMapper",
    }
