"""No evaluator lets a part of a secret out: neither by the questions it asks, nor in what it explains."""

from __future__ import annotations

from dataclasses import replace

import pytest

from extractors.skills import LoadOutcome, Skill
from extractors.trajectory import Agent, Failure, ToolDefinition, Trajectory
from judge.catalog import BUILT_IN, Entry, Plan, build, plan_all, rubric_entry
from judge.options import EvaluatorOptions
from judge.redaction import Redaction
from judge.rubrics import parse_rubric
from judge.suites import Case
from judge.verdict import NotApplicable, NotJudged, Score
from tests.judge.trajectories import anchor, call, case, failed, load, step, trajectory

OWN = Redaction({"plate": r"\bZQ-(?:77){40,200}\b"})
SECRETS = {
    "private-key": "-----BEGIN RSA PRIVATE" + " KEY-----\n" + "Wj9Z" * 100 + "\n-----END RSA PRIVATE" + " KEY-----",
    "github-token": "ghp" + "_" + "Wj9Z" * 15,
    "plate": "ZQ-" + "77" * 100,
}
TRACES = ("Wj9Z", "7777")
"""Every part of a secret that is long enough to matter has one of these."""
LABELS = "labels: {Bad: {score: 0, means: bad}, Good: {score: 1, means: good}}"
CASES = (
    case("required_steps: [{tool: nothing}, {tool: tool, arguments: {a: x}}]"),
    case("forbidden_events: [{tool: 'tool*'}]"),
)


def session(text: str) -> Trajectory:
    """Everything that agents write is this text."""
    offered = (Skill("pdf", text), Skill(text, text))
    loads = (
        load("pdf", body=text),
        load("pdf", LoadOutcome.REFUSED, refusal=text, number=2),
        load(text, number=3, agent=text, body=text),
    )
    calls = (
        call("tool", {"a": text}, result=text, number=4),
        failed("tool", None, error=text, arguments_text=text, number=5),
        call("other", {"deep": [text]}, result=text, number=6, agent=text),
    )
    return trajectory(
        *calls,
        task=text,
        steps=(step(1, text, number=7), step(50, text, number=8, error=text)),
        failures=(Failure(text, text, anchor(9), text, 60),),
        offered_skills=offered,
        skill_invocations=loads,
        agents=(Agent("root"), Agent(text, text, offered_skills=offered)),
        tool_definitions=(ToolDefinition("tool", text), ToolDefinition("other", text)),
        answer=text,
    )


def plan(session: Trajectory, tokens: int, cases: tuple[Case, ...] = ()) -> Plan:
    options = {
        name: EvaluatorOptions(ask=True, max_questions=500) for name, entry in BUILT_IN.items() if "ask" in entry.takes
    }
    rubrics: dict[str, Entry] = {
        f"kind_{level}": rubric_entry(
            parse_rubric(f"id: kind_{level}\nversion: '1'\nlevel: {level}\nquestion: Kind?\n{LABELS}", "kind.yaml")
        )
        for level in ("session", "skill", "tool_call")
    }
    found = plan_all(session, cases, build(options, tokens, rubrics, OWN))
    assert not found.errors
    return found


@pytest.mark.parametrize("tokens", [2_000, 60_000])
@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("shift", range(0, 400, 57))
def test_no_part_of_a_secret_leaves_in_a_question_wherever_texts_are_cut(kind: str, shift: int, tokens: int) -> None:
    secret = SECRETS[kind]
    text = "<" * shift + f" word {secret} and" * (40_000 // len(secret))
    questions = plan(session(text), tokens).questions
    assert {question.evaluator for question in questions} >= {"goal_completion", "skill_selection", "kind_tool_call"}
    for question in questions:
        sent = OWN.prompt(question.prompt)
        assert "<left_out" in sent.prefix
        assert f'<redacted kind="{kind}"/>' in sent.prefix
        assert not any(trace in part for trace in TRACES for part in (sent.prefix, sent.question)), question.evaluator


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("before", range(0, 160, 11))
def test_no_part_of_a_secret_stays_in_an_explanation_that_was_shortened(kind: str, before: int) -> None:
    text = "x" * before + f" {SECRETS[kind]} and more words " * 5
    told = []
    for one in (session(text), replace(session(text), steps=())):
        for verdict in plan(one, 60_000, CASES).verdicts:
            match verdict.outcome:
                case Score(_, _, explanation):
                    told.append(explanation)
                case NotJudged(_, detail):
                    told.append(detail)
                case NotApplicable(reason):
                    told.append(reason)
    assert any("more characters" in one for one in told)
    for explanation in told:
        assert not any(trace in OWN.text(explanation) for trace in TRACES), explanation
