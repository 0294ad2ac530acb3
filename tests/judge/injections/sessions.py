"""Sessions with a text in any one of the places that agents, tools, skills and people write to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from extractors.skills import LoadOutcome, Skill
from extractors.trajectory import ROOT_AGENT, Agent, Failure, ToolDefinition, Trajectory
from judge.catalog import BUILT_IN, Entry, Evaluator, build, plan_all, rubric_entry
from judge.options import EvaluatorOptions
from judge.question import Question
from judge.rubrics import parse_rubric
from tests.judge.trajectories import anchor, call, failed, load, step, trajectory

HARMLESS = {
    "task": "Give the money for order 7 back.",
    "later prompt": "Thank you, and please confirm it.",
    "skill name": "refunds",
    "skill description": "How to give money back.",
    "skill body": "1. Find the order.\n2. Give the money back.",
    "refusal": "This skill is not for you.",
    "sub-agent's skill description": "How to check a payment.",
    "tool name": "find_order",
    "tool description": "Finds an order by its number.",
    "argument name": "number",
    "argument value": "7",
    "arguments that are no JSON": "number: 7",
    "result": "order 7, paid",
    "error": "no such account",
    "model text": "Let me look.",
    "model error": "overloaded",
    "failure kind": "timeout",
    "failure message": "nobody answered",
    "answer": "Done.",
    "sub-agent": "helper",
    "note": "a span was cut",
    "skill source": "plugins",
    "agent name": "desk",
    "session id": "session-1",
    "attribute": "shop",
}
"""Every place, and what stands there when nobody attacks."""

NEVER_SHOWN = frozenset({"note", "skill source", "agent name", "session id", "attribute"})
PLACES = tuple(HARMLESS)

RUBRICS = tuple(
    parse_rubric(
        f"id: own_{level}\nversion: '1'\nlevel: {level}\nquestion: Was it polite?\n"
        "labels:\n  polite: {score: 1, means: it was}\n  rude: {score: 0, means: it was not}\n",
        "own.yaml",
    )
    for level in ("session", "skill", "tool_call")
)
CUSTOM: dict[str, Entry] = {rubric.id: rubric_entry(rubric) for rubric in RUBRICS}
ROOMY = 2_000_000
"""Tokens of a transcript in which nothing is left out but what is over a limit of its own."""


def session(**written: str) -> Trajectory:
    """A session with something in every place; `written` replaces what is harmless, `{"tool name": "..."}`."""
    texts = {**HARMLESS, **written}
    sub = texts["sub-agent"]
    refund = Skill(texts["skill name"], texts["skill description"], texts["skill source"])
    checks = Skill("checks", texts["sub-agent's skill description"])
    base = trajectory(
        call(
            texts["tool name"],
            {texts["argument name"]: texts["argument value"]},
            number=2,
            result=texts["result"],
            call_id="c1",
        ),
        failed("refund_order", {"number": 7}, texts["error"], number=3, agent=sub),
        replace(call("confirm", number=4), arguments_text=texts["arguments that are no JSON"], result="sent"),
        answer=texts["answer"],
        offered_skills=(refund, Skill("parcels", "How to send things.")),
        skill_invocations=(
            load(texts["skill name"], body=texts["skill body"], number=5),
            load("admin", LoadOutcome.REFUSED, refusal=texts["refusal"], number=6),
            load("checks", number=7, agent=sub),
        ),
        steps=(step(1, texts["model text"], call_ids=("c1",)), step(50, "", error=texts["model error"])),
        tool_definitions=(ToolDefinition(texts["tool name"], texts["tool description"]), ToolDefinition("confirm")),
        agents=(Agent(ROOT_AGENT, texts["agent name"]), Agent(sub, "second", offered_skills=(checks,))),
        failures=(Failure(texts["failure kind"], texts["failure message"], anchor(8), ROOT_AGENT, 60),),
        notes=(texts["note"],),
        attributes={"service.name": texts["attribute"]},
    )
    (first,) = trajectory(task=texts["task"]).prompts
    prompts = (first, replace(first, text=texts["later prompt"], time_ns=40))
    return replace(base, prompts=prompts, session_id=texts["session id"])


def evaluators(transcript_tokens: int = ROOMY, system_prompt: str | None = None) -> tuple[Evaluator, ...]:
    """All that ask a judge, and rubrics of every level."""
    asking = {name: "ask" in entry.takes for name, entry in BUILT_IN.items() if entry.prompt is not None}
    asking |= dict.fromkeys(CUSTOM, False)
    options = {name: EvaluatorOptions(ask=on_demand, system_prompt=system_prompt) for name, on_demand in asking.items()}
    silent = {name: EvaluatorOptions(enabled=False) for name in BUILT_IN if name not in asking}
    return build({**options, **silent}, transcript_tokens, CUSTOM)


def questions(of: Trajectory, asked_by: Sequence[Evaluator]) -> list[Question]:
    """All questions about the session, and about the same one without any skill asked for."""
    plans = [plan_all(one, [], asked_by) for one in (of, replace(of, skill_invocations=()))]
    assert not any(plan.errors for plan in plans)
    return [question for plan in plans for question in plan.questions]
