"""From a claim to what is to be kept: rows, session, trajectory, the verdicts of code, the questions for a judge.

Reading is slow (disk, decoding) and runs in a thread; it changes nothing and can be done again with the same result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from collector.attribution import attribute
from collector.clock import Clock
from collector.journal.rows import RowKey
from collector.journal.segments import MissingRow
from collector.sampling import Included, SampledOut, SamplingRules, decide
from collector.sessions.assembly import absorbed, assemble
from collector.sessions.book import Claim
from collector.sessions.keys import SessionNames
from collector.store.store import PendingQuestion
from extractors.registry import extract
from extractors.spans import Session
from extractors.trajectory import Trajectory
from judge.catalog import Evaluator, Plan, plan_all
from judge.question import Question, unanswered
from judge.suites import Suite, expectations_for
from judge.verdict import Judged, NotJudged, SessionRef, Verdict

log = structlog.get_logger(__name__)

_MS = 1_000_000


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


class Chains(Protocol):
    """The journal, as far as it is read here."""

    def chain(self, last_row: int) -> list[tuple[RowKey, bytes]]:
        """The row with this number and all of the same owner before it, oldest first. Raises `MissingRow`, or
        `StoreUnavailable` when it cannot be read just now."""


class Reader:
    """`judge_problem` is None when there is a judge to ask, else the `NotJudged` that questions get at once."""

    def __init__(self, journal: Chains, clock: Clock, judge_problem: NotJudged | None) -> None:
        self._journal = journal
        self._clock = clock
        self._judge_problem = judge_problem

    def read(self, claim: Claim, rules: Rules) -> Reading:
        """Raises `StoreUnavailable` when the journal cannot be read just now. Safe in any thread."""
        own = [row for head in claim.heads for row in self._journal.chain(head)]
        session = assemble(claim, own, list(self._neighbours(claim)), rules.session_names)
        trajectory = extract(session)
        cases = expectations_for(trajectory, rules.suites)
        plan = plan_all(trajectory, cases, rules.evaluators)
        sampled = decide(rules.sampling, claim.digest, trajectory, cases, plan.verdicts)
        probability = sampled.probability if isinstance(sampled, Included) else 0.0
        if isinstance(sampled, SampledOut):
            plan = Plan(errors=plan.errors)
        ref = SessionRef(session.session_id, claim.revision, session.tenant)
        now_ns = self._clock.now_ns()

        def judged(verdict: Verdict) -> Judged:
            return attribute(
                verdict,
                trajectory,
                ref,
                close_reason=claim.reason,
                inclusion_probability=probability,
                judged_ns=now_ns,
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
            absorbed=absorbed(claim, own),
            trajectory=trajectory,
            verdicts=tuple(map(judged, verdicts)),
            questions=tuple(map(pending, questions)),
            sampled=sampled,
            defects=plan.errors,
        )

    def _neighbours(self, claim: Claim) -> Iterator[tuple[RowKey, bytes]]:
        """Rows of other sessions in the same traces, as far as they can be read: without them some unnamed spans may
        fall to this one, which is better than no verdicts at all."""
        for head in claim.neighbours:
            try:
                yield from self._journal.chain(head)
            except MissingRow as gone:
                log.warning("neighbour_forgotten", digest=claim.digest.hex(), row=gone.args[0])
