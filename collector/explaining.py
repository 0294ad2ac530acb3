"""For every evaluator and every case, why a session has a score from it, or none (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from collector.reading import Rules
from collector.store.store import ClosedSession
from collector.waiting import Why
from extractors.registry import UNRECOGNISED
from extractors.trajectory import Trajectory
from judge.catalog import NAMES
from judge.mismatch import mismatches
from judge.passing import COMPOSITE
from judge.suites import Case, is_about
from judge.verdict import Judged, NotApplicable, NotJudged, Score

Standing: TypeAlias = Literal[
    "score", "not_applicable", "filtered_out", "waiting", "not_judged", "disabled", "no_verdict", "does_not_match"
]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why there is a score, or none. `of` is the evaluator, or the case as `suite/case`; `reason` is that of a
    `NotJudged`, else empty; `why` is for people. `judged` is the verdict that says so, where one does; `cause` is the
    reason of what holds up a question that waits."""

    of: str
    standing: Standing
    why: str
    reason: str = ""
    judged: Judged | None = None
    cause: str = ""


def explain_evaluators(
    session: ClosedSession,
    verdicts: Sequence[Judged],
    rules: Rules,
    waiting: Mapping[str, Why],
    known: Iterable[str] = NAMES,
) -> list[Reason]:
    """One for each verdict, and one for each evaluator without any: of those there are, those that `rules` enable,
    and those that judged this session and are gone. `waiting` says why open questions are open, by their ids; `known`
    names all that could be enabled."""
    enabled = {evaluator.id: evaluator.version for evaluator in rules.evaluators}
    by_name: dict[str, list[Judged]] = {}
    for judged in verdicts:
        by_name.setdefault(judged.verdict.evaluator, []).append(judged)
    found: list[Reason] = []
    for name in dict.fromkeys([*known, *enabled, COMPOSITE, *by_name]):
        mine = by_name.get(name, [])
        found += [_of_verdict(judged, enabled.get(name), waiting) for judged in mine]
        if not mine:
            found.append(_without(name, session, name in enabled, verdicts))
    return found


def explain_cases(
    session: ClosedSession, verdicts: Sequence[Judged], cases: Iterable[Case], waiting: Mapping[str, Why]
) -> list[Reason]:
    """One for each case and verdict on it, and one for each case without any. Those of cases that are gone from the
    suites are told too."""
    by_case: dict[str, list[Judged]] = {}
    for judged in verdicts:
        if judged.verdict.case is not None:
            by_case.setdefault(judged.verdict.case, []).append(judged)
    found: list[Reason] = []
    known: set[str] = set()
    for case in cases:
        known.add(case.key)
        mine = by_case.get(case.key, [])
        found += [_of_case(case.key, judged, waiting) for judged in mine] or [_case_without(case, session)]
    for key, mine in by_case.items():
        if key not in known:
            found += [_of_case(key, judged, waiting) for judged in mine]
    return found


def _of_case(key: str, judged: Judged, waiting: Mapping[str, Why]) -> Reason:
    told = _of_verdict(judged, None, waiting)
    return replace(told, of=key, why=f"{judged.verdict.evaluator}: {told.why}")


def _case_without(case: Case, session: ClosedSession) -> Reason:
    trajectory = session.trajectory
    if why := _unreadable(session):
        return Reason(case.key, "no_verdict", why)
    if trajectory is not None and not is_about(case.match, trajectory):
        return Reason(case.key, "does_not_match", "; ".join(mismatches(case.match, trajectory)))
    return Reason(
        case.key,
        "no_verdict",
        "the case is about this session, but gave no verdict: it came into the suites after the session closed, or the "
        "evaluators of what it asks are disabled",
    )


def _of_verdict(judged: Judged, version_now: str | None, waiting: Mapping[str, Why]) -> Reason:
    verdict = judged.verdict
    drift = ""
    if version_now is not None and version_now != verdict.evaluator_version:
        drift = f" (by version {verdict.evaluator_version}; this configuration has {version_now})"
    match verdict.outcome:
        case Score(value, label, explanation):
            told = f"{label} {value:.2f}: {explanation}" if explanation else f"{label} {value:.2f}"
            return Reason(verdict.evaluator, "score", told + drift, judged=judged)
        case NotApplicable(reason):
            left_out = reason.startswith(_FILTERED_OUT)
            return Reason(
                verdict.evaluator, "filtered_out" if left_out else "not_applicable", reason + drift, judged=judged
            )
        case NotJudged("pending", detail):
            why = waiting.get(judged.id) or Why(detail)
            return Reason(verdict.evaluator, "waiting", why.told + drift, "pending", judged, why.cause)
        case NotJudged(reason, detail):
            return Reason(verdict.evaluator, "not_judged", (detail or reason) + drift, reason, judged)


_FILTERED_OUT = "filtered out by evaluators."  # as judge.configured words it


def _without(name: str, session: ClosedSession, enabled: bool, verdicts: Sequence[Judged]) -> Reason:
    if why := _unreadable(session):
        return Reason(name, "no_verdict", why)
    if name == COMPOSITE:
        return Reason(name, "no_verdict", _composite(verdicts))
    if not enabled:
        return Reason(name, "disabled", f"evaluators.{name}.enabled is false in this configuration")
    return Reason(
        name, "no_verdict", "it was not enabled, or not there yet, when the session closed; later sessions are judged"
    )


def _composite(verdicts: Sequence[Judged]) -> str:
    open_questions = sum(
        isinstance(one.verdict.outcome, NotJudged) and one.verdict.outcome.reason == "pending" for one in verdicts
    )
    if open_questions:
        return f"it follows from all other verdicts, and {open_questions} of them wait for a judge"
    return "it follows from other verdicts, and none of them applied, or the session closed before there was one"


def _unreadable(session: ClosedSession) -> str:
    """Why nothing at all was judged, "" when something could be."""
    trajectory: Trajectory | None = session.trajectory
    if not session.judged:
        return f"the session was not judged: {session.note or 'it was kept to be looked at'}"
    if trajectory is None:
        return f"the session could not be read: {session.note}"
    if trajectory.harness == UNRECOGNISED:
        return "nothing in the session was recognised; spanjudge inspect --stored shows what came"
    return ""
