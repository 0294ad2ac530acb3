from __future__ import annotations

import pytest

from extractors import registry
from extractors.harnesses import agent_framework
from extractors.skills import LoadOutcome
from extractors.trajectory import CallOutcome, Trajectory
from tests.extractors.fixtures import session
from tests.extractors.spans import chat
from tests.extractors.spans import session as session_of


def trajectory(name: str) -> Trajectory:
    return registry.extract(session(f"agent_framework/{name}"))


@pytest.mark.parametrize("scope", ["agent_framework", "Experimental.Microsoft.Agents.AI"])
def test_both_sdks_are_recognized_by_their_scope(scope: str) -> None:
    assert agent_framework.recognizes(session_of([chat("m1", scope=scope)]))
    assert not agent_framework.recognizes(session_of([chat("m1", scope=f"{scope}.copy")]))


@pytest.mark.parametrize("name", ["skill-then-tool", "logs-only"])
def test_spans_and_log_events_tell_the_same_story_once(name: str) -> None:
    found = trajectory(name)
    assert found.task == "My 28 inch wheel is bent. What does it cost?"
    assert [(call.name, call.outcome) for call in found.tool_calls] == [
        ("load_skill", CallOutcome.OK),
        ("price_job", CallOutcome.OK),
    ]
    assert [load.name for load in found.skill_invocations] == ["wheel-truing"]
    assert len(found.offered_skills or ()) == 3
    assert found.answer == "Truing a 28 inch wheel costs 34 francs and is ready after two days."


def test_the_list_of_resources_is_no_part_of_a_body() -> None:
    (load,) = trajectory("skill-then-tool").skill_invocations
    assert (load.body or "").startswith("---\nname: wheel-truing")
    assert (load.body or "").endswith("Say that it is ready after two days.")
    assert trajectory("skill-then-tool").versions.skill_bodies == {"wheel-truing": load.body_hash}


def test_of_a_skill_defined_in_code_the_instructions_are_the_body() -> None:
    told = "<name>a</name>\n<description>b</description>\n\n<instructions>\nDo it.\n</instructions>"
    listing = '\n\n<available_resources />\n\n<available_scripts>\n  <script name="x"/>\n</available_scripts>'
    assert agent_framework.written(told + listing) == "Do it."


def test_what_an_author_wrote_about_resources_stays() -> None:
    text = "Answer with\n<available_resources>\nand nothing else."
    assert agent_framework.written(text) == text


def test_a_load_that_was_not_approved_is_refused_within_one_turn() -> None:
    found = trajectory("approval-rejected")
    (load,) = found.skill_invocations
    assert len(found.prompts) == 1
    assert (load.outcome, load.refusal) == (LoadOutcome.REFUSED, "Error: Tool call invocation was rejected by user.")
    assert load.body is None


def test_a_load_that_was_approved_later_is_one_load() -> None:
    found = trajectory("approval-given")
    (load,) = found.skill_invocations
    assert len(found.prompts) == 1
    assert load.outcome is LoadOutcome.LOADED
    assert [call.turn for call in found.tool_calls] == [0, 0]


def test_refusals_in_successful_results_are_refusals() -> None:
    empty, unknown = trajectory("unknown-skill").skill_invocations
    assert (empty.name, empty.outcome, empty.refusal) == ("", LoadOutcome.REFUSED, "Error: Skill name cannot be empty.")
    assert (unknown.name, unknown.refusal) == ("tandem-fitting", "Error: Skill 'tandem-fitting' not found.")
    assert trajectory("unknown-skill").tool_calls[2].outcome is CallOutcome.REFUSED


def test_parallel_loads_keep_their_bodies_and_resources_are_no_loads() -> None:
    found = trajectory("two-skills-two-turns")
    assert [(load.name, f"name: {load.name}" in (load.body or "")) for load in found.skill_invocations] == [
        ("brake-check", True),
        ("wheel-truing", True),
    ]
    outcomes = {call.call_id: call.outcome for call in found.tool_calls}
    assert (outcomes["c3"], outcomes["c4"]) == (CallOutcome.OK, CallOutcome.FAILED)
    assert [prompt.text for prompt in found.prompts] == ["Brakes and a bent wheel, please.", "What was job 72?"]


def test_agents_of_a_workflow_are_sub_agents_with_catalogs_of_their_own() -> None:
    found = trajectory("workflow")
    assert [(agent.id, agent.name, agent.offered_skills is None) for agent in found.agents] == [
        ("root", "intake", False),
        ("root/triage", "triage", False),
        ("root/writer", "writer", False),
    ]
    assert found.offered_skills == found.agents[1].offered_skills  # triage got the task
    assert found.task == "Bent wheel and soft brakes."
