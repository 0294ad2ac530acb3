"""When a verdict counts as passed: in summaries, in rates, at gates."""

from __future__ import annotations

from judge.verdict import NotJudged, Score, Verdict

PASSING_SCORE = 0.5
"""A score from here on counts as passed, but for evaluators that say so themselves."""

COMPOSITE = "composite"
PASS, FAIL = "pass", "fail"
"""The labels of the composite, which decide there: a total of 0.8 may be a failure."""


def passed(verdict: Verdict) -> bool | None:
    """None for a verdict without a score."""
    match verdict.outcome:
        case Score(value, label, _):
            return label == PASS if verdict.evaluator == COMPOSITE else value >= PASSING_SCORE
    return None


def standing(verdict: Verdict) -> int:
    """What to look at first: 0 for failures, 1 for what has no score, 2 for what passed, 3 for what does not apply."""
    match verdict.outcome:
        case Score():
            return 2 if passed(verdict) else 0
        case NotJudged():
            return 1
        case _:
            return 3
