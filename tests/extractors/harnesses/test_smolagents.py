from __future__ import annotations

import json
from dataclasses import replace

import pytest

from extractors import registry
from extractors.harnesses import smolagents
from extractors.skills import LoadOutcome
from extractors.trajectory import CallOutcome
from tests.extractors.fixtures import session
from tests.extractors.openinference import oi
from tests.extractors.spans import session as session_of


def test_prompts_answers_and_catalog_are_read() -> None:
    found = registry.extract(session("smolagents/skill-then-tool"))
    assert [prompt.text for prompt in found.prompts] == ["Will my beans survive the night?", "And tomorrow?"]
    assert [skill.name for skill in found.offered_skills or ()] == ["frost-watch", "seed-swap"]
    assert (found.answer, found.agents[0].name) == ("The same.", "plot_helper")
    assert [call.call_id for call in found.tool_calls][:2] == ["call_pl100", "call_pl110"]


def test_the_text_of_a_code_agent_is_no_answer() -> None:
    found = registry.extract(session("smolagents/code-agent"))
    assert (found.answer, found.steps[-1].text) == ("Yes", "final_answer('Yes')")
    assert found.answer_anchor == found.root_anchor


def test_a_run_that_was_killed_before_its_answer_has_none() -> None:
    source = session("smolagents/code-agent")
    kept = [
        one for one in source.spans if "AGENT" not in one.attributes.values() and "final" not in str(one.attributes)
    ]
    assert registry.extract(replace(source, spans=tuple(kept))).answer is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"args": [], "kwargs": {"bed": 4}}, {"bed": 4}),
        ({"args": [4, True], "kwargs": {}}, {"bed": 4, "deep": True}),
        ({"args": [4], "kwargs": {"deep": True}}, {"bed": 4, "deep": True}),
        ({"args": [4, True, "more"], "kwargs": {}}, {"bed": 4, "deep": True, "2": "more"}),
        ({"args": [{"bed": 4}], "kwargs": {}}, {"bed": 4}),
        ({"bed": 4}, {"bed": 4}),
    ],
)
def test_arguments_are_named_as_the_tool_names_them(given: object, expected: object) -> None:
    parameters = json.dumps({"bed": {"type": "integer"}, "deep": {"type": "boolean"}})
    one = oi(
        "TOOL",
        "t1",
        scope=smolagents.SCOPE,
        tool__name="dig",
        tool__parameters=parameters,
        input__value=json.dumps(given),
    )
    (call,) = smolagents.extract(session_of([one])).tool_calls
    assert call.arguments == expected


def test_an_unknown_skill_is_refused() -> None:
    load, *_ = registry.extract(session("smolagents/refused-and-managed")).skill_invocations
    assert (load.outcome, load.refusal) == (LoadOutcome.REFUSED, "ValueError: Unknown skill: hail-watch")


def test_a_call_that_the_step_rejected_is_refused_with_its_words() -> None:
    calls = {call.name: call for call in registry.extract(session("smolagents/refused-and-managed")).tool_calls}
    assert (calls["spade"].outcome, calls["spade"].start_ns) == (CallOutcome.REFUSED, None)
    assert calls["spade"].error == "Unknown tool spade, should be one of: forecast."


def test_a_managed_agent_is_a_call_and_a_sub_agent() -> None:
    found = registry.extract(session("smolagents/refused-and-managed"))
    managed = next(call for call in found.tool_calls if call.name == "bed_digger")
    assert (managed.outcome, managed.result, managed.agent) == (CallOutcome.OK, "Bed 4 is dug.", "root")
    assert managed.start_ns is not None
    assert [call.agent for call in found.tool_calls if call.name == "dig"] == ["root/bed_digger"]
    assert found.answer == "Dug."
