"""What metrics are to count of closings, made where they are evaluated and counted in the main process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from collector.metrics import Metrics, Signal
from collector.skill_metrics import AskedFor
from collector.verdict_facts import Example, VerdictFacts, example_of, facts_of
from judge.verdict import Judged


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one closing. `closed` is the reason of one that was kept, `discarded` of one that is not; `scopes` are those
    that sent a session in which nothing was understood, None for any other."""

    closed: str | None = None
    discarded: str | None = None
    scopes: tuple[str, ...] | None = None
    lost_spans: int = 0
    lost_records: int = 0
    late_spans: int = 0
    late_records: int = 0
    skills: tuple[AskedFor, ...] = ()
    verdicts: tuple[tuple[VerdictFacts, Example], ...] = ()


NOTHING = Counts()


@dataclass(frozen=True, slots=True)
class Tally:
    """Of many closings."""

    closed: Mapping[str, int]
    discarded: Mapping[str, int]
    unrecognised: Mapping[tuple[str, ...], int]
    lost: tuple[int, int]
    """spans, records"""
    late: tuple[int, int]
    skills: Mapping[AskedFor, int]
    verdicts: Sequence[tuple[VerdictFacts, int, Example]]


def counted(judged: Iterable[Judged]) -> tuple[tuple[VerdictFacts, Example], ...]:
    return tuple((facts_of(one), example_of(one)) for one in judged)


def tally(closings: Iterable[Counts]) -> Tally:
    """The sum. Of verdicts that say the same, the last is the example."""
    every = list(closings)
    verdicts: Counter[VerdictFacts] = Counter()
    examples: dict[VerdictFacts, Example] = {}
    for one in every:
        for facts, example in one.verdicts:
            verdicts[facts] += 1
            examples[facts] = example
    return Tally(
        closed=Counter(one.closed for one in every if one.closed is not None),
        discarded=Counter(one.discarded for one in every if one.discarded is not None),
        unrecognised=Counter(one.scopes for one in every if one.scopes is not None),
        lost=(sum(one.lost_spans for one in every), sum(one.lost_records for one in every)),
        late=(sum(one.late_spans for one in every), sum(one.late_records for one in every)),
        skills=Counter(skill for one in every for skill in one.skills),
        verdicts=[(facts, count, examples[facts]) for facts, count in verdicts.items()],
    )


def count(tallied: Tally, metrics: Metrics) -> None:
    for reason, closings in tallied.closed.items():
        metrics.session_closed(reason, closings)
    for reason, closings in tallied.discarded.items():
        metrics.session_discarded(reason, closings)
    for scopes, closings in tallied.unrecognised.items():
        metrics.unrecognised(scopes, closings)
    signals: tuple[Signal, Signal] = ("traces", "logs")
    for signal, lost, late in zip(signals, tallied.lost, tallied.late, strict=True):
        metrics.undecodable(signal, lost)
        metrics.late(signal, late)
    for skill, loads in tallied.skills.items():
        metrics.skills.asked(skill, loads)
    for facts, verdicts, example in tallied.verdicts:
        metrics.verdicts(facts, verdicts, example)
