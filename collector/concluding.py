"""What follows from all verdicts of one closing, once the last of them is in: the composite of each case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from collector.store.stand_ins import VERDICT_UNREADABLE
from judge.composite import PARTS, USUAL, CompositeRules, composites
from judge.verdict import Judged, NotJudged, Score, verdict_id

_BY_CASE = frozenset(name for source in PARTS.values() for name in source.by_case)


def _nothing(_verdicts: Sequence[Judged]) -> Sequence[Judged]:
    return ()


def _tell_nobody(_verdicts: Sequence[Judged]) -> None:
    """For a store that nobody watches."""


@dataclass(frozen=True, slots=True)
class Concluding:
    """What a store does when all verdicts of a closing are in. `follows` gives what to keep beside them; it is pure,
    and called where the last of them is kept, perhaps twice. `told` is given what was kept, once it is on disk."""

    follows: Callable[[Sequence[Judged]], Sequence[Judged]]
    told: Callable[[Sequence[Judged]], None] = _tell_nobody


NOTHING_FOLLOWS = Concluding(_nothing)


def composites_for(rules: CompositeRules, told: Callable[[Judged], None]) -> Concluding:
    """The composites by these rules."""

    def tell(verdicts: Sequence[Judged]) -> None:
        for judged in verdicts:
            told(judged)

    return Concluding(lambda verdicts: conclude(verdicts, rules), tell)


def conclude(verdicts: Sequence[Judged], rules: CompositeRules = USUAL) -> tuple[Judged, ...]:
    """The composites, attributed as the verdicts on the session are, at the time of the last verdict. Doing it again
    gives the same ids."""
    if not verdicts:
        return ()
    missing = _missing(verdicts)
    like = next((one for one in verdicts if one.verdict.subject.kind == "session"), verdicts[0])
    judged_ns = max(one.judged_ns for one in verdicts)
    return tuple(
        replace(
            like,
            id=verdict_id(like.session, verdict),
            verdict=verdict,
            judged_ns=judged_ns,
            skill_version=None,
            attributes={},
        )
        for verdict in (
            replace(found, outcome=missing) if missing and isinstance(found.outcome, Score) else found
            for found in composites([one.verdict for one in verdicts], rules)
        )
    )


def _missing(verdicts: Sequence[Judged]) -> NotJudged | None:
    """Why no total can be told: of a verdict on a case that cannot be read nobody knows which case it was."""
    for one in verdicts:
        match one.verdict.outcome:
            case NotJudged(reason, detail) if reason == VERDICT_UNREADABLE and one.verdict.evaluator in _BY_CASE:
                return NotJudged(reason, f"{one.verdict.evaluator}: {detail}")
    return None
