"""What became of the questions that a command put to the judge (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.offline import Examined
from judge.describe import plural
from judge.gates import Gate, Status
from judge.verdict import NotJudged

JUDGE_GATE = "judge"


@dataclass(frozen=True, slots=True)
class Silence:
    """Questions of one evaluator that have no usable answer, for one reason; `detail` is that of the first of them."""

    evaluator: str
    count: int
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.evaluator}: {self.count} x {self.reason}{f' ({self.detail})' if self.detail else ''}"


@dataclass(frozen=True, slots=True)
class Asked:
    """`questions` by evaluator, and those of them that were not answered."""

    questions: Mapping[str, int]
    silences: tuple[Silence, ...]

    @property
    def total(self) -> int:
        return sum(self.questions.values())

    @property
    def answered(self) -> int:
        return self.total - sum(one.count for one in self.silences)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why there are no answers, the most frequent first."""
        counts: Counter[str] = Counter()
        for one in self.silences:
            counts[one.reason] += one.count
        return tuple(reason for reason, _ in counts.most_common())

    @property
    def mute(self) -> tuple[str, ...]:
        """Evaluators without a single answer."""
        silent: Counter[str] = Counter()
        for one in self.silences:
            silent[one.evaluator] += one.count
        return tuple(name for name, count in self.questions.items() if silent[name] == count)


def asked_about(before: Sequence[Examined], after: Sequence[Examined]) -> Asked:
    """From the same sessions before and after asking."""
    questions: Counter[str] = Counter()
    silences: dict[tuple[str, str], Silence] = {}
    for asked, found in zip(before, after, strict=True):
        outcomes = {one.id: one.verdict.outcome for one in found.verdicts}
        for pending in asked.questions:
            name = pending.question.evaluator
            questions[name] += 1
            match outcomes.get(pending.id, NotJudged("judge_unavailable", "there is no verdict")):
                case NotJudged(reason, detail):
                    known = silences.get((name, reason))
                    count = known.count + 1 if known else 1
                    silences[name, reason] = Silence(name, count, reason, known.detail if known else detail)
    return Asked(dict(questions), tuple(silences.values()))


def judge_gate(asked: Asked) -> Gate:
    """Whether the judge said enough for the other gates to mean anything: something of every evaluator's questions."""
    total = plural(asked.total, "question")
    details = tuple(map(str, asked.silences))
    if not asked.total:
        return Gate(JUDGE_GATE, Status.NOT_APPLICABLE, "there was nothing to ask")
    if not asked.answered:
        return Gate(JUDGE_GATE, Status.UNDECIDED, f"none of {total} was answered", details)
    text = f"{asked.answered} of {total} answered"
    if asked.mute:
        return Gate(JUDGE_GATE, Status.UNDECIDED, f"{text}, and none of {', '.join(asked.mute)}", details)
    return Gate(JUDGE_GATE, Status.PASSED, text, details)
