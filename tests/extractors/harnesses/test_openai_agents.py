from __future__ import annotations

from extractors import registry
from extractors.harnesses import openai_agents
from extractors.skills import LoadedBy, LoadOutcome
from extractors.spans import StatusCode
from extractors.trajectory import CallOutcome
from tests.extractors.fixtures import session
from tests.extractors.openinference import llm, oi, says, user
from tests.extractors.spans import session as session_of

SCOPE = openai_agents.SCOPE


def test_the_span_of_the_trace_is_no_agent() -> None:
    found = registry.extract(session("openai_agents/skill-then-tool"))
    assert [(agent.id, agent.name) for agent in found.agents] == [("root", "plot_helper")]
    assert [skill.source for skill in found.offered_skills or ()] == [".agents/frost-watch", ".agents/seed-swap"]


def test_staging_a_skill_and_printing_its_file_is_one_load() -> None:
    (load,) = registry.extract(session("openai_agents/skill-then-tool")).skill_invocations
    assert (load.loaded_by, load.call_id, load.source) == (LoadedBy.TOOL, "call_100", ".agents/frost-watch/SKILL.md")
    assert (load.body or "").startswith("---\nname: frost-watch\n")


def test_reading_a_file_again_is_another_load() -> None:
    cat = {"tool__name": "exec_command", "input__value": '{"cmd": "cat .agents/a/SKILL.md"}', "output__value": "# A"}
    staged = {
        "tool__name": "load_skill",
        "input__value": '{"skill_name": "a"}',
        "output__value": '{"status": "loaded"}',
    }
    spans = [
        oi("TOOL", f"t{at}", at_s=at, scope=SCOPE, **given)  # type: ignore[arg-type]  # attributes by keyword
        for at, given in enumerate([staged, cat, cat, staged], 1)
    ]
    loads = openai_agents.extract(session_of(spans)).skill_invocations
    assert [(load.loaded_by, load.body) for load in loads] == [
        (LoadedBy.TOOL, "# A"),
        (LoadedBy.FILE, "# A"),
        (LoadedBy.TOOL, None),
    ]


def test_an_unknown_skill_is_refused_with_the_inner_error() -> None:
    found = registry.extract(session("openai_agents/refused-unknown-name"))
    (load,) = found.skill_invocations
    assert (load.outcome, load.refusal) == (LoadOutcome.REFUSED, "lazy skill not found")
    assert (found.answer, len(found.failures)) == (None, 1)


def test_after_a_handoff_each_agent_has_its_own() -> None:
    found = registry.extract(session("openai_agents/handoff"))
    assert [agent.id for agent in found.agents] == ["root", "root/plot_helper", "root/Seed Desk"]
    (load,) = found.skill_invocations
    assert (load.agent, load.name) == ("root/Seed Desk", "seed-swap")
    assert found.answer == "Ida has leeks."


def test_the_catalog_of_the_agent_that_got_the_task_is_the_workflows() -> None:
    found = registry.extract(session("openai_agents/handoff"))
    assert [skill.name for skill in found.offered_skills or ()] == ["frost-watch", "seed-swap"]
    assert found.offered_skills == found.agents[1].offered_skills
    assert found.agents[2].offered_skills is None


def test_a_handoff_is_the_call_that_the_model_made_for_it() -> None:
    calls = registry.extract(session("openai_agents/handoff")).tool_calls
    assert [(call.name, call.outcome, call.arguments) for call in calls if call.call_id == "call_101"] == [
        ("pass_to_seeds", CallOutcome.OK, {})
    ]


def test_equal_tools_in_one_turn_keep_their_arguments_and_ids_whichever_began_first() -> None:
    asked = says("", ("c1", "dig", {"bed": 1}), ("c2", "dig", {"bed": 2}))
    found = openai_agents.extract(
        session_of(
            [
                oi("CHAIN", "turn", scope=SCOPE, lasts_s=9),
                llm("m1", "turn", [user("dig")], [asked], scope=SCOPE),
                oi("TOOL", "t2", "turn", at_s=3, scope=SCOPE, tool__name="dig", input__value='{"bed": 2}'),
                oi("TOOL", "t1", "turn", at_s=4, scope=SCOPE, tool__name="dig", input__value='{"bed": 1}'),
            ]
        )
    )
    assert {call.call_id: call.arguments for call in found.tool_calls} == {"c1": {"bed": 1}, "c2": {"bed": 2}}


def test_calls_that_never_ran_are_refused() -> None:
    calls = {call.call_id: call for call in registry.extract(session("openai_agents/two-turns")).tool_calls}
    declined, missing = calls["call_200"], calls["call_210"]
    assert (declined.outcome, declined.error) == (CallOutcome.REFUSED, "Tool execution was not approved.")
    assert (missing.outcome, missing.error) == (CallOutcome.REFUSED, "Tool not found: {'tool_name': 'thermometer'}")


def test_the_second_run_repeats_nothing_of_the_first() -> None:
    found = registry.extract(session("openai_agents/two-turns"))
    assert [prompt.text for prompt in found.prompts] == ["Will my beans survive the night?", "And later?"]
    assert [call.turn for call in found.tool_calls] == [0, 0, 1, 1]


def test_a_status_of_another_form_is_kept_as_it_is() -> None:
    one = oi("TOOL", "t1", scope=SCOPE, tool__name="dig", status=StatusCode.ERROR, message="spade: {broken}")
    (call,) = openai_agents.extract(session_of([one])).tool_calls
    assert (call.outcome, call.error) == (CallOutcome.FAILED, "spade: {broken}")
