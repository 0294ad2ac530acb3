"""Judge recorded sessions as the server does, without a journal and without publishing: the same evaluators, suites
and composite. `offline_asking` puts the questions to a judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from collector.attribution import attribute
from collector.concluding import conclude
from collector.store.baselines import KeptSession
from collector.store.store import ClosedSession, PendingQuestion
from extractors.trajectory import Trajectory
from judge.case_results import JudgedSession
from judge.catalog import BUILT_IN, Evaluator, plan_all
from judge.composite import CompositeRules
from judge.question import unanswered
from judge.suites import Case, Suite, expectations_for
from judge.verdict import Judged, Score, Verdict

RECORDING = "recording"
"""The close reason of a session that was read from a file."""

ALWAYS_ASKING = frozenset(name for name, entry in BUILT_IN.items() if entry.prompt and "ask" not in entry.takes)
"""Evaluators that are nothing without a judge."""


@dataclass(frozen=True, slots=True)
class Examined:
    """A session, what code found about it, what a judge would have to be asked, and the cases it falls under.
    `defects` are errors of evaluators, by name; each has a verdict too."""

    session: ClosedSession
    verdicts: tuple[Judged, ...]
    questions: tuple[PendingQuestion, ...]
    cases: tuple[Case, ...]
    defects: tuple[tuple[str, Exception], ...] = ()


def examine(
    session: ClosedSession,
    trajectory: Trajectory,
    suites: Sequence[Suite],
    evaluators: Sequence[Evaluator],
    now_ns: int,
) -> Examined:
    """What the server does with a session that has closed, up to the questions."""
    cases = expectations_for(trajectory, suites)
    plan = plan_all(trajectory, cases, evaluators)

    def judged(verdict: Verdict) -> Judged:
        return attribute(
            verdict,
            trajectory,
            session.ref,
            close_reason=session.close_reason,
            inclusion_probability=session.inclusion_probability,
            judged_ns=now_ns,
        )

    questions = []
    for question in plan.questions:
        draft = judged(unanswered(question, "pending", "the judge did not answer in time"))
        questions.append(PendingQuestion(draft.id, question, draft, created_ns=now_ns, next_ns=now_ns))
    return Examined(session, tuple(map(judged, plan.verdicts)), tuple(questions), cases, plan.errors)


def by_code(evaluators: Sequence[Evaluator], rubrics: Sequence[str]) -> tuple[Evaluator, ...]:
    """Those that find something without a judge. `rubrics` are ids of criteria that only a judge can decide."""
    return tuple(one for one in evaluators if one.id not in ALWAYS_ASKING and one.id not in rubrics)


def with_earlier_answers(examined: Examined, earlier: Sequence[Judged], evaluators: frozenset[str]) -> Examined:
    """With the scores that a judge gave the same closing before, of these evaluators: they need not be asked for
    again."""
    ids = {one.id for one in examined.verdicts}
    found = [
        one
        for one in earlier
        if one.verdict.evaluator in evaluators and isinstance(one.verdict.outcome, Score) and one.id not in ids
    ]
    return replace(examined, verdicts=(*examined.verdicts, *found))


def concluded(examined: Examined, rules: CompositeRules) -> KeptSession:
    """With the composites, and without what nobody was asked."""
    return KeptSession(examined.session, (*examined.verdicts, *conclude(examined.verdicts, rules)))


def judged_session(kept: KeptSession, cases: Sequence[Case] = ()) -> JudgedSession:
    """What gates look at."""
    session = kept.session
    verdicts = tuple(one.verdict for one in kept.verdicts)
    return JudgedSession(session.ref, session.trajectory, verdicts, tuple(case.key for case in cases))
