"""From what a person says about a verdict to a label (pure). Command line and API share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from collector.store.labels import Label
from judge.passing import PASSING_SCORE, passed
from judge.question import Scale
from judge.verdict import Judged, Score

MAX_REASON = 4_000
MAX_AUTHOR = 200


class NotALabel(Exception):
    """What was said makes no label of this verdict; the message says why. `field` is what to mend."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Said:
    """What a person said. Without `right_label`, disagreeing means that pass should have been fail, or fail pass."""

    agrees: bool
    reason: str
    author: str
    right_label: str | None = None


def label_of(judged: Judged, said: Said, at_ns: int, scale: Scale | None, seen: Mapping[str, Set[bool]]) -> Label:
    """`scale` is the evaluator's where all its labels are known, `seen` the labels it has given so far with whether
    those verdicts passed. Raises `NotALabel`."""
    outcome, holds = judged.verdict.outcome, passed(judged.verdict)
    if not isinstance(outcome, Score) or holds is None:
        raise NotALabel("verdict", "the verdict has no score, so there is nothing to agree with")
    for field, text, most in (("reason", said.reason, MAX_REASON), ("author", said.author, MAX_AUTHOR)):
        if not text.strip():
            raise NotALabel(field, f"{field} is missing")
        if len(text) > most:
            raise NotALabel(field, f"{field} has {len(text)} characters; {most} are allowed")
    if not said.author.strip().isprintable():
        # Names are compared, by people too: one with an invisible mark would be another author.
        raise NotALabel("author", "author has characters that cannot be seen")
    right = said.right_label
    if right is not None:
        _check(right, outcome.label, said.agrees, judged.verdict.evaluator, scale)
    passes = holds if said.agrees else _passes(right, scale, seen, otherwise=not holds)
    mine = None if said.agrees else right
    return Label(judged.id, said.author.strip(), at_ns, said.agrees, passes, said.reason.strip(), mine)


def _check(right: str, given: str, agrees: bool, evaluator: str, scale: Scale | None) -> None:
    if agrees and right != given:
        raise NotALabel("label", f"the verdict says {given}, not {right}: disagree with it, or leave the label out")
    if not agrees and right == given:
        raise NotALabel("label", f"the verdict says {given} already: agree with it, or name another label")
    if scale is not None and right not in scale.values:
        raise NotALabel("label", f"{evaluator} has no label {right}; it has {', '.join(scale.labels)}")
    if not right or len(right) > MAX_AUTHOR:
        raise NotALabel("label", f"a label has 1 to {MAX_AUTHOR} characters")


def _passes(right: str | None, scale: Scale | None, seen: Mapping[str, Set[bool]], *, otherwise: bool) -> bool:
    """Whether a verdict with the right label passes; `otherwise` where that cannot be told from the label."""
    if right is None:
        return otherwise
    if scale is not None:
        return scale.values[right] >= PASSING_SCORE
    sides = seen.get(right, frozenset())
    return next(iter(sides)) if len(sides) == 1 else otherwise


def people_say(labels: Sequence[Label]) -> bool | None:
    """Whether one verdict should have passed: the newest word of each author counts, the majority decides. None when
    they are equally many on both sides, or none."""
    newest = {label.author: label for label in sorted(labels, key=lambda label: label.at_ns)}
    passes = sum(label.passes for label in newest.values())
    fails = len(newest) - passes
    return None if passes == fails else passes > fails
