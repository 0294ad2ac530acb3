from __future__ import annotations

from extractors import registry
from extractors.harnesses import langchain_traceloop
from extractors.skills import LoadedBy, LoadOutcome
from extractors.spans import Value
from extractors.trajectory import CallOutcome, Trajectory
from tests.extractors.fixtures import session
from tests.extractors.spans import agent, chat, says, span, tool, user
from tests.extractors.spans import session as session_of

SCOPE = langchain_traceloop.SCOPE


def trajectory(name: str) -> Trajectory:
    return registry.extract(session(f"langchain_traceloop/{name}"))


def test_openinferences_instrumentation_beside_it_is_left_to_its_own_module() -> None:
    ours = chat("m1", scope=SCOPE)
    theirs = span("c1", scope="openinference.instrumentation.langchain")
    assert langchain_traceloop.recognizes(session_of([ours]))
    assert not langchain_traceloop.recognizes(session_of([ours, theirs]))


def test_graph_and_workflow_are_one_agent_and_turns_are_told_once() -> None:
    found = trajectory("two-turns")
    assert [one.name for one in found.agents] == ["hive_helper"]
    assert [prompt.text for prompt in found.prompts] == ["How is hive 4?", "And hive 5?"]
    assert [(call.call_id, call.arguments, call.turn) for call in found.tool_calls] == [
        ("c1", {"skill_name": "hive-inspection"}, 0),
        ("c2", {"hive": "4"}, 0),
        ("c3", {"hive": "5"}, 1),
    ]
    assert found.answer == "Hive 5 has 30 degrees."


def test_a_body_is_the_text_of_the_tool_message() -> None:
    (load,) = trajectory("two-turns").skill_invocations
    assert (load.body or "").startswith("# Hive inspection")
    assert len(trajectory("two-turns").offered_skills or ()) == 2


def test_parallel_calls_of_one_tool_keep_their_own_outcomes() -> None:
    raised, loaded, refused = trajectory("refusals").skill_invocations
    assert (raised.name, raised.outcome) == ("honey-sale", LoadOutcome.REFUSED)
    assert "no skill named honey-sale" in (raised.refusal or "")
    assert (loaded.name, loaded.outcome, (loaded.body or "")[:12]) == ("swarm-call", LoadOutcome.LOADED, "# Swarm call")
    assert (refused.name, refused.refusal, refused.body) == ("winter-feed", "Skill 'winter-feed' is disabled", None)
    assert {call.name: call.outcome for call in trajectory("refusals").tool_calls}["sell"] is CallOutcome.REFUSED


def test_a_graph_that_a_tool_runs_is_a_sub_agent_without_the_roots_catalog() -> None:
    found = trajectory("sub-agent")
    assert [(one.id, one.offered_skills is None) for one in found.agents] == [("root", False), ("root/vet", True)]
    assert [(call.name, call.agent) for call in found.tool_calls] == [("ask_vet", "root"), ("measure", "root/vet")]
    assert found.answer == "The vet sees no mites."


def test_a_run_that_was_killed_keeps_what_arrived() -> None:
    found = trajectory("killed")
    assert [(call.name, call.outcome) for call in found.tool_calls] == [
        ("load_skill", CallOutcome.OK),
        ("measure", CallOutcome.UNANSWERED),
    ]
    assert (found.task, found.versions.agent, found.answer) == ("A swarm!", "hive_helper", None)


def test_an_agent_that_was_only_built_did_nothing() -> None:
    found = trajectory("only-created")
    assert (found.prompts, found.steps, found.tool_calls) == ((), (), ())
    assert found.notes == ("an agent was created, nothing was asked of it here",)


def test_deepagents_that_fail_to_read_a_skills_file_were_refused() -> None:
    built: dict[str, Value] = {"traceloop.association.properties.ls_integration": "deepagents"}
    arguments: Value = {"file_path": "/skills/swarm-call/SKILL.md"}
    found = registry.extract(
        session_of(
            [
                agent("root", scope=SCOPE, lasts_s=9, attributes=built),
                chat("m1", "root", [user("A swarm!")], [says("Let me look.")], at_s=2, scope=SCOPE),
                tool("t1", "root", "read_file", "c1", at_s=4, scope=SCOPE, attributes={
                    "gen_ai.tool.call.arguments": arguments,
                    "gen_ai.tool.status": "error",
                    "gen_ai.tool.call.result": "Error: File '/skills/swarm-call/SKILL.md' not found",
                }),
            ]
        )
    )  # fmt: skip
    (load,) = found.skill_invocations
    assert (load.name, load.outcome, load.loaded_by) == ("swarm-call", LoadOutcome.REFUSED, LoadedBy.FILE)
