"""Judge recorded sessions as the server does, without a journal and without publishing: the same evaluators, suites
and composite. `offline_asking` puts the questions to a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from collector.attribution import attribute
from collector.concluding import conclude
from collector.store.baselines import KeptSession
from collector.store.store import ClosedSession, PendingQuestion
from extractors.trajectory import Trajectory
from judge.case_results import JudgedSession
from judge.catalog import BUILT_IN, Evaluator, plan_all
from judge.composite import CompositeRules
from judge.models import same_model
from judge.question import unanswered
from judge.suites import Case, Suite, expectations_for
from judge.verdict import Judged, NotApplicable, Score, Verdict

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


@dataclass(frozen=True, slots=True)
class Measures:
    """By what this configuration measures: `versions` of its evaluators, and `models` of those that ask a judge."""

    versions: Mapping[str, str]
    models: Mapping[str, str]

    def why_other(self, verdict: Verdict) -> str:
        """In what a verdict that a judge gave was measured otherwise, "" when in nothing."""
        if (version := self.versions.get(verdict.evaluator)) is None:
            return "its evaluator is not enabled now"
        if version != verdict.evaluator_version:
            return f"version {verdict.evaluator_version}, now {version}"
        model = self.models[verdict.evaluator]
        asked = verdict.judge_model
        return "" if asked is not None and same_model(model, asked) else f"judge {asked or 'not recorded'}, now {model}"


def with_earlier_answers(
    examined: Examined, earlier: Sequence[Judged], measures: Measures
) -> tuple[Examined, tuple[str, ...]]:
    """With what a judge found about the same closing before, where it was measured as now: these questions need not be
    asked again. Also what of it is not used, one line for each verdict."""
    ids = {one.id for one in examined.verdicts}
    answered = [one for one in earlier if _is_answer(one.verdict) and one.id not in ids]
    why = {one.id: measures.why_other(one.verdict) for one in answered}
    used = [one for one in answered if not why[one.id]]
    open_ones = tuple(one for one in examined.questions if one.id not in {each.id for each in used})
    told = tuple(f"{one.verdict.evaluator}: {why[one.id]}" for one in answered if why[one.id])
    return replace(examined, verdicts=(*examined.verdicts, *used), questions=open_ones), told


def _is_answer(verdict: Verdict) -> bool:
    asked = verdict.judge_model is not None or verdict.prompt_version is not None
    return asked and isinstance(verdict.outcome, Score | NotApplicable)


def concluded(examined: Examined, rules: CompositeRules) -> KeptSession:
    """With the composites, and without what nobody was asked."""
    return KeptSession(examined.session, (*examined.verdicts, *conclude(examined.verdicts, rules)))


def judged_session(kept: KeptSession, cases: Sequence[Case] = ()) -> JudgedSession:
    """What gates look at."""
    session = kept.session
    verdicts = tuple(one.verdict for one in kept.verdicts)
    return JudgedSession(session.ref, session.trajectory, verdicts, tuple(case.key for case in cases))
