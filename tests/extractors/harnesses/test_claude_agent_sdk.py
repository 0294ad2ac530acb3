from __future__ import annotations

import json
from dataclasses import replace

import pytest

from extractors import registry
from extractors.harnesses import claude_agent_sdk
from extractors.skills import LoadOutcome
from extractors.spans import StatusCode
from extractors.trajectory import CallOutcome
from tests.extractors.fixtures import session
from tests.extractors.openinference import oi
from tests.extractors.spans import session as session_of
from tests.extractors.spans import tool

SCOPE = claude_agent_sdk.SCOPE


def test_it_leaves_sessions_with_the_clis_own_telemetry_to_their_module() -> None:
    both = session("claude_code/skill-then-tools")
    ours = session("claude_agent_sdk/skill-then-tools")
    assert registry.recognizers(ours) == ("claude_agent_sdk",)
    assert registry.recognizers(replace(both, spans=(*both.spans, *ours.spans))) == ("claude_code",)


def test_the_texts_of_skills_are_bodies_and_nothing_that_the_model_said() -> None:
    found = registry.extract(session("claude_agent_sdk/skill-then-tools"))
    (load,) = found.skill_invocations
    assert (load.outcome, (load.body or "").splitlines()[0]) == (LoadOutcome.LOADED, "# Frost watch")
    assert found.versions.skill_bodies == {"frost-watch": load.body_hash}
    assert not any("Base directory" in (step.text or "") for step in found.steps)


def test_parallel_loads_get_their_own_texts_also_from_a_plugin() -> None:
    first, second = registry.extract(session("claude_agent_sdk/two-skills-one-turn")).skill_invocations
    assert (first.name, first.body) == ("club:frost-watch", "# Frost watch of the club\n\nRing the bell.")
    assert (second.name, (second.body or "").splitlines()[0]) == ("seed-swap", "# Seed swap")


def test_a_step_stands_for_a_turn_and_has_its_tokens() -> None:
    found = registry.extract(session("claude_agent_sdk/skill-then-tools"))
    assert [(step.turn, step.input_tokens, len(step.call_ids)) for step in found.steps] == [(0, 900, 3), (1, 900, 2)]
    assert (found.answer, found.versions.models_answered) == ("The same.", ("claude-made-up",))
    assert found.offered_skills is None


def test_results_are_the_texts_inside_structured_responses() -> None:
    calls = registry.extract(session("claude_agent_sdk/skill-then-tools")).tool_calls
    results = {call.name: call.result for call in calls}
    assert (results["Read"], results["Bash"], results["mcp__club__forecast"]) == (
        "4 beans\n9 leeks\n",
        "list.md",
        '{"low": 1}',
    )


def test_denied_and_unknown_are_refused_and_a_tools_own_failure_is_not() -> None:
    found = registry.extract(session("claude_agent_sdk/refused"))
    assert [(load.name, load.refusal) for load in found.skill_invocations] == [
        ("hail-watch", "Unknown skill: hail-watch"),
        ("seed-swap", "PreToolUse:Skill hook error: closed on Sundays"),
    ]
    assert [call.outcome for call in found.tool_calls] == [
        CallOutcome.REFUSED,
        CallOutcome.REFUSED,
        CallOutcome.FAILED,
        CallOutcome.REFUSED,
    ]


def test_calls_that_never_ended_are_unanswered_and_the_sub_agents_are_its_own() -> None:
    found = registry.extract(session("claude_agent_sdk/sub-agent"))
    assert [(call.name, call.outcome, call.agent) for call in found.tool_calls] == [
        ("Agent", CallOutcome.UNANSWERED, "root"),
        ("Skill", CallOutcome.OK, "root/bed-digger"),
        ("Bash", CallOutcome.UNANSWERED, "root/bed-digger"),
    ]
    assert found.answer is None


def test_spans_of_the_mcp_server_do_not_double_calls() -> None:
    source = session("claude_agent_sdk/skill-then-tools")
    server = replace(tool("s1", None, "forecast"), trace_id=source.spans[0].trace_id)
    found = registry.extract(replace(source, spans=(*source.spans, server)))
    assert len(found.tool_calls) == len(registry.extract(source).tool_calls)


@pytest.mark.parametrize("text", ['"<async_generator object ask at 0x1>"', "__REDACTED__"])
def test_a_streamed_or_hidden_prompt_is_not_recorded(text: str) -> None:
    found = claude_agent_sdk.extract(session_of([oi("AGENT", "a1", scope=SCOPE, input__value=text)]))
    assert [prompt.text for prompt in found.prompts] == [None]


def test_a_query_that_failed_is_a_failure_and_its_errors_no_answer() -> None:
    one = oi(
        "AGENT",
        "a1",
        scope=SCOPE,
        status=StatusCode.ERROR,
        message="Result error: error_max_turns",
        input__value="hi",
        output__value=json.dumps(["too many turns"]),
        output__mime_type="application/json",
    )
    found = claude_agent_sdk.extract(session_of([one]))
    assert (found.answer, [failure.message for failure in found.failures]) == (None, ["Result error: error_max_turns"])
    assert [step.error for step in found.steps] == ["Result error: error_max_turns"]
