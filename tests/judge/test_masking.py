"""Verdicts leave without the secrets that they repeat, and are found by the same ids."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judge.masking import masked_judged
from judge.redaction import NOTHING, Redaction
from judge.verdict import NotApplicable, NotJudged, Outcome, Score
from tests.fakes.verdicts import judged

TOKEN = "ghp" + "_" + "x9" * 18
MARK = '<redacted kind="github-token"/>'


@pytest.mark.parametrize(
    ("outcome", "masked"),
    [
        (Score(0.0, "No", f"called {TOKEN}"), Score(0.0, "No", f"called {MARK}")),
        (NotJudged("pending", TOKEN), NotJudged("pending", MARK)),
        (NotApplicable(TOKEN), NotApplicable(MARK)),
    ],
)
def test_what_is_told_of_a_session_is_masked_and_nothing_else(outcome: Outcome, masked: Outcome) -> None:
    before = replace(judged(outcome=outcome, skill=TOKEN), agent=TOKEN, attributes={"note": TOKEN})
    after = masked_judged(before, Redaction())
    subject = replace(before.verdict.subject, name=MARK)
    verdict = replace(before.verdict, outcome=masked, subject=subject)
    assert after == replace(before, agent=MARK, attributes={"note": MARK}, verdict=verdict)
    assert masked_judged(before, NOTHING) == before
