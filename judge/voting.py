"""Several answers to one question: what most of them say, and how many say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from judge.question import Answer, Question, settle
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, Verdict


def settle_votes(question: Question, answers: Sequence[Answer]) -> Verdict:
    """The verdict of `question.votes` askings, of which some may have brought no answer.

    An outcome counts when more than half of all votes have it, missing ones included; `Verdict.agreement` is its share
    of the votes. Otherwise nothing is judged: `votes_disagree`, `votes_missing` or `answer_malformed`. Tokens are those
    of all answers. With one vote this is `settle`, without an agreement. Raises `ValueError` when there is no
    answer at all: `unanswered` says why.
    """
    if not answers:
        raise ValueError("no answer to settle")
    verdicts = [settle(question, answer) for answer in answers]
    if question.votes <= 1:
        return verdicts[0]
    counts = Counter(_choice(verdict.outcome) for verdict in verdicts)
    counts.pop(None, None)  # an answer out of form is no vote
    choice, count = counts.most_common(1)[0] if counts else (None, 0)
    agreed = [verdict for verdict in verdicts if choice is not None and _choice(verdict.outcome) == choice]
    won = count * 2 > question.votes
    outcome = _together([verdict.outcome for verdict in agreed], question) if won else _disagree(question, counts)
    return replace(
        agreed[0] if agreed else verdicts[0],
        outcome=outcome,
        agreement=count / question.votes if won else None,
        input_tokens=sum(verdict.input_tokens for verdict in verdicts),
        output_tokens=sum(verdict.output_tokens for verdict in verdicts),
    )


def _choice(outcome: Outcome) -> str | None:
    """What an answer votes for; None for an answer that cannot be used."""
    match outcome:
        case Score(label=label):
            return label
        case NotApplicable():
            return "not applicable"
    return None


def _together(outcomes: Sequence[Outcome], question: Question) -> Outcome:
    """One outcome of those that agree. Shares under one label may differ: the middle one stands for them."""
    scores = sorted((one for one in outcomes if isinstance(one, Score)), key=lambda score: score.value)
    if not scores:
        return outcomes[0]
    middle = scores[(len(scores) - 1) // 2]
    # Of equal scores the first answer's reasoning is shown, so that the order of sorting never decides.
    first = next(one for one in outcomes if isinstance(one, Score) and one.value == middle.value)
    return replace(first, explanation=f"{len(scores)} of {question.votes} votes agree. {first.explanation}")


def _disagree(question: Question, counts: Counter[str | None]) -> NotJudged:
    told = [f"{count} {label}" for label, count in sorted(counts.items(), key=str)]
    if missing := question.votes - counts.total():
        told.append(f"{missing} without a usable answer")
    # With nobody of another mind, the judge is not of two: answers are missing, or none was in form.
    reason = "votes_disagree" if len(counts) > 1 else "votes_missing" if counts else "answer_malformed"
    return NotJudged(reason, f"of {question.votes} votes: {', '.join(told)}")
