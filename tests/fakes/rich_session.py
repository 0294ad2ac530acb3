"""A session worth looking at: a skill refused, a helper agent, a tool that fails; and verdicts of every kind on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from collector.store.sqlite import SqliteStore
from collector.store.store import ClosedSession, PendingQuestion
from extractors.anchors import Anchor
from extractors.skills import LoadOutcome, Skill, SkillInvocation
from extractors.trajectory import (
    Agent,
    CallOutcome,
    Failure,
    Prompt,
    Step,
    ToolCall,
    Trajectory,
    Versions,
)
from judge.question import Prompt as JudgePrompt
from judge.question import Question, Scale
from judge.subjects import subjects_of
from judge.verdict import (
    Judged,
    NotApplicable,
    NotJudged,
    Outcome,
    Score,
    SessionRef,
    Subject,
    Verdict,
    verdict_id,
    whole_session,
)
from tests.fakes.verdicts import NOW_NS

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def span(number: int) -> Anchor:
    return Anchor("span", TRACE, f"{number:016x}")


def rich_session(session_id: str = "desk-4711", *, closed_ns: int = NOW_NS, tenant: str = "") -> ClosedSession:
    """A person asks for a refund; a skill is refused, a helper agent looks an order up, a tool fails."""
    began = closed_ns - 95 * 10**9

    def at(seconds: float) -> int:
        return began + int(seconds * 1e9)

    order = {"order": "A-1093", "include": ["lines", "payments"]}
    calls = (
        ToolCall(
            "Skill", span(11), "root", CallOutcome.OK, "c1", {"name": "refunds"}, None, "ready", None, at(3), at(3.2), 0
        ),
        ToolCall(
            "Skill",
            span(12),
            "root",
            CallOutcome.REFUSED,
            "c2",
            {"name": "ledger"},
            None,
            None,
            "not for this desk",
            at(5),
            at(5.01),
            0,
        ),
        ToolCall(
            "find_order",
            span(13),
            "a1",
            CallOutcome.OK,
            "c3",
            order,
            None,
            '{"total": 129.0, "paid_by": "card"}',
            None,
            at(9),
            at(9.4),
            0,
        ),
        ToolCall(
            "pay_back",
            span(14),
            "root",
            CallOutcome.FAILED,
            "c4",
            {"order": "A-1093", "amount": 1290.0},
            None,
            None,
            "amount is larger than what was paid",
            at(14),
            at(15.1),
            0,
        ),
        ToolCall(
            "pay_back",
            span(15),
            "root",
            CallOutcome.OK,
            "c5",
            {"order": "A-1093", "amount": 129.0},
            None,
            "done: receipt 77 was sent",
            None,
            at(19),
            at(20.4),
            0,
        ),
        ToolCall("notify", span(16), "root", CallOutcome.UNANSWERED, "c6", None, None, None, None, at(24), None, 1),
    )
    steps = (
        Step(span(21), "root", at(1), at(2.8), "", ("c1",), "model-l", "model-l-2", "tool_use", 1840, 52, None, 0),
        Step(
            span(22),
            "root",
            at(3.4),
            at(4.8),
            "I need the ledger.",
            ("c2",),
            "model-l",
            "model-l-2",
            "tool_use",
            2412,
            61,
            None,
            0,
        ),
        Step(span(23), "a1", at(7), at(8.8), None, ("c3",), "model-s", None, None, None, None, None, 0),
        Step(
            span(24),
            "root",
            at(11),
            at(13.6),
            "The card was charged 129.00. I pay that back now.",
            ("c4", "c5"),
            "model-l",
            "model-l-2",
            "tool_use",
            3120,
            140,
            None,
            0,
        ),
        Step(
            span(25),
            "root",
            at(26),
            at(29.5),
            "It is paid back.",
            (),
            "model-l",
            "model-l-2",
            "end_turn",
            3520,
            96,
            None,
            1,
        ),
    )
    loads = (
        SkillInvocation(
            "refunds",
            LoadOutcome.LOADED,
            span(11),
            "root",
            call_id="c1",
            body="# Refunds\nFind the order first. Never pay back more than was paid.",
            body_hash="9f2c51d0a7be4410",
        ),
        SkillInvocation(
            "ledger",
            LoadOutcome.REFUSED,
            span(12),
            "root",
            call_id="c2",
            refusal="The skill ledger is not enabled for this desk.",
        ),
    )
    offered = (
        Skill("refunds", "Pay customers back, step by step."),
        Skill("ledger", "Book corrections."),
        Skill("maps"),
    )
    trajectory = Trajectory(
        session_id,
        "claude_code",
        prompts=(
            Prompt("Please refund order A-1093. The kettle arrived broken, and I have sent it back.", span(1), at(0.2)),
            Prompt("And tell me when the money is there.", span(2), at(22)),
        ),
        offered_skills=offered,
        skill_invocations=loads,
        steps=steps,
        tool_calls=calls,
        answer="Your 129.00 are on their way and take two to five days. Receipt 77 is in your mailbox.",
        answer_anchor=span(25),
        agents=(Agent("root", "clerk", "2.4.0"), Agent("a1", "order-finder", "1.0.2", "root")),
        failures=(Failure("overloaded", "the model was overloaded; asked again after 2 s", span(23), "a1", at(8)),),
        versions=Versions(
            service="support-desk",
            service_version="2026.11.3",
            agent="clerk",
            agent_version="2.4.0",
            harness_version="1.9.1",
            models_requested=("model-l", "model-s"),
            models_answered=("model-l-2",),
            system_prompt_hash="1c9b33a0de55f201",
            skill_bodies={"refunds": "9f2c51d0a7be4410"},
        ),
        root_anchor=span(1),
        started_ns=began,
        ended_ns=at(30),
        tenant=tenant,
        notes=("one log record named a span that never came",),
    )
    return ClosedSession(SessionRef(session_id, 1, tenant), closed_ns, "idle", 0.1, trajectory, 25, 4)


def rich_verdicts(session: ClosedSession) -> tuple[list[Judged], list[PendingQuestion]]:
    """Of every kind: passed, failed, without a score, not applicable, and a question that waits."""
    trajectory = session.trajectory
    assert trajectory is not None
    refunds, ledger = subjects_of(trajectory.skill_invocations)
    pay_back = subjects_of(trajectory.tool_calls)[3]
    whole = whole_session(trajectory)

    def of(evaluator: str, subject: Subject, outcome: Outcome, **more: Any) -> Judged:
        return judged_of(session, Verdict(evaluator, "v3", subject, outcome, **more))

    asked: dict[str, Any] = {
        "judge_model": "judge-m-4",
        "prompt_version": "skill_selection.v2",
        "prompt_hash": "5d0b" * 16,
        "input_tokens": 4210,
        "output_tokens": 180,
    }
    verdicts = [
        of(
            "skill_selection",
            refunds,
            Score(1.0, "Yes", "The person asks for money back, and refunds says how."),
            agreement=1.0,
            **asked,
        ),
        of(
            "skill_selection",
            ledger,
            Score(0.0, "No", "Nothing here is to be booked; the desk may not use it either."),
            agreement=0.67,
            **asked,
        ),
        of("skill_instruction_following", refunds, NotJudged("judge_refused", "the model declined to answer"), **asked),
        of(
            "argument_correctness",
            pay_back,
            Score(0.0, "wrong_value", "pay_back got amount 1290.0 where 129.0 was paid."),
            high_risk=True,
        ),
        of(
            "error_recovery", whole, Score(1.0, "recovered", "pay_back failed once and succeeded with other arguments.")
        ),
        of("forbidden_events", whole, NotApplicable("no case forbids anything here")),
        of("budgets", whole, NotJudged("content_not_recorded", "tokens of one model turn were not recorded")),
        of("composite", whole, Score(0.4, "fail", "0.40 of 1: argument_correctness failed")),
    ]
    draft = of("goal_completion", whole, NotJudged("pending", "waiting for a judge"))
    prompt = JudgePrompt("You judge.", "The transcript.", "Was it done?", "goal_completion.v2", "ab" * 32)
    question = Question("goal_completion", "v3", whole, prompt, Scale({"Complete": 1.0, "Partial": 0.5, "None": 0.0}))
    return verdicts, [
        PendingQuestion(draft.id, question, draft, created_ns=session.closed_ns, next_ns=session.closed_ns)
    ]


def judged_of(session: ClosedSession, verdict: Verdict) -> Judged:
    trajectory = session.trajectory
    assert trajectory is not None
    known = trajectory.versions
    name = verdict.subject.name
    return Judged(
        verdict_id(session.ref, verdict),
        session.ref,
        verdict,
        trajectory.harness,
        session.close_reason,
        session.inclusion_probability,
        session.closed_ns,
        known.service,
        known.service_version,
        known.agent,
        known.agent_version,
        known.models_answered,
        known.system_prompt_hash,
        skill_version=(known.skill_bodies or {}).get(name or ""),
        harness_version=known.harness_version,
    )


async def fill(store: SqliteStore, sessions: Sequence[ClosedSession]) -> None:
    for session in sessions:
        verdicts, questions = rich_verdicts(session)
        await store.finish(session, verdicts, questions, [])


def with_task(session: ClosedSession, task: str) -> ClosedSession:
    assert session.trajectory is not None
    prompts = (replace(session.trajectory.prompts[0], text=task),)
    return replace(session, trajectory=replace(session.trajectory, prompts=prompts))
