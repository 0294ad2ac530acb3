from __future__ import annotations

import pytest

from extractors import registry
from extractors.harnesses import strands
from extractors.skills import LoadOutcome
from extractors.trajectory import CallOutcome, Trajectory
from tests.extractors.fixtures import session
from tests.extractors.spans import chat
from tests.extractors.spans import session as session_of

MODES = ("strands", "strands-latest", "strands-latest-attrs")


def trajectory(name: str) -> Trajectory:
    return registry.extract(session(name))


@pytest.mark.parametrize("scope", ["strands.telemetry.tracer", "strands-agents"])
def test_both_sdks_are_recognized_by_their_scope(scope: str) -> None:
    assert strands.recognizes(session_of([chat("m1", scope=scope)]))
    assert not strands.recognizes(session_of([chat("m1", scope="strands.telemetry.tracer.copy")]))


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_tells_catalog_load_body_calls_and_answer(mode: str) -> None:
    found = trajectory(f"{mode}/skill-then-tool")
    (load,) = found.skill_invocations
    assert found.harness == "strands"
    assert load.name in {skill.name for skill in found.offered_skills or ()}
    assert all(skill.description and (skill.source or "").endswith("SKILL.md") for skill in found.offered_skills or ())
    assert load.outcome is LoadOutcome.LOADED
    assert (load.body or "").startswith("# ")
    assert [call.outcome for call in found.tool_calls] == [CallOutcome.OK, CallOutcome.OK]
    assert [step.finish_reason for step in found.steps] == ["tool_use", "tool_use", "end_turn"]
    assert found.answer == found.steps[-1].text


@pytest.mark.parametrize("mode", MODES)
def test_the_harness_trailer_is_no_part_of_a_body(mode: str) -> None:
    (load,) = trajectory(f"{mode}/skill-then-tool").skill_invocations
    assert "Location:" not in (load.body or "")
    assert "Available resources" not in (load.body or "")


def test_a_rule_that_the_skills_author_wrote_stays_in_the_body() -> None:
    (load,) = trajectory("strands/skill-then-tool").skill_invocations
    assert (load.body or "").endswith("---\n\nRye needs two hours more.")


@pytest.mark.parametrize("mode", ["strands", "strands-latest-attrs"])
def test_an_unknown_name_is_refused_although_span_and_status_say_success(mode: str) -> None:
    found = trajectory(f"{mode}/refused-unknown-name")
    refused = found.skill_invocations[-1]
    assert refused.outcome is LoadOutcome.REFUSED
    assert (refused.refusal or "").startswith(f"Skill '{refused.name}' not found. Available skills:")
    assert found.tool_calls[0].outcome is CallOutcome.REFUSED
    assert found.failures == ()


def test_an_empty_name_is_an_attempt_that_was_refused() -> None:
    first, second = trajectory("strands-latest-attrs/refused-unknown-name").skill_invocations
    assert (first.name, first.outcome, second.name) == ("", LoadOutcome.REFUSED, "directions")


@pytest.mark.parametrize("mode", ["strands", "strands-latest"])
def test_a_call_that_a_hook_cancelled_is_refused_in_the_hooks_words(mode: str) -> None:
    found = trajectory(f"{mode}/denied-by-hook")
    (call,), (load,) = found.tool_calls, found.skill_invocations
    assert (call.outcome, call.result, call.start_ns) == (CallOutcome.REFUSED, None, None)
    assert load.outcome is LoadOutcome.REFUSED
    assert load.refusal == call.error
    assert call.error
    assert call.anchor == found.steps[0].anchor


def test_skills_loaded_in_parallel_keep_their_own_bodies() -> None:
    loads = trajectory("strands/two-skills-one-turn").skill_invocations
    assert [(load.name, (load.body or "").partition("\n")[0]) for load in loads] == [
        ("interlibrary-loan", "# Interlibrary loan"),
        ("late-fees", "# Late fees"),
    ]


@pytest.mark.parametrize("mode", ["strands", "strands-latest-attrs"])
def test_two_traces_of_one_session_are_two_turns_of_one_agent(mode: str) -> None:
    found = trajectory(f"{mode}/two-turns")
    assert len(found.prompts) == 2
    assert len(found.agents) == 1
    assert [call.turn for call in found.tool_calls] == [0, 0, 1]


def test_a_tool_that_raised_keeps_what_the_model_read_and_the_error() -> None:
    found = trajectory("strands/tool-error-then-retry")
    failed = found.tool_calls[1]
    assert failed.outcome is CallOutcome.FAILED
    assert failed.error == "Bern is no station code"
    assert failed.result == "Error: BadStation - Bern is no station code"


def test_the_version_of_the_tools_does_not_depend_on_which_of_them_ran() -> None:
    first, second = (trajectory(f"strands/{name}") for name in ("refused-unknown-name", "two-skills-one-turn"))
    assert first.tool_definitions != second.tool_definitions
    assert first.versions.tool_definitions_hash == second.versions.tool_definitions_hash


def test_tool_schemas_come_from_the_spans_of_tools_that_ran() -> None:
    definitions = {one.name: one for one in trajectory("strands/tool-error-then-retry").tool_definitions or ()}
    assert definitions["fare"].schema is not None
    assert definitions["entry_rules"].schema is None
