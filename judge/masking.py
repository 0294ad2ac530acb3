"""Verdicts without secrets: what they repeat of a session, masked before it leaves the process."""

from __future__ import annotations

from dataclasses import replace

from judge.redaction import Redaction
from judge.verdict import Judged, NotApplicable, NotJudged, Outcome, Score, Verdict


def masked_judged(judged: Judged, redaction: Redaction) -> Judged:
    """With every text that an agent may have had a part in masked. Ids, versions and hashes stay: others are found by
    them."""
    return replace(
        judged,
        verdict=masked_verdict(judged.verdict, redaction),
        agent=_masked(judged.agent, redaction),
        attributes={key: redaction.text(value) for key, value in judged.attributes.items()},
    )


def masked_verdict(verdict: Verdict, redaction: Redaction) -> Verdict:
    subject = verdict.subject
    named = replace(subject, name=_masked(subject.name, redaction), agent=_masked(subject.agent, redaction))
    return replace(verdict, subject=named, outcome=_outcome(verdict.outcome, redaction))


def _outcome(outcome: Outcome, redaction: Redaction) -> Outcome:
    match outcome:
        case Score(value, label, explanation):
            return Score(value, label, redaction.text(explanation))
        case NotJudged(reason, detail):
            return NotJudged(reason, redaction.text(detail))
        case NotApplicable(reason):
            return NotApplicable(redaction.text(reason))


def _masked(text: str | None, redaction: Redaction) -> str | None:
    return None if text is None else redaction.text(text)
