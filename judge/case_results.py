"""What became of each case in each session: right, wrong, or not judged, and why."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from extractors.trajectory import Trajectory
from judge.composite import ADHERENCE, USUAL, CompositeRules, composite, part
from judge.passing import COMPOSITE, PASS, passed
from judge.significance import Count
from judge.verdict import NotApplicable, NotJudged, Score, SessionRef, Verdict
from judge.yardstick import Yardstick, yardstick_of

M = TypeVar("M", bound=Hashable)

FORBIDDEN = "forbidden_events"
BROKEN: Mapping[str, frozenset[str]] = {
    FORBIDDEN: frozenset({"violated"}),
    "budgets": frozenset({"over"}),
    "step_efficiency": frozenset({"over_budget", "loop"}),
}
"""Expectations of a case that the composite knows nothing of, and the labels that say that they were not met."""


@dataclass(frozen=True, slots=True)
class JudgedSession:
    """One session with its verdicts. `trajectory` is None where none could be read; `cases` are the keys
    (`suite/case`) of the cases it falls under, as far as they are known beyond what verdicts name."""

    ref: SessionRef
    trajectory: Trajectory | None
    verdicts: tuple[Verdict, ...]
    cases: tuple[str, ...] = ()


class Standing(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_JUDGED = "not_judged"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case in one session. `total` and `adherence` are 0..1, None where there is none; `reasons` say why it did
    not pass. `adherence_unknown` says why adherence was to be judged and was not, "" where it was, or does not
    apply."""

    case: str
    session: SessionRef
    standing: Standing
    high_risk: bool
    total: float | None
    adherence: float | None
    reasons: tuple[str, ...]
    adherence_unknown: str = ""


def case_results(
    sessions: Iterable[JudgedSession], high_risk: frozenset[str] = frozenset(), rules: CompositeRules = USUAL
) -> tuple[CaseResult, ...]:
    """Every case of every session, in their order. `high_risk` are keys of cases of high risk, beyond those whose
    verdicts say so."""
    return tuple(
        _result(session, case, high_risk, rules) for session in sessions for case in cases_of(session.verdicts, session)
    )


def cases_of(verdicts: Sequence[Verdict], session: JudgedSession) -> list[str]:
    named = (verdict.case for verdict in verdicts if verdict.case is not None)
    return list(dict.fromkeys((*session.cases, *named)))


def _result(session: JudgedSession, case: str, high_risk: frozenset[str], rules: CompositeRules) -> CaseResult:
    verdicts = session.verdicts
    own = [verdict for verdict in verdicts if verdict.case == case]
    whole = next((verdict for verdict in own if verdict.evaluator == COMPOSITE), None)
    whole = whole or composite(verdicts, case, rules)
    wrong, unknown = list(_wrong(own)), list(_unknown(own))
    total = None
    match whole.outcome:
        case Score(value, label, explanation):
            total = value
            if label != PASS:
                wrong.insert(0, explanation)
        case NotJudged(_, detail):
            unknown.insert(0, detail)
        case NotApplicable(reason):
            if not any(isinstance(verdict.outcome, Score) for verdict in own if verdict.evaluator in BROKEN):
                unknown.insert(0, reason)
    standing = Standing.FAILED if wrong else Standing.NOT_JUDGED if unknown else Standing.PASSED
    risky = case in high_risk or any(verdict.high_risk for verdict in own)
    adherence, missing = _adherence(verdicts, case)
    return CaseResult(case, session.ref, standing, risky, total, adherence, tuple(wrong or unknown), missing)


def _adherence(verdicts: Sequence[Verdict], case: str) -> tuple[float | None, str]:
    """The value, None without one, and why it was not judged, "" unless it was to be."""
    match part(verdicts, case, ADHERENCE):
        case None:
            return None, ""
        case NotJudged(_, detail):
            return None, detail
        case found:
            return found.value, ""


def _wrong(verdicts: Iterable[Verdict]) -> Iterator[str]:
    for verdict in verdicts:
        match verdict.outcome:
            case Score(_, label, explanation) if label in BROKEN.get(verdict.evaluator, ()):
                yield f"{verdict.evaluator}: {explanation}"


def _unknown(verdicts: Iterable[Verdict]) -> Iterator[str]:
    for verdict in verdicts:
        match verdict.outcome:
            case NotJudged(reason, detail) if verdict.evaluator in BROKEN:
                yield f"{verdict.evaluator}: {detail or reason}"


def session_counts(sessions: Iterable[JudgedSession]) -> dict[str, Count]:
    """By evaluator, whatever it measured by: what `session_rates` counts apart may be of one session."""
    return _sessions_by(sessions, lambda verdict: verdict.evaluator)


def session_rates(sessions: Iterable[JudgedSession]) -> dict[Yardstick, Count]:
    """Sessions in which all scored verdicts of one yardstick passed, and others with a score. A session counts once:
    its calls are not independent of each other, and a test that took them for it would see too much. One in which a
    question was left unanswered and nothing failed is in neither: nobody knows whether it passed."""
    return _sessions_by(sessions, yardstick_of)


def _sessions_by(sessions: Iterable[JudgedSession], measured_by: Callable[[Verdict], M]) -> dict[M, Count]:
    counts: dict[M, Count] = {}
    for session in sessions:
        good: dict[tuple[str, M], bool] = {}
        for verdict in session.verdicts:
            if (found := passed(verdict)) is not None:
                key = verdict.evaluator, measured_by(verdict)
                good[key] = good.get(key, True) and found
        unanswered = {verdict.evaluator for verdict in session.verdicts if is_unanswered(verdict)}
        for (evaluator, measure), right in good.items():
            if not (right and evaluator in unanswered):
                counts[measure] = counts.get(measure, Count()) + (Count(1, 0) if right else Count(0, 1))
    return counts


def is_unanswered(verdict: Verdict) -> bool:
    """Whether a judge was to be asked, and did not answer."""
    return isinstance(verdict.outcome, NotJudged) and verdict.prompt_version is not None


def verdict_rates(verdicts: Iterable[Verdict]) -> dict[Yardstick, Count]:
    """Verdicts that passed and failed, each counted; for rates that are watched, not tested."""
    counts: dict[Yardstick, Count] = {}
    for verdict in verdicts:
        if (found := passed(verdict)) is not None:
            one = yardstick_of(verdict)
            counts[one] = counts.get(one, Count()) + Count(int(found), int(not found))
    return counts
