from __future__ import annotations

from dataclasses import replace

from extractors import registry
from extractors.skills import LoadedBy, LoadOutcome
from extractors.spans import Span
from extractors.trajectory import CallOutcome
from tests.extractors.fixtures import session


def test_reading_its_file_loads_a_skill_without_the_line_that_counts_lines() -> None:
    (load,) = registry.extract(session("deepagents/skill-then-tool")).skill_invocations
    assert (load.name, load.outcome, load.loaded_by) == ("frost-watch", LoadOutcome.LOADED, LoadedBy.FILE)
    assert (load.body or "").startswith("---\nname: frost-watch\n")
    assert load.source == "/skills/frost-watch/SKILL.md"


def test_the_catalog_has_paths_and_ends_where_the_prompt_goes_on() -> None:
    found = registry.extract(session("deepagents/skill-then-tool"))
    assert [(skill.name, skill.source) for skill in found.offered_skills or ()] == [
        ("frost-watch", "/skills/frost-watch/SKILL.md"),
        ("seed-swap", "/skills/seed-swap/SKILL.md"),
    ]


def test_a_read_that_failed_is_a_refusal_with_the_tools_own_words() -> None:
    found = registry.extract(session("deepagents/refused"))
    assert [(load.name, load.outcome) for load in found.skill_invocations] == [
        ("hail-watch", LoadOutcome.REFUSED),
        ("seed-swap", LoadOutcome.REFUSED),
    ]
    assert [load.refusal for load in found.skill_invocations] == [
        "Error: File '/skills/hail-watch/SKILL.md' not found",
        "Error: permission denied for read on /skills/seed-swap/SKILL.md",
    ]
    assert {call.outcome for call in found.tool_calls} == {CallOutcome.FAILED}


def test_the_catalog_is_taken_from_the_state_where_requests_are_hidden() -> None:
    source = session("deepagents/skill-then-tool")

    def hidden(one: Span) -> Span:
        return replace(one, attributes={key: one.attributes[key] for key in one.attributes if "llm." not in key})

    found = registry.extract(replace(source, spans=tuple(map(hidden, source.spans))))
    assert [skill.name for skill in found.offered_skills or ()] == ["frost-watch", "seed-swap"]
    assert found.agents[0].offered_skills == found.offered_skills
    assert found.catalog_anchor is not None


def test_a_sub_agent_is_apart_from_the_root() -> None:
    found = registry.extract(session("deepagents/sub-agent"))
    _, digger = found.agents
    assert (digger.id, digger.parent, digger.offered_skills) == ("root/bed_digger", "root", None)
    assert [(load.agent, load.outcome) for load in found.skill_invocations] == [
        ("root", LoadOutcome.LOADED),
        ("root/bed_digger", LoadOutcome.REFUSED),
    ]
    assert [call.agent for call in found.tool_calls if call.name == "dig"] == ["root/bed_digger"]
    assert (len(found.prompts), found.answer) == (1, "Done, and no frost.")


def test_the_version_is_that_of_deepagents() -> None:
    assert registry.extract(session("deepagents/refused")).versions.harness_version == "0.7.32"
