"""From a claim to what is to be kept: rows, session, trajectory, the verdicts of code, the questions for a judge.

Reading is slow (disk, decoding) and runs in a thread; it changes nothing and can be done again with the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from collector.attribution import attribute
from collector.clock import Clock
from collector.placing import Places
from collector.sampling import Included, SampledOut, SamplingRules, decide
from collector.sessions.assembly import absorbed, assemble
from collector.sessions.book import Claim
from collector.sessions.gathering import MOST_BYTES, Chains, Gathered, gather
from collector.sessions.keys import SessionNames
from collector.store.store import PendingQuestion
from extractors.registry import extract
from extractors.spans import Session
from extractors.trajectory import Trajectory
from judge.catalog import Evaluator, Plan, plan_all
from judge.question import Question, unanswered
from judge.suites import Suite, expectations_for
from judge.verdict import Judged, NotJudged, SessionRef, Verdict


@dataclass(frozen=True, slots=True)
class Rules:
    """What sessions are judged by; replaced as a whole when the configuration is read again."""

    evaluators: Sequence[Evaluator]
    suites: Sequence[Suite]
    session_names: SessionNames
    sampling: SamplingRules = field(default_factory=SamplingRules)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one claim turned out to hold. `defects` are errors of evaluators, by their names; each has a verdict too."""

    session: Session
    ref: SessionRef
    absorbed: tuple[SessionRef, ...]
    """traces that were judged as sessions of their own, and belong to this one: their next revisions"""
    trajectory: Trajectory
    verdicts: tuple[Judged, ...]
    questions: tuple[PendingQuestion, ...]
    sampled: Included | SampledOut
    """Of what is sampled out there are no verdicts and no questions."""
    defects: tuple[tuple[str, Exception], ...]


class Reader:
    """`judge_problem` is None when there is a judge to ask, else the `NotJudged` that questions get at once.
    `most_bytes` is for `gather`."""

    def __init__(
        self, journal: Chains, clock: Clock, judge_problem: NotJudged | None, most_bytes: int = MOST_BYTES
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._judge_problem = judge_problem
        self._most_bytes = most_bytes

    def read(self, claim: Claim, rules: Rules) -> Reading:
        """Raises `StoreUnavailable` when the journal cannot be read just now. Safe in any thread."""
        gathered = gather(claim, self._journal, self._most_bytes)
        session = _told(assemble(claim, gathered.own, gathered.neighbours, rules.session_names), gathered)
        trajectory = extract(session)
        cases = expectations_for(trajectory, rules.suites)
        plan = plan_all(trajectory, cases, rules.evaluators)
        sampled = decide(rules.sampling, claim.digest, trajectory, cases, plan.verdicts)
        probability = sampled.probability if isinstance(sampled, Included) else 0.0
        if isinstance(sampled, SampledOut):
            plan = Plan(errors=plan.errors)
        ref = SessionRef(session.session_id, claim.revision, session.tenant)
        now_ns, places = self._clock.now_ns(), Places(session)

        def judged(verdict: Verdict) -> Judged:
            return attribute(
                verdict,
                trajectory,
                ref,
                close_reason=claim.reason,
                inclusion_probability=probability,
                judged_ns=now_ns,
                place=places.of(verdict.subject.anchor),
            )

        def pending(question: Question) -> PendingQuestion:
            draft = judged(unanswered(question, "pending", "waiting for a judge"))
            return PendingQuestion(draft.id, question, draft, created_ns=now_ns, next_ns=now_ns)

        verdicts, questions = list(plan.verdicts), plan.questions
        if (problem := self._judge_problem) is not None:
            verdicts += [unanswered(question, problem.reason, problem.detail) for question in questions]
            questions = ()
        return Reading(
            session,
            ref,
            absorbed=absorbed(claim, gathered.own),
            trajectory=trajectory,
            verdicts=tuple(map(judged, verdicts)),
            questions=tuple(map(pending, questions)),
            sampled=sampled,
            defects=plan.errors,
        )


def _told(session: Session, gathered: Gathered) -> Session:
    """The session with what was left out of it."""
    if not gathered.notes:
        return session
    return replace(
        session,
        notes=(*gathered.notes, *session.notes),
        lost_spans=session.lost_spans + gathered.lost_spans,
        lost_records=session.lost_records + gathered.lost_records,
    )
