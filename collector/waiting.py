"""Why a stored question has no answer yet, in words (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from collector.store.obstacles import Obstacle, OpenQuestion, Told
from judge.describe import plural

_UNITS = (("day", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


@dataclass(frozen=True, slots=True)
class Why:
    """`cause` is the reason of what is in the way, as in a `NotJudged`; "" where nothing is known to be."""

    told: str
    cause: str = ""


def why_open(question: OpenQuestion, told: Told | None, now_ns: int) -> Why:
    """Attempts, next try, and the cause as far as the process that asks has said it."""
    waited = f"waiting for a judge for {_length(now_ns - question.created_ns)}"
    if question.asked:
        met = f", the last met {question.trouble}" if question.trouble else ""
        attempts = f"{plural(question.asked, 'attempt')} failed{met}"
    else:
        attempts = "no attempt counted against it yet"
    known = (waited, attempts)
    if question.in_batch:
        return Why("; ".join((*known, "on its way in a message batch")))
    obstacle = _in_the_way(question, told)
    if told is None or obstacle is None:
        return Why("; ".join((*known, _next(question.next_ns, now_ns, "its turn comes after those before it"))))
    said = f"held up by {obstacle.reason}: {obstacle.detail} (said {_length(now_ns - told.at_ns)} ago)"
    until_ns = max(question.next_ns, obstacle.until_ns or 0)
    return Why("; ".join((*known, said, _next(until_ns, now_ns, "tried again at any moment"))), obstacle.reason)


def _in_the_way(question: OpenQuestion, told: Told | None) -> Obstacle | None:
    found = told.obstacles if told else ()
    mine = (one for one in found if one.concerns(question.evaluator, question.model, high_risk=question.high_risk))
    return next(mine, None)


def _next(at_ns: int, now_ns: int, otherwise: str) -> str:
    return f"next try in {_length(at_ns - now_ns)}" if at_ns > now_ns else otherwise


def _length(nanoseconds: int) -> str:
    """`40 s`, `12 min`, `3 h`, `2 days`: the largest unit of which there are two, or seconds."""
    seconds = max(0, round(nanoseconds / 1e9))
    unit, length = next(((unit, length) for unit, length in _UNITS if seconds >= 2 * length), _UNITS[-1])
    count = seconds // length
    return plural(count, unit) if unit == "day" else f"{count} {unit}"
