"""Verdicts and closed sessions to store, send and count; every part may be replaced."""

from __future__ import annotations

from dataclasses import replace

from collector.store.store import ClosedSession, PendingQuestion
from extractors.anchors import Anchor
from extractors.trajectory import Prompt as TaskPrompt
from extractors.trajectory import Trajectory, Versions
from judge.question import Prompt, Question, Scale
from judge.verdict import Judged, NotJudged, Outcome, Score, SessionRef, Subject, Verdict, verdict_id

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"
ANCHOR = Anchor("span", TRACE_ID, SPAN_ID)
NOW_NS = 1_767_225_600_000_000_000


def judged(
    session_id: str = "s-1",
    evaluator: str = "skill_selection",
    outcome: Outcome | None = None,
    *,
    revision: int = 1,
    tenant: str = "",
    ref: str = "span:a/b",
    skill: str | None = "refunds",
    anchor: Anchor | None = ANCHOR,
    high_risk: bool = False,
    judged_ns: int = NOW_NS,
) -> Judged:
    """A verdict about one skill invocation, or about the session when `skill` is None."""
    subject = Subject("skill" if skill else "session", ref, anchor, skill, "root")
    verdict = Verdict(
        evaluator, "v1", subject, outcome or Score(1.0, "yes", "The right skill was loaded."), high_risk=high_risk
    )
    session = SessionRef(session_id, revision, tenant)
    return Judged(
        id=verdict_id(session, verdict),
        session=session,
        verdict=verdict,
        harness="strands",
        close_reason="idle",
        inclusion_probability=0.5,
        judged_ns=judged_ns,
        service="shop",
        service_version="1.2.0",
        agent="clerk",
        agent_version="7",
        models=("model-a",),
        skill_version="0123456789abcdef",
    )


def pending(
    session_id: str = "s-1",
    ref: str = "span:q/1",
    *,
    high_risk: bool = False,
    created_ns: int = NOW_NS,
    next_ns: int = 0,
) -> PendingQuestion:
    """A question that waits for a judge, with its verdict-to-be."""
    draft = judged(session_id, outcome=NotJudged("pending"), ref=ref, high_risk=high_risk)
    prompt = Prompt("You judge.", "The transcript.", "Was it right?", "skill_selection.v1", "ab" * 32)
    question = Question(
        draft.verdict.evaluator,
        draft.verdict.evaluator_version,
        draft.verdict.subject,
        prompt,
        Scale({"Yes": 1.0, "No": 0.0}),
        high_risk=high_risk,
    )
    return PendingQuestion(draft.id, question, draft, next_ns=next_ns, created_ns=created_ns)


def answered(question: PendingQuestion, outcome: Outcome) -> Judged:
    """The verdict that settles the question."""
    return replace(question.draft, verdict=replace(question.draft.verdict, outcome=outcome))


def closed(
    session_id: str = "s-1",
    *,
    revision: int = 1,
    tenant: str = "",
    closed_ns: int = NOW_NS,
    task: str | None = "Refund order 7",
    service: str = "shop",
    harness: str = "strands",
) -> ClosedSession:
    """A closed session with a small trajectory."""
    trajectory = Trajectory(
        session_id,
        harness,
        prompts=(TaskPrompt(task, ANCHOR, closed_ns),),
        versions=Versions(service=service, agent="clerk"),
        root_anchor=ANCHOR,
        tenant=tenant,
    )
    return ClosedSession(SessionRef(session_id, revision, tenant), closed_ns, "idle", 0.5, trajectory, 12, 3)
